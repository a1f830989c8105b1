"""The rows that one stage adds to its log in one micro-batch, as the Frame that its segments are written from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from eddyline.algebra.first_tags import FirstTags
from eddyline.algebra.marks import MARKS
from eddyline.algebra.node import Operator
from eddyline.algebra.relational import WindowSort
from eddyline.algebra.remote import is_remote
from eddyline.algebra.sharing import QUERY, LastNumbers, StreamMatch
from eddyline.algebra.stream import DStream, IStream, RStream, StreamLookup
from eddyline.algebra.tag_groups import RunningGroups
from eddyline.algebra.tag_matches import TagMatches
from eddyline.algebra.window import Scan
from eddyline.log.answers import HEADER, NUMBER, RANK
from eddyline.log.results import StageResult
from eddyline.log.segment import BATCH, DIFF, INDEX, TICK, Segment
from eddyline.sharing.marked import with_all_marks
from eddyline.spark.evaluate import difference
from eddyline.spark.evaluate.asked import desired_asked, waiting_changes
from eddyline.spark.evaluate.batch import Batch, Clock, Snapshot, columns_of
from eddyline.spark.evaluate.desired import Desired, desired_groups, desired_relation, desired_stream, desired_windows
from eddyline.spark.evaluate.difference import LAST, Said
from eddyline.spark.evaluate.evaluate import windows
from eddyline.spark.evaluate.first_tags import desired_first_tags, first_tags_difference
from eddyline.spark.evaluate.frames import Frame, Frames, grouped
from eddyline.spark.evaluate.joining import state_changes
from eddyline.spark.evaluate.kept import Correctable, changes_of_slices, correctable_or_reason
from eddyline.spark.evaluate.lookup import desired_lookup
from eddyline.spark.evaluate.relational import with_rank
from eddyline.spark.evaluate.tag_matches import desired_matches, matches_difference
from eddyline.spark.evaluate.tuples import NET, changes, log_of, tuples
from eddyline.spark.evaluate.windows import T
from eddyline.spark.evaluate.withheld import Shown, as_shown
from eddyline.spark.literal import back_quoted, spark_type
from eddyline.spark.numbering import last_numbers, of_standing_members
from eddyline.spark.spans import EVERYTHING, HIGH, LOW, Spans
from eddyline.spark.stages import (
    LINEAR,
    LOOKUP,
    NUMBERS,
    RELATION,
    SLICES,
    STATE,
    STREAM,
    WAITING,
    WINDOWS,
    Stage,
    is_relation,
)
from eddyline.spark.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def stage_frame(stage: Stage, view: Batch, had: StageResult | None, number: int) -> Frame | None:
    """What the batch adds to the stage's log; None if it is clear that there is nothing."""
    made = _changes(stage, view, had)
    if made is None:
        return None
    frame = made.rows.selectExpr(f"{number}L AS {BATCH}", *made.system, *columns_of(len(stage.schema)))
    return frame if made.withheld is None else frame.unionByName(made.withheld, allowMissingColumns=True)


@dataclass(frozen=True)
class _Changes:
    """The rows that a stage adds to its log, with columns of ours in front; and where corrections are withheld.

    That is told by rows without a weight, which whoever writes the log takes out.
    """

    rows: Frame
    system: list[str]
    withheld: Frame | None = None


def once_frame(plan: Operator, view: Batch) -> DataFrame:
    """The rows of a query over tables alone, as they are: c0, c1, …; `view` has frames of Spark."""
    made = windows(plan, view, EVERYTHING)
    if not isinstance(plan, WindowSort):
        return cast("DataFrame", made.rows.select(*made.columns))
    ranked = cast("DataFrame", with_rank(plan, made.rows, [], made.width))
    return ranked.orderBy(RANK).select(*made.columns)


