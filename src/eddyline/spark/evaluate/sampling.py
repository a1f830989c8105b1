"""How selective the conditions of a join are, by a sample of the latest tuples, whatever of them is stored joined."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TypeGuard

from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.node import Operator
from eddyline.algebra.printing import sql_text
from eddyline.algebra.window import HopWindow, RangeWindow, Scan, TimeWindow
from eddyline.log.segment import Segment
from eddyline.planner.graph import members
from eddyline.spark.evaluate.batch import Batch, Log, columns_of
from eddyline.spark.evaluate.frames import Frame, grouped, joined
from eddyline.spark.evaluate.lives import FROM, LIFE, UNTIL, living, standing_lives, together
from eddyline.spark.evaluate.tuples import log_of
from eddyline.spark.expression import names_of, spark_sql
from eddyline.spark.join_inputs import Condition, JoinInputs, window_of
from eddyline.spark.spans import Spans

#: so many tuples of each input are looked at, fewer if that makes so many pairs for all conditions together; from
#: segments with so many rows at most
_MOST_TUPLES, _LEAST_TUPLES, _PAIRS, _ROWS = 1_000, 300, 4_000_000, 100_000
#: the kernel binds no statement that is a thousand parts deep, and each row is some ten
_ROWS_AT_ONCE = 50
WHAT, ALL, FOUND = "what", "all_of_them", "found"


@dataclass(frozen=True)
class Sampling:
    """Frames with a row for each input and each condition: how many there were, and how many of them fit.

    `of` are the conditions by the numbers that the rows have; inputs have those from 0 on.
    """

    frames: tuple[Frame, ...]
    of: tuple[Condition, ...]
    drawn: dict[int, float] = field(default_factory=dict)  # by input, the rows of its log that the sample stands for

    def part(self, at: int, found: int) -> float | None:
        """Which part of the tuples of a stream is left of an input, after its own conditions."""
        drawn = self.drawn.get(at)
        return None if not drawn else min(1.0, max(found, 0.5) / drawn)

    def texts(self) -> list[str]:
        return [sql_text(one.expr) for one in self.of]


def sampling(join: JoinInputs, batch: Batch, rows_of: Mapping[str, float]) -> Sampling | None:
    """What to ask; None if there is nothing to draw from. `rows_of`: how many rows tables have, once that is known.

    Tuples are drawn that live while the batch goes on: how things were before may be over.
    Tables are counted first, and drawn from the next time.
    """
    wanted = _wanted(sum(map(_pair, join.conditions)))
    present = Spans.of([(min(batch.before.closed + 1, batch.now.reached), batch.now.reached)])
    samples: dict[int, Frame] = {}
    whole: dict[int, Frame] = {}
    drawn: dict[int, float] = {}
    for at, operator in enumerate(join.inputs):
        window = window_of(operator)
        if not is_sampled(window):
            continue
        view, part = batch, 1.0
        if isinstance(window, Scan):
            part = min(1.0, wanted / max(1.0, rows_of.get(window.table, 0.0)))
        if not isinstance(window, Scan):
            log = log_of(window.inputs[0], batch)
            ticks = living(window, batch, present)
            latest = _latest(log, ticks)
            rows = sum(segment.rows * _within(segment, ticks) for segment in latest.segments)
            if not rows:
                continue
            part = min(1.0, wanted / rows)
            view = replace(batch, logs={**batch.logs, log.name: latest})
            drawn[at] = rows * part
        frame = standing_lives(operator, view, present)
        names = [f"c{i} AS c{n}" for i, n in enumerate(join.columns(at))]
        named = frame.selectExpr(*LIFE, *names)
        if isinstance(window, Scan):
            whole[at] = named
            if window.table not in rows_of:
                continue
        samples[at] = named if part >= 1.0 else named.where(f"rand() < {part}")
    asked = tuple(c for c in join.conditions if _pair(c) and all(at in samples for at in members(c.inputs)))
    counted = {**samples, **whole}
    rows_ = [_row(at, grouped(_own(join, at, sample), [], _COUNTS)) for at, sample in counted.items()]
    lives = {at: grouped(sample, LIFE, ["CAST(count(*) AS BIGINT) AS _tuples"]) for at, sample in samples.items()}
    rows_ += [_row(len(join.inputs) + number, _pairs(join, samples, lives, c)) for number, c in enumerate(asked)]
    if not rows_:
        return None
    return Sampling(_in_pieces(rows_), asked, drawn)


def _in_pieces(rows: Sequence[Frame]) -> tuple[Frame, ...]:
    """So many rows at a time as the kernel can bind in one statement."""
    some = [rows[at : at + _ROWS_AT_ONCE] for at in range(0, len(rows), _ROWS_AT_ONCE)]
    return tuple(reduce(lambda one, other: one.unionAll(other), piece) for piece in some)


def is_sampled(window: Operator) -> TypeGuard[TimeWindow | HopWindow | RangeWindow | Scan]:
    """Whether the tuples of a window can be drawn: which are in it is told by their ticks, or it is a table."""
    if isinstance(window, Scan):
        return window.interval is None
    return isinstance(window, TimeWindow | HopWindow | RangeWindow)


_COUNTS = [f"CAST(count(*) AS BIGINT) AS {ALL}", f"CAST(sum(CASE WHEN _fits THEN 1 ELSE 0 END) AS BIGINT) AS {FOUND}"]


def _wanted(conditions: int) -> int:
    """How many tuples of each input are drawn.

    >>> _wanted(2), _wanted(16), _wanted(190)
    (1000, 500, 300)
    """
    return int(max(_LEAST_TUPLES, min(_MOST_TUPLES, math.sqrt(_PAIRS / max(1, conditions)))))


def _pair(condition: Condition) -> bool:
    return condition.inputs.bit_count() == 2


def _latest(log: Log, ticks: Spans) -> Log:
    """The segments with some ticks that came last, as long as they are few rows, without those of revisions alone."""
    found: list[Segment] = []
    rows = 0
    for segment in sorted(log.segments, key=lambda one: one.seq, reverse=True):
        if segment.minus >= segment.rows - segment.tags or not ticks.meets(*segment.tick):
            continue
        if found and rows + segment.rows > _ROWS:
            break
        found.append(segment)
        rows += segment.rows
    return replace(log, segments=found, fresh=())


def _within(segment: Segment, ticks: Spans) -> float:
    """About which part of a segment's rows has one of these ticks."""
    low, high = segment.tick
    return sum(last - first + 1 for first, last in ticks.within(low, high)) / (high - low + 1)


