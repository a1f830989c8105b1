"""Ways to find which revised tuples are in the answers that a batch has corrected, the surest first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.lineage import BATCH as SOME
from eddyline.algebra.lineage import ROW, WINDOW, Trace, traces
from eddyline.algebra.node import StreamOp
from eddyline.algebra.user_function import functions_of
from eddyline.kernels.dialect import Untranslatable
from eddyline.kernels.fits import why_not
from eddyline.kernels.sheet import Sheet
from eddyline.kernels.task import Work, answered
from eddyline.log.answers import HEADER
from eddyline.log.revision_log import Correction
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.spark.evaluate.batch import Batch, Clock
from eddyline.spark.evaluate.frames import Frame, grouped, joined
from eddyline.spark.lineage.places import FIRST, LAST, PLACE, is_exact, numbered, placed
from eddyline.spark.lineage.versions import Versions
from eddyline.spark.stages import LINEAR, LOOKUP, Stage

Array = Any
#: where nothing is known but that they came together, so many answers beside revisions are told
_MOST_PAIRS = 1_000_000
ANSWER = "_answer"
#: streams, with answers and indexes (`_answer`, `_index`), and how sure that is
Found = list[tuple[str, pa.Table, str]]


@dataclass(frozen=True)
class Finding:
    """What a stage has corrected, and what was revised in the streams that it reads."""

    stage: Stage
    rows: pa.Table  # of the answers in question, with `_answer`
    revised: Mapping[str, Versions]
    correction: Correction  # when they were revised
    start: int  # of the query
    root: str  # where the database is

    def ways(self) -> list[Callable[[Array], Found]]:
        """Each is asked for the answers of which those before it have found no cause."""
        if self.stage.kind in (LINEAR, LOOKUP):
            return [self._by_index, self._everything]
        return [self._by_row, self._by_window, self._everything]

    def _by_index(self, missing: Array) -> Found:
        # a look-up tells which tuple a row was made for
        column = ANSWER if self.stage.kind == LINEAR else PLACE
        pairs = pa.table([self.rows.column(ANSWER), self.rows.column(column)], [ANSWER, INDEX])
        pairs = pairs.group_by([ANSWER, INDEX]).aggregate([])
        return [
            (name, pairs.filter(pc.is_in(pairs.column(INDEX), versions.rows.column(INDEX).combine_chunks())), ROW)
            for name, versions in self.revised.items()
        ]

    def _by_row(self, missing: Array) -> Found:
        found = []
        for trace, name in self._traces():
            exact = is_exact(trace, self.stage.plan)
            # a pair is of tuples of one time: both before, or both after
            for sign in (0,) if trace.alone or not exact else (-1, 1):
                pairs = self._pairs(trace, self.revised[name], self.rows, shown=True, sign=sign)
                if pairs is not None and pairs.num_rows:
                    found.append((name, pairs, ROW if exact else WINDOW))
        return found

    def _by_window(self, missing: Array) -> Found:
        mine = self.rows.filter(pc.is_in(self.rows.column(ANSWER), pa.array(missing, pa.int64())))
        found = []
        for trace, name in self._traces():
            pairs = self._pairs(trace, self.revised[name], mine, shown=False)
            if pairs is not None and pairs.num_rows:
                found.append((name, pairs, WINDOW))
        return found

    def _everything(self, missing: Array) -> Found:
        return [(name, pairs, SOME) for name, pairs in everything(self.revised, missing)]

    def _traces(self) -> list[tuple[Trace, str]]:
        plan = self.stage.plan.inputs[0] if isinstance(self.stage.plan, StreamOp) else self.stage.plan
        return [(trace, name) for trace in traces(plan) if (name := _log_name(trace)) in self.revised]

    def _pairs(self, trace: Trace, versions: Versions, rows: pa.Table, shown: bool, sign: int = 0) -> pa.Table | None:
        """Answers and the tuples that are in them: at the same places and, if it is `shown`, in the same groups.

        With a `sign`, of versions and rows those that were there before, or after. None if the kernel cannot tell.
        """
        if why_not(trace.plan) is not None:
            return None
        versions = versions if not sign else versions.only(sign)
        sheet, clock = Sheet(), Clock(self.correction.now or 0, self.correction.now or 0)
        view = Batch(sheet, {}, clock, clock, self.start, lambda table, frames: frames.range(0, 0))  # type: ignore[arg-type]
        place = PLACE if numbered(trace, self.stage.plan) else TICK
        try:
            there = placed(trace, self.stage.plan, versions, view)
            said = changed_rows(self.stage, sheet, rows, place, sign) if shown else _all_rows(sheet, rows, place)
            agree = [f"_place BETWEEN {FIRST} AND {LAST}"]
            agree += [f"v{at} <=> c{column}" for at, column in trace.shown] if shown else []
            both: Any = joined(said, there, " AND ".join(agree)).selectExpr(ANSWER, INDEX).distinct()
            outline = Work(self.stage.name, self.correction.batch, self.root, both.statement())
            work = replace(outline, tables=sheet.tables, found=sheet.found, functions=functions_of(trace.plan))
            found = answered(work)
        except Untranslatable:
            return None
        return None if found is None else found.cast(pa.schema([(ANSWER, pa.int64()), (INDEX, pa.int64())]))


def _log_name(trace: Trace) -> str:
    return next(str(op.name) for op in trace.leaf.walk() if hasattr(op, "name") and not op.inputs)


def everything(revised: Mapping[str, Versions], answers: Array) -> list[tuple[str, pa.Table]]:
    """Each of some answers beside every revision that there was, as far as somebody would read that."""
    found = []
    for name, versions in revised.items():
        indexes = versions.operations[0][: max(1, _MOST_PAIRS // max(1, len(answers)))]
        pairs = [np.repeat(answers, len(indexes)), np.tile(indexes, len(answers))]
        found.append((name, pa.table([pa.array(column, pa.int64()) for column in pairs], [ANSWER, INDEX])))
    return found


def changed_rows(stage: Stage, sheet: Sheet, rows: pa.Table, place: str, sign: int = 0) -> Frame:
    """The rows that were there only before or only after: a window that is revised is said anew as a whole."""
    if HEADER in rows.column_names:
        rows = rows.filter(pc.invert(rows.column(HEADER)))
    values = rows.select(list(stage.columns)).rename_columns([f"v{i}" for i in range(len(stage.columns))])
    head = pa.table([rows.column(ANSWER), rows.column(place), rows.column(DIFF)], [ANSWER, "_place", DIFF])
    table = pa.table([*head.columns, *values.columns], [*head.column_names, *values.column_names])
    net: Any = grouped(
        sheet.table(table),  # type: ignore[arg-type]
        [ANSWER, "_place", *values.column_names],
        [f"CAST(sum({DIFF}) AS BIGINT) AS _n"],
    )
    changed: Frame = net.where({-1: "_n < 0", 0: "_n <> 0", 1: "_n > 0"}[sign]).drop("_n")
    return changed


def _all_rows(sheet: Sheet, rows: pa.Table, place: str) -> Frame:
    places = pa.table([rows.column(ANSWER), rows.column(place)], [ANSWER, "_place"])
    frame: Any = sheet.table(places)
    distinct: Frame = frame.distinct()
    return distinct
