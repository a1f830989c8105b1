"""What is shown of results that are corrected: those whose correction does not matter stay as they were shown.

It changes what should be said, before that is compared with what was said; everything behind stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.revision import ReviseIf
from eddyline.log.segment import DIFF
from eddyline.spark.evaluate.batch import Batch, columns_of
from eddyline.spark.evaluate.frames import Frame
from eddyline.spark.expression import names_of, spark_sql
from eddyline.spark.stages import Stage

#: of a pair, whether the result is shown as it was
_HELD = "_held"


@dataclass(frozen=True)
class Shown:
    """Rows as they are to be shown, and the places of those of which a correction is withheld."""

    rows: Frame
    withheld: Frame


def as_shown(stage: Stage, rows: Frame, shown: Frame, head: list[str], width: int, batch: Batch, place: str) -> Shown:
    """The rows that should be said, with those that stay as they are `shown`: both have `head` and c0, c1, …

    `head` tells the window, or the tuple; among its rows they are paired by keys and, in a query class, by members.
    """
    revise = stage.revise
    assert revise is not None
    columns = columns_of(width)
    own = columns[: revise.width]
    member = columns[stage.member] if width > revise.width else None
    alike = [*head, *(columns[key] for key in revise.keys or ()), *([] if member is None else [member])]
    both = rows.selectExpr(*head, *columns, "true AS _is").unionAll(shown.selectExpr(*head, *columns, "false AS _is"))
    over = f"OVER (PARTITION BY {', '.join(alike)})"
    old = [f"max(CASE WHEN NOT _is THEN {column} END) {over} AS o{i}" for i, column in enumerate(own)]
    was = f"max(CASE WHEN NOT _is THEN 1 END) {over} AS _was"
    pairs = both.selectExpr("*", *old, was).where("_is")
    held = f"_was IS NOT NULL AND NOT ({_matters(revise, own)})"
    anyway = _anyway(batch, place, member)
    if anyway is not None:
        held = f"{held} AND NOT ({anyway})"
    judged = pairs.selectExpr(*head, *columns, *(f"o{i}" for i in range(len(own))), f"({held}) AS {_HELD}")
    chosen = [f"IF({_HELD}, o{i}, {column}) AS {column}" for i, column in enumerate(own)]
    different = " OR ".join(f"NOT (o{i} <=> c{i})" for i in revise.compared)
    return Shown(
        judged.selectExpr(*head, *chosen, *columns[revise.width :]),
        judged.where(f"{_HELD} AND ({different})").selectExpr(*head, f"CAST(0 AS TINYINT) AS {DIFF}"),
    )


def _matters(revise: ReviseIf, own: list[str]) -> str:
    """When a pair is shown as it is, as a condition that is never NULL."""
    names = names_of(revise.schema, [*(f"o{i}" for i in range(len(own))), *own])
    fixed = {*revise.compared, *(revise.keys or ())}
    reasons = [f"NOT (o{i} <=> c{i})" for i in range(len(own)) if i not in fixed]
    reasons += [f"(o{i} IS NULL) <> (c{i} IS NULL)" for i in revise.compared]
    asked = [f"coalesce({spark_sql(condition, names)}, true)" for condition in revise.conditions]
    if revise.each:
        asked = [f"NOT (o{i} <=> c{i}) AND {text}" for i, text in zip(revise.compared, asked, strict=True)]
    return " OR ".join(f"({reason})" for reason in (*reasons, *asked))


def _anyway(batch: Batch, place: str, member: str | None) -> str | None:
    """What is shown as it is without being asked; None: nothing."""
    reasons = []
    if batch.settled:
        reasons.append(batch.settled.condition(place))
    if batch.flushed is not None and (member is None or not batch.flushed):
        reasons.append("true")
    elif batch.flushed:
        reasons.append(f"{member} IN ({', '.join(map(str, sorted(batch.flushed)))})")
    return " OR ".join(reasons) or None
