"""`eddyline explain`: the plans of a script's queries, without running it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from eddyline.algebra.join_drawing import DrawnJoin
from eddyline.algebra.notation import notation
from eddyline.binder.explain import ALGEBRA, PLAN, Show, show_query
from eddyline.binder.statement import Register, StatementBinder
from eddyline.language import parse_script
from eddyline.planner.explain import Question, drawings
from eddyline.rules import check_rule_names
from eddyline.session.functions import in_this_process
from eddyline.session.join_trees import with_join_trees
from eddyline.session.script_run import placed

#: nobody has run anything
_A_PLAN = "a plan, made without looking at data"


@dataclass(frozen=True)
class Explained:
    """The plan of one query as text, and its joins of three inputs or more as they are drawn."""

    name: str
    text: str
    joins: tuple[DrawnJoin, ...]


def explain_queries(text: str, base: Path, without_rules: frozenset[str] = frozenset()) -> Iterator[Explained]:
    """For every query that the script lets stand or explains itself, each once."""
    check_rule_names(without_rules)
    binder = StatementBinder(without_rules=without_rules, load=lambda declaration: in_this_process(declaration, base))
    told = set()
    for statement in parse_script(text):
        with placed(statement.position):
            for step in binder.bind(statement.tree):
                if isinstance(step, Register):
                    step = show_query(step.name, step.query, binder.catalog, without_rules)
                if isinstance(step, Show) and step.what != ALGEBRA and step.name not in told:
                    told.add(step.name)
                    yield _explained(step)


def _explained(step: Show) -> Explained:
    step = replace(step, what=PLAN)
    plan = f"{notation(step.plan)}\nrules applied: {', '.join(step.rules) or 'none'}"
    question = Question(step.plan, step.cpu_limit, step.memory_limit, step.tick_micros)
    joins = tuple(replace(join, title=f"{step.name}: {join.title}") for join in drawings(question))
    return Explained(step.name, with_join_trees(plan, step, {}, _A_PLAN), joins)