def _changes(stage: Stage, view: Batch, had: StageResult | None) -> _Changes | None:
    diff = f"CAST({DIFF} AS TINYINT) AS {DIFF}"
    if stage.kind == NUMBERS:
        frame = _numbers(stage, view, had)
        return None if frame is None else _Changes(frame, [INDEX, TICK, diff])
    if stage.kind == LINEAR and corrects_tuples(stage, view, had):
        assert had is not None
        return _corrected(stage, view, had, [INDEX, TICK, diff])
    if stage.kind == LINEAR:
        frame = _linear(stage, view)
        return None if frame is None else _Changes(frame, [INDEX, TICK, diff])
    if stage.kind == SLICES:
        plan = correctable_or_reason(stage.plan)
        assert isinstance(plan, Correctable)
        frame = changes_of_slices(plan, view)
        return None if frame is None else _Changes(frame, [TICK, diff])
    if stage.kind == STATE:
        assert stage.joined is not None
        frame = state_changes(stage.joined, view)
        return None if frame is None else _Changes(frame, [TICK, diff])
    if stage.kind == WAITING:
        assert isinstance(stage.plan, StreamLookup)
        frame = waiting_changes(stage.plan, view)
        return None if frame is None else _Changes(frame, [INDEX, TICK, diff])
    desired = _desired(stage, view)
    if desired is None:
        return None
    extra = [key for key in desired.keys if key != T]
    desired, said = difference.beside_changed(desired, _said(stage, view, desired, had))
    withheld = None
    if stage.revise is not None:
        view.looked.append(desired.again)
        if said.rows is not None:
            shown = _as_shown(stage, desired, said.rows, view)
            desired = replace(desired, rows=shown.rows)
            withheld = shown.withheld.selectExpr(f"{T} AS {TICK}", DIFF, *extra)
    if isinstance(stage.plan, TagMatches):
        return _Changes(matches_difference(desired, said), [INDEX, TICK, diff, *extra])
    if isinstance(stage.plan, RunningGroups):
        return _Changes(difference.groups_difference(desired, said), [INDEX, TICK, diff, *extra])
    if isinstance(stage.plan, FirstTags):
        return _Changes(first_tags_difference(desired, said), [INDEX, TICK, diff, *extra])
    if stage.kind in (STREAM, LOOKUP):
        member = columns_of(desired.width)[stage.member] if stage.counts_for_each else None
        system = [INDEX, TICK, diff, *extra]
        return _Changes(difference.stream_difference(desired, said, member), system, withheld)
    if stage.kind == RELATION:
        return _Changes(difference.relation_difference(desired, said), [TICK, diff])
    if view.members is None or view.members.together:
        member = None if view.members is None else columns_of(desired.width)[-1]
        frame = difference.window_difference(desired, said, member)
    else:
        frame = difference.member_difference(desired, said, view.start)
    system = [NUMBER, TICK, diff, HEADER, *extra]
    if isinstance(stage.plan, WindowSort):
        frame = with_rank(stage.plan, frame, [NUMBER, DIFF, HEADER], len(stage.schema))
        system.append(f"CAST({RANK} AS BIGINT) AS {RANK}")
    return _Changes(frame, system, withheld)


def _as_shown(stage: Stage, desired: Desired, said: Frame, view: Batch) -> Shown:
    """What should be said of windows, with what is shown of them in place of corrections that do not matter."""
    head, columns = desired.head, columns_of(desired.width)
    rows = said.where(f"NOT {HEADER}") if HEADER in said.columns else said
    named = rows.selectExpr(*(f"{TICK} AS {T}" if key == T else key for key in head), *columns, DIFF)
    standing = grouped(named, [*head, *columns], [NET]).where(f"{DIFF} > 0")
    return as_shown(stage, desired.rows, standing, head, desired.width, view, desired.place)


def corrects_tuples(stage: Stage, view: Batch, had: StageResult | None) -> bool:
    """Whether a stage that works tuple by tuple has to look at what it has shown: it may have shown something else."""
    if stage.revise is None or had is None or not had.segments or view.indexes != EVERYTHING:
        return False
    return bool(view.asked_again) or any(segment.minus for segment in log_of(stage.plan, view).fresh)


