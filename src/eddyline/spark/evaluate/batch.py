"""What a stage sees of the world in one micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from eddyline.algebra.marks import INDEX_ROLE, KIND, MADE_ROLE, MARKS_ROLE, PLACES_ROLE, TICK_ROLE, role_of
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import Tagger
from eddyline.algebra.tag_places import HERE
from eddyline.log.remade import Remade
from eddyline.log.segment import DIFF, INDEX, MARKS, PLACES, TICK, Segment
from eddyline.spark.evaluate.frames import Frame, Frames
from eddyline.spark.evaluate.members import Members
from eddyline.spark.literal import back_quoted, spark_type
from eddyline.spark.spans import EVERYTHING, HIGH, LOW, NOTHING, Spans
from eddyline.spark.tags.made import said_by, satisfied, text_of

if TYPE_CHECKING:
    from eddyline.planner.probing import Orders
    from eddyline.spark.evaluate.asked import Waiting
    from eddyline.spark.join_inputs import JoinNode


@dataclass(frozen=True)
class Log:
    """A stream, given or derived, as it stands at the end of the batch; `fresh` is what the batch brings."""

    name: str
    schema: Schema
    columns: tuple[str, ...]  # as the segments call them, in the order of the schema
    segments: Sequence[Segment]
    fresh: Sequence[Segment] = ()
    touched: Spans = NOTHING  # the ticks of fresh rows
    taggers: tuple[Tagger, ...] = ()  # the continuous ones on a stream
    #: the stream whose taggers' tags are among the rows of a history of tags; its segments are among those of the log
    made_of: Log | None = None

    @property
    def last_index(self) -> int:
        return max((segment.index[1] for segment in self.segments), default=0)


@dataclass(frozen=True)
class Clock:
    """The largest tick seen and the tick up to which nothing more is expected; LOW before the first tuple."""

    reached: int = LOW
    closed: int = LOW


@dataclass(frozen=True)
class Snapshot:
    """The contents of a table from one scan on."""

    tick: int  # from this scan on, until the next snapshot's
    rows: Callable[[Frames], Frame]  # c0, c1, …


@dataclass(frozen=True)
class KeptSlices:
    """The log of an aggregation's slices before the batch; it knows all tuples from the tick `first` on."""

    first: int
    columns: tuple[str, ...]
    schema: Schema
    segments: Sequence[Segment]
    remade: Remade = ()


@dataclass(frozen=True)
class KeptState:
    """What a node of a join tree has given, as weighted rows with lifetimes, at the end of the batch.

    It has all joined tuples that live at the tick `first` or later. If it has `begun` in this batch, all of its rows
    are fresh, so that it does not tell what the batch has changed.
    """

    first: int
    log: Log
    begun: bool = False


