"""The order in which everything came in. Each entry is one atomic append to one or several streams.

An entry is a small file with the number of the entry as its name. It names segments that were complete before, so
whoever sees an entry can read all of it; a segment that no entry names was never appended. Entries that every reader
is past are folded into one snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eddyline.algebra.retention import horizon_of
from eddyline.log.segment import Segment
from eddyline.log.storage import Storage

_SNAPSHOT = "journal/snapshot.json"
Spans = tuple[tuple[int, int], ...]  # stretches of ticks, both ends inclusive


@dataclass(frozen=True)
class Entry:
    """What one append brought: segments and touched ticks by stream, and how far the clock got."""

    number: int
    segments: Mapping[str, tuple[Segment, ...]]
    touched: Mapping[str, Spans]
    reached: int | None
    closed: int | None
    arrived: Mapping[str, int] = field(default_factory=dict)  # tuples that have come to each stream so far
    #: the largest tick that has come to each stream so far, where this append has moved it
    top: Mapping[str, int] = field(default_factory=dict)
    #: how far the inputs have been read, as far as this append changes it; kept with the data, so that neither is lost
    origin: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(segment.rows for segments in self.segments.values() for segment in segments)

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "segments": {name: [s.to_json() for s in segments] for name, segments in self.segments.items()},
            "touched": {name: [list(span) for span in spans] for name, spans in self.touched.items()},
            "reached": self.reached,
            "closed": self.closed,
            "arrived": dict(self.arrived),
            "top": dict(self.top),
            "origin": dict(self.origin),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Entry:
        return cls(
            value["number"],
            {name: tuple(Segment.from_json(s) for s in segments) for name, segments in value["segments"].items()},
            {name: tuple((a, b) for a, b in spans) for name, spans in value["touched"].items()},
            value["reached"],
            value["closed"],
            value["arrived"],
            value.get("top", {}),
            value.get("origin", {}),
        )


@dataclass
class StreamState:
    """All segments of a stream in order, and where the next row goes."""

    segments: list[Segment] = field(default_factory=list)
    last_seq: int = 0
    last_index: int = 0
    top: int | None = None  # the largest tick of all tuples that have come, standing or not

    def horizon(self, retain: int | None) -> int | None:
        """The smallest tick that the stream still takes, if it is retained for so many ticks; None: it takes all.

        Tuples before it are never revised again.
        """
        return horizon_of(self.top, retain)

    def take(self, segments: Iterable[Segment], arrived: int, top: int | None) -> None:
        for segment in segments:
            self.segments.append(segment)
            self.last_seq = max(self.last_seq, segment.seq[1])
        self.last_index = max(self.last_index, arrived)
        if top is not None:
            self.top = top if self.top is None else max(self.top, top)


class Journal:
    """The journal as far as it was read; `refresh` reads on. One process appends, any number may read."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.streams: dict[str, StreamState] = {}
        self.entries: list[Entry] = []  # those after the snapshot
        self.number = 0  # of the last entry
        self.reached: int | None = None
        self.closed: int | None = None
        self.origin: dict[str, int] = {}  # how far each input has been read
        self._load_snapshot()
        self.refresh()

    # -- reading ------------------------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Read what was appended since; False if nothing was."""
        before = self.number
        while True:
            value = self._storage.read_json(_name(self.number + 1))
            if value is None:
                break
            self._take(Entry.from_json(value))
        return self.number > before

    def between(self, after: int, upto: int) -> list[Entry]:
        """The entries after one and up to another."""
        return [entry for entry in self.entries if after < entry.number <= upto]

    def state(self, stream: str) -> StreamState:
        return self.streams.setdefault(stream, StreamState())

    def _take(self, entry: Entry) -> None:
        for stream, segments in entry.segments.items():
            self.state(stream).take(segments, entry.arrived.get(stream, 0), entry.top.get(stream))
        self.entries.append(entry)
        self.origin.update(entry.origin)
        self.number, self.reached, self.closed = entry.number, entry.reached, entry.closed

    def _load_snapshot(self) -> None:
        snapshot = self._storage.read_json(_SNAPSHOT)
        if snapshot is None:
            return
        for stream, state in snapshot["streams"].items():
            segments = [Segment.from_json(segment) for segment in state["segments"]]
            self.streams[stream] = StreamState(segments, state["last_seq"], state["last_index"], state.get("top"))
        self.number, self.reached, self.closed = snapshot["number"], snapshot["reached"], snapshot["closed"]
        self.origin = dict(snapshot.get("origin", {}))

    # -- writing ------------------------------------------------------------------------------------------------------

    def append(
        self,
        segments: Mapping[str, Sequence[Segment]],
        touched: Mapping[str, Spans],
        reached: int | None,
        closed: int | None,
        arrived: Mapping[str, int],
        origin: Mapping[str, int] | None = None,
        top: Mapping[str, int] | None = None,
    ) -> Entry:
        """Add an entry. When this returns, it is there for good."""
        kept = {stream: tuple(parts) for stream, parts in segments.items() if parts}
        number, tops, places = self.number + 1, dict(top or {}), dict(origin or {})
        entry = Entry(number, kept, dict(touched), reached, closed, dict(arrived), tops, places)
        self._storage.write_json(_name(entry.number), entry.to_json())
        self._take(entry)
        return entry

    def fold(self, upto: int, replaced: Mapping[str, tuple[Sequence[str], Sequence[Segment]]] | None = None) -> None:
        """Put the entries up to a number into the snapshot, segments merged or dropped on the way exchanged.

        `replaced` gives for each stream the paths that go and the segments that come in their place.
        """
        for stream, (gone, come) in (replaced or {}).items():
            state = self.streams[stream]
            names = set(gone)
            rest = [segment for segment in state.segments if segment.path not in names]
            state.segments = sorted([*rest, *come], key=lambda segment: (segment.seq, segment.path))
        later = [entry for entry in self.entries if entry.number > upto]
        at = next((entry for entry in reversed(self.entries) if entry.number == upto), None)
        if at is None:
            return
        pending = {s.path for entry in later for segments in entry.segments.values() for s in segments}
        streams = {}
        for stream, state in self.streams.items():
            kept = [segment for segment in state.segments if segment.path not in pending]
            last = max((segment.seq[1] for segment in kept), default=0)
            streams[stream] = {
                "segments": [segment.to_json() for segment in kept],
                "last_seq": max(last, _last_before(self.entries, stream, upto, state, later)),
                "last_index": at.arrived.get(stream, state.last_index),
                "top": state.top,
            }
        origin = dict(self.origin)  # as `top`: ahead of `upto` is no harm: the entries after it say the same again
        snapshot = {"number": upto, "reached": at.reached, "closed": at.closed, "streams": streams, "origin": origin}
        self._storage.write_json(_SNAPSHOT, snapshot)
        for entry in self.entries:
            if entry.number <= upto:
                self._storage.delete(_name(entry.number))
        self.entries = later


def _last_before(entries: Sequence[Entry], stream: str, upto: int, state: StreamState, later: Sequence[Entry]) -> int:
    """The last place in the log that the entries up to a number have used, also if the row is gone since."""
    following = [s.seq[0] for entry in later for s in entry.segments.get(stream, ())]
    return min(following) - 1 if following else state.last_seq


def _name(number: int) -> str:
    return f"journal/{number:012d}.json"