def _own(join: JoinInputs, at: int, sample: Frame) -> Frame:
    own = [_text(join, c.expr) for c in join.conditions if c.inputs == 1 << at]
    return sample.selectExpr(f"{' AND '.join(own) or 'true'} AS _fits")


def _pairs(join: JoinInputs, samples: dict[int, Frame], lives: dict[int, Frame], condition: Condition) -> Frame:
    """How many pairs live together, and how many of these fit.

    The first are added up by lives, of which there are as many as ticks, and the second found by the condition: a
    million pairs for each condition would keep the queries waiting.
    """
    one, other = members(condition.inputs)
    left, right = _sided(lives[one], "l", ["_tuples AS _l_tuples"]), _sided(lives[other], "r", ["_tuples AS _r_tuples"])
    count = f"CAST(coalesce(sum(_l_tuples * _r_tuples), 0) AS BIGINT) AS {ALL}"
    pairs = grouped(joined(left, right, together(())), [], [count])
    left, right = _sided(samples[one], "l", _columns(join, one)), _sided(samples[other], "r", _columns(join, other))
    fitting = joined(left, right, f"({_text(join, condition.expr)}) AND {together([condition])}")
    found = grouped(fitting.selectExpr("_lf"), [], [f"CAST(count(*) AS BIGINT) AS {FOUND}"])
    return joined(pairs, found, "true")


def _sided(frame: Frame, side: str, columns: Sequence[str]) -> Frame:
    """With names for its lives that the other side does not have."""
    return frame.selectExpr(f"{FROM} AS _{side}f", f"{UNTIL} AS _{side}u", *columns)


def _columns(join: JoinInputs, at: int) -> Sequence[str]:
    return [f"c{n}" for n in join.columns(at)]


def _row(what: int, counts: Frame) -> Frame:
    return counts.selectExpr(f"{what}L AS {WHAT}", ALL, FOUND)


def _text(join: JoinInputs, expr: TypedExpr) -> str:
    return spark_sql(expr, names_of(join.schema, columns_of(len(join.schema))))
