"""Slices that several works need are computed once: queries of different shapes over the same rows, by the same keys.

Such works differ in what they aggregate and in what they do with it. The first that a task comes to computes the
aggregates of all of them; the others find them there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eddyline.kernels.task import Work

#: as many works are done one after the other for the sake of it
_MOST = 16


@dataclass(frozen=True)
class Grouping:
    """What a work groups, and the rest of it as a statement over a table that has all groups."""

    table: str  # a name for the rows and the keys, whoever they are for
    rows: str  # a statement
    keys: tuple[str, ...]
    aggregates: Mapping[str, str]  # by expression, the column of the table
    statement: str

    @classmethod
    def of(
        cls, rows: str, files: Sequence[tuple[str, ...]], keys: tuple[str, ...], aggregates: Sequence[str]
    ) -> Grouping:
        """`files` are those that the statement of the rows reads, in its order. The statement over it comes later."""
        name = f"together_{_short((rows, files, keys))}"
        return cls(name, rows, keys, {text: f"a_{_short(text)}" for text in aggregates}, "")


@dataclass(frozen=True)
class Together:
    """A table that is made once in a task, and the work's statement over it."""

    table: str
    creation: str
    statement: str


def put_together(works: Sequence[Work]) -> list[Work]:
    """The works, those that can share a table one behind the other."""
    by_table: dict[str, list[Work]] = {}
    for number, work in enumerate(works):
        name = str(number) if work.grouping is None else work.grouping.table
        by_table.setdefault(name, []).append(work)
    return [work for alike in by_table.values() for work in (_sharing(alike) if len(alike) > 1 else alike)]


def in_bundles(works: Sequence[Work]) -> list[list[Work]]:
    """The works as tasks do them: those that share a table belong together."""
    bundles: list[list[Work]] = []
    for work in works:
        last = bundles[-1] if bundles else []
        alike = work.together is not None and last and last[-1].together is not None
        if alike and last[-1].together.table == work.together.table and len(last) < _MOST:  # type: ignore[union-attr]
            last.append(work)
        else:
            bundles.append([work])
    return bundles


def _sharing(works: Sequence[Work]) -> list[Work]:
    every = {text: column for work in works if work.grouping for text, column in work.grouping.aggregates.items()}
    found = []
    for work in works:
        grouping = work.grouping
        assert grouping is not None
        made = [*grouping.keys, *(f"{text} AS {column}" for text, column in every.items())]
        # each says it with its own names, whoever comes first makes it
        group = f" GROUP BY {', '.join(grouping.keys)}" if grouping.keys else ""
        creation = f"CREATE TEMP TABLE {grouping.table} AS SELECT {', '.join(made)} FROM ({grouping.rows}){group}"
        found.append(replace(work, together=Together(grouping.table, creation, grouping.statement)))
    return found


def _short(value: object) -> str:
    return blake2b(repr(value).encode(), digest_size=12).hexdigest()
