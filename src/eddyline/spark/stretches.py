"""Stretches of the journal along which queries are answered, and the streams as they stand at their ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from eddyline.algebra.tagging import NUMBERS, Taggers
from eddyline.catalog.extent import Extent
from eddyline.log.journal import Entry, Journal
from eddyline.log.results import Position, StageResult
from eddyline.log.said import history_name
from eddyline.log.segment import Segment
from eddyline.spark.evaluate.batch import Clock, Log
from eddyline.spark.past import Piece
from eddyline.spark.spans import EVERYTHING, LOW, Spans
from eddyline.spark.stages import Stage
from eddyline.spark.standing import Standing


@dataclass(frozen=True)
class Stretch:
    """From where to where some queries are answered, and the streams as they stand at its end."""

    after: Position
    before: Position
    entries: Sequence[Entry]
    logs: Mapping[str, Log]
    piece: Piece | None = None  # of the past, which had come before

    @property
    def now(self) -> Clock:
        return clock_of(self.after)


class Stretches:
    """The stretches of the journal up to an entry, by where they begin; put together once for all who begin there."""

    def __init__(self, journal: Journal, extents: Mapping[str, Extent], taggers: Taggers, upto: Position) -> None:
        self._journal, self._extents, self._taggers, self.upto = journal, dict(extents), taggers, upto
        self._known: dict[int, tuple[Sequence[Entry], dict[str, Log]]] = {}

    def after(self, position: Position, query: Standing) -> Stretch:
        """What a query sees that was answered up to a position; nothing of what came before it was created."""
        first = max(position.entry, query.entry)
        if first not in self._known:
            entries = self._journal.between(first, self.upto.entry)
            logs = given_logs(self._journal, self._extents, self._taggers, self.upto.entry, entries)
            self._known[first] = entries, logs
        return Stretch(self.upto, position, *self._known[first])


def given_logs(
    journal: Journal, extents: Mapping[str, Extent], taggers: Taggers, entry: int, entries: Sequence[Entry]
) -> dict[str, Log]:
    """The streams as they stand at an entry of the journal; it may have gone on since."""
    later = {
        segment.path
        for following in journal.between(entry, journal.number)
        for segments in following.segments.values()
        for segment in segments
    }
    logs = {}
    for name, extent in extents.items():
        segments = [segment for segment in journal.state(name).segments if segment.path not in later]
        fresh = [segment for e in entries for segment in e.segments.get(name, ())]
        touched = Spans.of(span for e in entries for span in e.touched.get(name, ())).coarser()
        logs[name] = Log(name, extent.schema, extent.schema.names, segments, fresh, touched, taggers.of(name))
    for stream in [name for name, log in logs.items() if log.taggers]:
        logs[history_name(stream)] = _with_made(logs[history_name(stream)], logs[stream])
    return logs


def _with_made(history: Log, stream: Log) -> Log:
    """The history of a stream's tags with those of its taggers, which are in no log: they are made of its tuples."""
    count = len(stream.taggers)

    def made(segments: Sequence[Segment]) -> list[Segment]:
        return [replace(s, index=(NUMBERS + s.index[0], count * NUMBERS + s.index[1])) for s in segments]

    return replace(
        history,
        segments=[*history.segments, *made(stream.segments)],
        fresh=[*history.fresh, *made(stream.fresh)],
        touched=(history.touched | stream.touched).coarser(),
        made_of=stream,
    )


def derived_log(stage: Stage, had: StageResult | None) -> Log:
    """The log of a stage as it stands."""
    return derived_with(stage, had, None)


def derived_with(stage: Stage, had: StageResult | None, now: StageResult | None) -> Log:
    """The log of a stage as the next level sees it."""
    fresh = () if now is None else now.segments
    earlier = () if had is None or (now is not None and now.anew) else had.segments
    touched = Spans.of(() if now is None else now.touched).coarser()
    return Log(stage.name, stage.schema, stage.columns, (*earlier, *fresh), fresh, touched)


def all_fresh(log: Log) -> Log:
    """A stream for a query that is new: everything that has passed comes at once."""
    tuples = any(segment.tags < segment.rows for segment in log.segments)  # tags alone touch nothing
    return replace(log, fresh=log.segments, touched=EVERYTHING if tuples else Spans())


def clock_of(position: Position) -> Clock:
    return Clock(_tick(position.reached), _tick(position.closed))


def _tick(value: int | None) -> int:
    return LOW if value is None else value


def nothing_between(journal: Journal, at: Position, target: Position) -> bool:
    """Whether neither rows nor time have come since, nor anybody who wants to see what is withheld."""
    if (at.reached, at.closed) != (target.reached, target.closed):
        return False
    return not any(entry.segments or entry.flushes for entry in journal.between(at.entry, target.entry))


def as_far_as(journal: Journal, at: Position, target: Position, most: int) -> tuple[Position, int]:
    """So many rows on from a position, by whole entries and at least one, and how many they are."""
    rows, after = 0, at
    for entry in journal.between(at.entry, target.entry):
        if rows and rows + entry.rows > most:
            break
        rows += entry.rows
        after = Position(entry.number, entry.reached, entry.closed)
    return after, max(1, rows)
