"""Rules that make a plan cheaper and keep its meaning.

`RULES` is the one ordered list; `optimize` applies one after the other and checks after each that the plan still gives
the same columns. Any rule can be left out by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from eddyline.algebra.node import Operator, WindowOp
from eddyline.errors import InvalidAlgebra, UnknownName, nearest
from eddyline.rules.join import select_into_join
from eddyline.rules.projection import push_projections
from eddyline.rules.selection import push_selections
from eddyline.rules.tag import push_tag_predicates


@dataclass(frozen=True)
class Rule:
    """A named rewriting of a whole plan."""

    name: str
    apply: Callable[[Operator], Operator]
    why: str


RULES: tuple[Rule, ...] = (
    # first, so that what reads one side only is gone before joins are made of the rest
    Rule("push-selections", push_selections, "a tuple that no answer needs is dropped before it is stored or paired"),
    Rule("select-into-join", select_into_join, "a join compares where a cross product would pair everything"),
    # after selections have settled, because their columns are needed up to where they stand
    Rule("push-projections", push_projections, "columns that nobody reads are not kept in windows"),
    Rule("push-tag-predicates", push_tag_predicates, "a tagger makes no tags that the query is bound to discard"),
)


def rule_names() -> tuple[str, ...]:
    return tuple(rule.name for rule in RULES)


def check_rule_names(names: Collection[str]) -> None:
    for name in names:
        if name not in rule_names():
            guess = nearest(name, rule_names())
            hint = f"did you mean {guess}?" if guess else f"there are {', '.join(rule_names())}"
            raise UnknownName(f"there is no rule {name}", hint=hint)


@dataclass(frozen=True)
class Optimized:
    """A plan and the names of the rules that changed it."""

    plan: Operator
    applied: tuple[str, ...]


def optimize(plan: Operator, without: Collection[str] = ()) -> Optimized:
    applied: list[str] = []
    for rule in RULES:
        if rule.name in without:
            continue
        better = rule.apply(plan)
        _check_kept(rule, plan, better)
        if better != plan:
            applied.append(rule.name)
            plan = better
    return Optimized(plan, tuple(applied))


def _check_kept(rule: Rule, before: Operator, after: Operator) -> None:
    columns = [(f.name, f.type) for f in before.schema.fields]
    if columns != [(f.name, f.type) for f in after.schema.fields]:
        raise InvalidAlgebra(f"the rule {rule.name} changed the columns of a plan")
    if isinstance(before, WindowOp) != isinstance(after, WindowOp):
        raise InvalidAlgebra(f"the rule {rule.name} changed windows into tuples or the other way round")