def _corrected(stage: Stage, view: Batch, had: StageResult, system: list[str]) -> _Changes:
    """What a stream should show of the ticks in question, less what it has shown."""
    assert stage.revise is not None
    log, width = log_of(stage.plan, view), len(stage.schema)
    ticks = (log.touched | view.asked_again).coarser()
    view.looked.append(ticks)
    head, columns = [INDEX, TICK], columns_of(width)
    desired = tuples(stage.plan, view, ticks)
    if since := view.since.get(log.name):
        desired = desired.where(f"{INDEX} > {since}")
    segments = [segment for segment in had.segments if ticks.meets(*segment.tick)]
    said = _read_log(stage, view, {INDEX: "BIGINT", TICK: "BIGINT", DIFF: "TINYINT"}, segments)
    standing = grouped(said.where(ticks.condition(TICK)), [*head, *columns], [NET]).where(f"{DIFF} > 0")
    shown = as_shown(stage, desired, standing, head, width, view, TICK)
    plus = shown.rows.selectExpr(*head, *columns, f"1 AS {DIFF}")
    both = plus.unionAll(standing.selectExpr(*head, *columns, f"-1 AS {DIFF}"))
    rows = grouped(both, [*head, *columns], [NET]).where(f"{DIFF} <> 0")
    return _Changes(rows, system, shown.withheld.selectExpr(TICK, DIFF))


def _numbers(stage: Stage, view: Batch, had: StageResult | None) -> Frame | None:
    """How far each member has come, as rows of a log: the stage is that which writes down the numbers of another."""
    assert isinstance(stage.plan, LastNumbers)
    known = None if had is None else last_numbers(stage, view, had)
    if known is None:
        return None
    system = [f"{LAST} AS {INDEX}", f"0L AS {TICK}", f"0 AS {DIFF}"]
    return of_standing_members(known, view).selectExpr(*system, f"{QUERY} AS c0")


def _linear(stage: Stage, view: Batch) -> Frame | None:
    log = log_of(stage.plan, view)
    if not log.fresh:
        return None
    if not any(segment.minus for segment in log.fresh):
        # what was shown is compared with what is to be shown where corrections may be withheld
        return changes(with_all_marks(stage.plan) if stage.revise is None else stage.plan, view)
    frame = changes(stage.plan, view)
    columns = [INDEX, TICK, *columns_of(len(stage.schema))]
    return grouped(frame, columns, [NET]).where(f"{DIFF} <> 0")


def _desired(stage: Stage, view: Batch) -> Desired | None:
    plan = stage.plan
    if stage.kind == WINDOWS:
        return desired_windows(plan, view)
    if isinstance(plan, StreamLookup) and is_remote(plan):
        return desired_asked(plan, view)
    if isinstance(plan, StreamLookup | StreamMatch):
        return desired_lookup(plan, view)
    if isinstance(plan, TagMatches):
        return desired_matches(plan, view)
    if isinstance(plan, FirstTags):
        return desired_first_tags(plan, view)
    if isinstance(plan, RunningGroups):
        return desired_groups(plan, view)
    if stage.kind == RELATION or is_relation(plan):
        return desired_relation(plan, view)
    assert isinstance(plan, RStream | IStream | DStream)
    return desired_stream(plan, view)


def _said(stage: Stage, view: Batch, desired: Desired, had: StageResult | None) -> Said:
    """What was said before about the windows in question, read only if there can be any."""
    if had is None:
        return Said(None, 0)
    numbers = last_numbers(stage, view, had) if stage.counts_for_each else None
    if not desired.again or not had.segments:
        return Said(None, had.count, numbers)
    place = TICK if desired.place == T else desired.place
    zones = ((s, s.tick if place == TICK else s.place) for s in had.segments)
    segments = [segment for segment, zone in zones if zone is None or desired.again.meets(*zone)]
    if not segments:
        return Said(None, had.count, numbers)
    frame = _read(stage, view, desired, segments).where(desired.again.condition(place))
    if desired.among is not None:
        frame = frame.join(desired.among, list(desired.keys), "left_semi")
    return Said(frame, had.count, numbers)


