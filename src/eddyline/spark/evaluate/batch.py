"""What a stage sees of the world in one micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eddyline.algebra.schema import Schema
from eddyline.log.segment import DIFF, INDEX, MARKS, TICK, Segment
from eddyline.spark.evaluate.frames import Frame, Frames
from eddyline.spark.evaluate.members import Members
from eddyline.spark.literal import back_quoted, spark_type
from eddyline.spark.spans import EVERYTHING, HIGH, LOW, NOTHING, Spans


@dataclass(frozen=True)
class Log:
    """A stream, given or derived, as it stands at the end of the batch; `fresh` is what the batch brings."""

    name: str
    schema: Schema
    columns: tuple[str, ...]  # as the segments call them, in the order of the schema
    segments: Sequence[Segment]
    fresh: Sequence[Segment] = ()
    touched: Spans = NOTHING  # the ticks of fresh rows

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
    #: if there is a list, what slices cannot answer is put there instead of being answered from tuples
    doubts: list[Frame] | None = None
    #: where corrections are withheld that are to be shown now, in terms of where the stage has its windows
    asked_again: Spans = NOTHING
    #: whose corrections are all shown: those of some members of a query class, or of everybody if it is empty
    flushed: frozenset[int] | None = None
    settled: Spans = NOTHING  # where nothing can change any more, so that all is shown as it is
    looked: list[Spans] = field(default_factory=list)  # told where something may have been said before

    def read(self, log: Log, segments: Sequence[Segment], more: int = 0) -> Frame:
        """The weighted rows of segments: `_index`, `_tick`, `_diff`, and the values as c0, c1, …

        With one `more` column, the marks of each tuple stand behind its values; segments without any have no such
        column. With two, tick-tags are rows too, and the last column tells them from tuples.
        """
        own = {name: spark_type(f.type) for name, f in zip(log.columns, log.schema.fields, strict=True)}
        fields = {INDEX: "BIGINT", TICK: "BIGINT", DIFF: "TINYINT", **own}
        columns = [INDEX, TICK, DIFF, *(f"{back_quoted(name)} AS c{i}" for i, name in enumerate(log.columns))]
        self.on_read(sum(segment.rows for segment in segments))
        if not more:
            segments = [segment for segment in segments if not segment.only_marks]
            return self.frames.read([segment.path for segment in segments], fields, columns)
        marks, kind = (f"c{len(log.columns) + n}" for n in range(2))
        marked = [segment.path for segment in segments if segment.marked]
        others = [segment.path for segment in segments if not segment.marked]
        kinds = [f"CASE WHEN {DIFF} = 0 THEN '#' ELSE '+' END AS {kind}"] if more > 1 else []
        plain = self.frames.read(others, fields, [*columns, f"CAST(NULL AS STRING) AS {marks}", *kinds])
        if not marked:
            return plain
        found = self.frames.read(marked, {**fields, MARKS: "STRING"}, [*columns, f"{MARKS} AS {marks}", *kinds])
        if more > 1:  # what is written down of an attachment is a tag only where it has found its place
            found = found.where(f"{DIFF} <> 0 OR {marks} IS NOT NULL").selectExpr(
                INDEX,
                TICK,
                f"CAST(CASE WHEN {DIFF} = 0 THEN 1 ELSE {DIFF} END AS TINYINT) AS {DIFF}",
                *columns_of(len(log.columns) + 2),
            )
        return found.unionAll(plain) if others else found


def columns_of(width: int) -> list[str]:
    """The names under which an operator's columns stand in a Frame.

    >>> columns_of(2)
    ['c0', 'c1']
    """
    return [f"c{i}" for i in range(width)]


__all__ = ["HIGH", "LOW", "Batch", "Clock", "Log", "Snapshot", "columns_of"]