@dataclass
class Batch:
    """One stage in one micro-batch."""

    frames: Frames
    logs: Mapping[str, Log]
    now: Clock
    before: Clock  # at the end of the batch before; LOW for a query that is new
    start: int  # of the query
    tables: Callable[[str, Frames], Frame]  # a table as it stands now
    #: a table as it stood at its scans at these ticks; None: as it stood when the query began
    snapshots: Callable[[str, Spans | None], Sequence[Snapshot]] = lambda table, ticks: ()
    memory: dict[Any, Any] = field(default_factory=dict)  # what the stage keeps between batches on the driver
    on_read: Callable[[int], None] = lambda rows: None  # told how many rows are going to be read
    since: Mapping[str, int] = field(default_factory=dict)  # by stream, the last index before the query was created
    over: int = LOW  # the tick that the clock had reached by then; LOW for one that looks back
    members: Members | None = None  # of a query class
    indexes: Spans = EVERYTHING  # of the tuples that are new to a stage which works tuple by tuple
    stretch: tuple[int, int] = (LOW, HIGH)  # of a stage whose windows stand at ticks, where a task is to look at them
    slices: KeptSlices | None = None  # what earlier batches have kept of an aggregation
    states: Mapping[str, KeptState] = field(default_factory=dict)  # by name, what its join tree has stored
    join: JoinNode | None = None  # how its join runs, if by states that are there
    probing: Orders | None = None  # in which orders its parts probe each other; None while nobody knows
    #: of a join whose answers are corrected by what revised tuples change: its inputs, or the states that have them
    differences: JoinNode | None = None
    edges: Spans | None = None  # of its answer, the ticks at which lives that begin or end are all that matters
    whole_from: int = LOW  # of a stage that stores joined tuples: it has all that live at this tick or later
    begins: bool = False  # whether it has nothing stored yet
    waiting: Waiting | None = None  # of a look-up at a table that is asked by key
    #: if there is a list, it is told of windows that slices cannot answer, as frames with their places …
    doubts: list[Frame] | None = None
    doubted: Spans = NOTHING  # … which are then answered from their tuples
    remade: Spans = NOTHING  # the ticks of slices that are made anew, from all of their tuples
    #: told whether any of the windows that were asked for are put together from slices
    sliced: list[bool] = field(default_factory=list)
    #: where corrections are withheld that are to be shown now, in terms of where the stage has its windows
    asked_again: Spans = NOTHING
    #: whose corrections are all shown: those of some members of a query class, or of everybody if it is empty
    flushed: frozenset[int] | None = None
    settled: Spans = NOTHING  # where nothing can change any more, so that all is shown as it is
    looked: list[Spans] = field(default_factory=list)  # told where something may have been said before

    def read(self, log: Log, segments: Sequence[Segment], more: Sequence[str] = ()) -> Frame:
        """The weighted rows of segments: `_index`, `_tick`, `_diff`, and the values as c0, c1, …

        Behind the values stand `more` columns of ours: marks, what tells their tags apart, whether a row is a tuple or
        a tick-tag (without that one, there are tuples alone), and an empty one for what is made for it.
        """
        if log.made_of is not None:
            return self._said(log, log.made_of, segments)
        own = {name: spark_type(f.type) for name, f in zip(log.columns, log.schema.fields, strict=True)}
        fields = {INDEX: "BIGINT", TICK: "BIGINT", DIFF: "TINYINT", **own}
        columns = [INDEX, TICK, DIFF, *(f"{back_quoted(name)} AS c{i}" for i, name in enumerate(log.columns))]
        segments = [s for s in segments if (more or not s.only_marks) and (KIND in more or not s.only_tags)]
        self.on_read(sum(segment.rows for segment in segments))
        if not more:
            return self.frames.read([segment.path for segment in segments], fields, columns)
        tags = [segment.path for segment in segments if segment.only_tags and segment.marked]
        marked = [segment.path for segment in segments if segment.marked and not segment.only_tags]
        others = [segment.path for segment in segments if not segment.marked and not segment.only_tags]
        width = len(log.columns)
        with_marks = {**fields, MARKS: "STRING", PLACES: "STRING"}
        new = [s.path for s in segments if s.marked and not s.only_tags and not s.minus]
        nothing = [f"CAST(NULL AS {type_}) AS c{i}" for i, type_ in enumerate(own.values())]
        marks = f"c{width + next(i for i, name in enumerate(more) if role_of(name) == MARKS_ROLE)}"
        parts = []
        if others or not (marked or tags):
            parts.append(self.frames.read(others, fields, [*columns, *_further(more, width, "NULL", "NULL", "+")]))
        if marked:
            parts.append(self.frames.read(marked, with_marks, [*columns, *_further(more, width, MARKS, PLACES, "+")]))
        if tags:
            system = {name: with_marks[name] for name in (INDEX, TICK, MARKS, PLACES)}
            there = [INDEX, TICK, f"CAST(1 AS TINYINT) AS {DIFF}", *nothing]
            rows = self.frames.read(tags, system, [*there, *_further(more, width, MARKS, PLACES, "#")])
            parts.append(rows.where(f"{marks} IS NOT NULL"))  # an attachment is a tag only where it has its place
        if new and KIND in more:  # tags of which these tuples are all that the log has
            at = {INDEX: f"{INDEX} - 1L", PLACES: f"'{HERE}'"}
            there = [f"{at[INDEX]} AS {INDEX}", TICK, f"CAST(1 AS TINYINT) AS {DIFF}", *nothing]
            alone = [f"CASE WHEN {PLACES} IS NULL AND {DIFF} > 0 THEN 1 ELSE 0 END AS _alone"]
            given = [*there, *_further(more, width, MARKS, at[PLACES], "#", at[INDEX]), *alone]
            rows = self.frames.read(new, with_marks, given).where(f"_alone = 1 AND {marks} IS NOT NULL").drop("_alone")
            parts.append(rows)
        return reduce(lambda one, other: one.unionAll(other), parts)

    def _said(self, log: Log, made_of: Log, segments: Sequence[Segment]) -> Frame:
        """The rows of a history of tags: those that are written, and one for each tuple that a tagger tags."""
        theirs = {segment.path: segment for segment in (*made_of.segments, *made_of.fresh)}
        frame = self.read(replace(log, made_of=None), [each for each in segments if each.path not in theirs])
        found = [theirs[segment.path] for segment in segments if segment.path in theirs]
        for number, tagger in enumerate(made_of.taggers, 1) if found else ():
            rows = self.read(made_of, found).where(f"{DIFF} <> 0 AND {text_of(satisfied(tagger), tagger, TICK)}")
            frame = frame.unionAll(rows.selectExpr(*said_by(tagger, number)))
        return frame


def _further(more: Sequence[str], first: int, marks: str, places: str, kind: str, index: str = INDEX) -> list[str]:
    """The columns of ours behind the values."""
    texts = {
        MARKS_ROLE: f"CAST({marks} AS STRING)",
        PLACES_ROLE: f"CAST({places} AS STRING)",
        TICK_ROLE: TICK,
        INDEX_ROLE: index,
        KIND: f"'{kind}'",
        MADE_ROLE: "CAST(NULL AS STRING)",
    }
    return [f"{texts[role_of(name)]} AS c{first + at}" for at, name in enumerate(more)]


def columns_of(width: int) -> list[str]:
    """The names under which an operator's columns stand in a Frame.

    >>> columns_of(2)
    ['c0', 'c1']
    """
    return [f"c{i}" for i in range(width)]


__all__ = ["HIGH", "LOW", "Batch", "Clock", "Log", "Snapshot", "columns_of"]