def _read(stage: Stage, view: Batch, desired: Desired, segments: Sequence[Segment]) -> Frame:
    keys = [key for key in desired.keys if key != T]
    system = {TICK: "BIGINT", DIFF: "TINYINT", **dict.fromkeys(keys, "BIGINT")}
    if stage.kind == WINDOWS:
        system.update({NUMBER: "BIGINT", HEADER: "BOOLEAN"})
    elif stage.kind != RELATION:
        system[INDEX] = "BIGINT"
    return _read_log(stage, view, system, segments)


def _read_log(stage: Stage, view: Batch, system: Mapping[str, str], segments: Sequence[Segment]) -> Frame:
    """What a stage has written: columns of ours with their types, and its own as c0, c1, …"""
    own = {name: spark_type(f.type) for name, f in zip(stage.columns, stage.schema.fields, strict=True)}
    view.on_read(sum(segment.rows for segment in segments))

    def read(some: Sequence[Segment], left_out: str | None = None) -> Frame:
        fields = {name: type_ for name, type_ in own.items() if name != left_out}
        texts = [back_quoted(name) if name in fields else f"CAST(NULL AS {own[name]})" for name in stage.columns]
        values = [f"{text} AS c{i}" for i, text in enumerate(texts)]
        return view.frames.read([segment.path for segment in some], {**system, **fields}, [*system, *values])

    bare = [] if view.members is None or MARKS not in own else [s for s in segments if not s.marked]
    if not bare:
        return read(segments)
    # no member of the class showed tags then
    marked = [segment for segment in segments if segment.marked]
    return read(marked).unionAll(read(bare, MARKS)) if marked else read(bare, MARKS)


class Scans:
    """Which pieces of which tables the queries saw: taken when a scan is due, kept for corrections."""

    def __init__(self, tables: Tables, earlier: Mapping[str, Sequence[Any]]) -> None:
        self._tables = tables
        self._earlier = earlier
        self._standing: dict[str, Sequence[str]] = {}
        self.taken: dict[str, Any] = {}

    def current(self, table: str, frames: Frames) -> Frame:
        """A table as it stands; all who ask in one batch see the same."""
        if table not in self._standing:
            self._standing[table] = self._tables.current(table)
        return self._tables.frame(table, self._standing[table], frames)

    def of(
        self, stage: Stage, start: int, now: Clock, before: Clock
    ) -> Callable[[str, Spans | None], Sequence[Snapshot]]:
        """The snapshots of a stage's tables; a new one is taken if a scan is due in this batch."""
        # what a join has stored is of the table as the join itself sees it
        whose = stage.joined.stage if stage.joined is not None else stage.name
        for scan in (op for op in stage.plan.walk() if isinstance(op, Scan)):
            if stage.kind == LOOKUP:
                continue  # sees the table as it stands at each tuple
            self._take_if_due(f"{whose}\n{scan.table}", scan, start, now, before)

        def snapshots(table: str, ticks: Spans | None) -> Sequence[Snapshot]:
            key = f"{whose}\n{table}"
            taken = [*self._earlier.get(key, ()), *([self.taken[key]] if key in self.taken else [])]
            found = [Snapshot(tick, partial(self._tables.frame, table, pieces)) for tick, pieces in taken]
            if ticks is None:
                return found[:1]
            # from the one that stands at the first of the ticks on
            following = [*(snapshot.tick for snapshot in found[1:]), HIGH + 1]
            pairs = zip(found, following, strict=False)
            return [s for s, until in pairs if ticks and s.tick <= ticks.high and until > ticks.low]

        return snapshots

    def _take_if_due(self, key: str, scan: Scan, start: int, now: Clock, before: Clock) -> None:
        if key in self.taken:
            return
        if scan.interval is None:
            due: int | None = None if key in self._earlier else LOW
        else:
            first = max(before.closed + 1, start)
            at = start + -(-(first - start) // scan.interval) * scan.interval
            due = at if at <= now.closed else None
        if due is not None:
            pieces = list(self._tables.current(scan.table))
            known = self._earlier.get(key)
            if not known or known[-1][1] != pieces:
                self.taken[key] = (due, pieces)
