"""What a query is bound in: the catalog, the names of its WITH clause, and whether it carries tags."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from eddyline.binder.plan import Plan
from eddyline.catalog.catalog import Catalog
from eddyline.language import syntax


@dataclass(frozen=True)
class Environment:
    """`bind_plan` binds a sub-query: what reads FROM must not know everything that can stand there."""

    catalog: Catalog
    bind_plan: Callable[[syntax.Query, Environment], Plan]
    definitions: Mapping[str, Plan] = field(default_factory=dict)  # of WITH, by lower-case name
    tagged: bool = False

    def defining(self, name: str, plan: Plan) -> Environment:
        return replace(self, definitions={**self.definitions, name.lower(): plan})

    def with_tags(self, wanted: bool) -> Environment:
        return replace(self, tagged=self.tagged or wanted)

    @property
    def tick_micros(self) -> int:
        return self.catalog.tick_micros

    def known_names(self) -> Iterator[str]:
        yield from self.definitions
        yield from self.catalog.all_names()
