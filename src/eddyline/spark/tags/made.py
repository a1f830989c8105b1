"""What continuous taggers make: for each tuple that satisfies a condition a mark, wherever the tuple's marks are read.

It is computed by whoever reads the log, from the tuple alone, so it is revised with the tuple. No tick-tag exists, only
the mark: this is the paper's optimisation of the tagger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from eddyline.algebra.expression import Call, Column, Literal, TypedExpr
from eddyline.algebra.marks import KIND, MADE, MARKS, mark_of
from eddyline.algebra.node import Operator
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.stream import StreamAcquire, StreamReceive
from eddyline.algebra.tag import TAG_HISTORY_SCHEMA, Tagger
from eddyline.algebra.tagging import NUMBERS, taggers_for
from eddyline.algebra.types import BIGINT, BOOLEAN, STRING
from eddyline.columnar.tags import rest_of
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.spark.expression import names_of, spark_sql
from eddyline.spark.literal import literal_sql
from eddyline.spark.tags import functions as of

_PLACES = Schema((Field(TICK, BIGINT), Field(INDEX, BIGINT), Field(MARKS, STRING)))
_TICK, _INDEX, _MARKS = (Column(field.name, field.type) for field in _PLACES.fields)


@lru_cache(maxsize=10_000)
def made_mark(tagger: Tagger, whole: bool) -> TypedExpr:
    """Marks with that behind them which a tagger makes; `whole`: it tells all that the tag applies to."""
    (leaf,) = (operator for operator in tagger.walk() if isinstance(operator, StreamReceive | StreamAcquire))
    tag = tagger.tag_for(leaf.name, 0, 0)
    fields = tag.applies_to.positions(leaf.declared)
    added = of.added(_MARKS, _TICK, _INDEX, rest_of(mark_of(tag, fields, MADE, whole)))
    asked = [*_span(tagger), *(() if tagger.condition is None else (tagger.condition,))]
    return added if not asked else Call("case", (_all_of(asked), added, _MARKS), STRING)


def satisfied(tagger: Tagger) -> TypedExpr:
    """Whether a tuple gets a tag."""
    asked = [*_span(tagger), *(() if tagger.condition is None else (tagger.condition,))]
    return _all_of(asked) if asked else Literal(True, BOOLEAN)


def text_of(expr: TypedExpr, tagger: Tagger, marks: str) -> str:
    """An expression about what a tagger makes as SQL over the rows of a log, whose marks are in a column."""
    columns = [*(f"c{place}" for place in range(len(tagger.input.schema))), TICK, INDEX, TICK, INDEX, marks]
    return spark_sql(expr, names_of(tagger.asked + _PLACES, columns))


def said_by(tagger: Tagger, number: int) -> list[str]:
    """The columns of a row in the history of a stream's tags, from a tuple that the tagger with this number tags."""
    (leaf,) = (operator for operator in tagger.walk() if isinstance(operator, StreamReceive | StreamAcquire))
    tag = tagger.tag_for(leaf.name, 0, 0)
    fields = tag.applies_to.positions(leaf.declared)
    names = ", ".join(literal_sql(leaf.declared.fields[field].name, STRING) for field in sorted(fields or ()))
    said = {
        "content": literal_sql(tag.content, STRING),
        "sign": literal_sql(tag.sign, STRING),
        "type": literal_sql(tag.type, STRING),
        "tagger": literal_sql(tag.tagger, STRING),
        "lifespan": literal_sql(tag.lifespan, BIGINT),
        "mode": literal_sql(tag.mode, STRING),
        "time": TICK,
        "attributes": "CAST(NULL AS ARRAY<STRING>)" if fields is None else f"array({names})",
        "by_value": literal_sql(tag.applies_to.by_value, BOOLEAN),
        "pattern": "CAST(NULL AS STRING)",
        "tuples": f"array({INDEX})",
    }
    values = (f"{said[name]} AS c{place}" for place, name in enumerate(TAG_HISTORY_SCHEMA.names))
    return [f"{number} * {NUMBERS}L + {INDEX} AS {INDEX}", TICK, DIFF, *values]


def at_work(leaf: StreamReceive | StreamAcquire, taggers: Sequence[Tagger], low: int, high: int) -> list[Tagger]:
    """Those of a stream's taggers that make something for tuples with indexes from `low` to `high`."""
    found = taggers_for(leaf, taggers)
    return [each for each in found if each.after < high and (each.until is None or low <= each.until)]


def made_in(plan: Operator, taggers: dict[str, Sequence[Tagger]]) -> Iterator[TypedExpr]:
    """What a plan computes where it reads the marks of streams; `taggers` are those of each stream."""
    for leaf in plan.walk():
        if isinstance(leaf, StreamReceive | StreamAcquire) and taggers.get(leaf.name):
            width = len(taggers[leaf.name][0].input.schema)
            if len(leaf.declared) > width:
                whole = leaf.whole_tags or KIND in leaf.declared.names
                yield from (made_mark(tagger, whole) for tagger in taggers_for(leaf, taggers[leaf.name]))


def _span(tagger: Tagger) -> list[TypedExpr]:
    """That a tuple came while a tagger stood."""
    found: list[TypedExpr] = []
    if tagger.after:
        found.append(Call(">", (_INDEX, Literal(tagger.after, BIGINT)), BOOLEAN))
    if tagger.until is not None:
        found.append(Call("<=", (_INDEX, Literal(tagger.until, BIGINT)), BOOLEAN))
    return found


def _all_of(conditions: Sequence[TypedExpr]) -> TypedExpr:
    first, *others = conditions
    for other in others:
        first = Call("and", (first, other), BOOLEAN)
    return first
