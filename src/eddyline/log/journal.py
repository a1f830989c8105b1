"""The order in which everything came in. Each entry is one atomic append to one or several streams.

An entry is a small file with the number of the entry as its name. It names segments that were complete before, so
whoever sees an entry can read all of it; a segment that no entry names was never appended. Entries that every reader
is past are folded into one snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from eddyline.log.revision_log import Revised, RevisedEntry
from eddyline.log.root import Root
from eddyline.log.segment import Exchange, Segment

if TYPE_CHECKING:
    from eddyline.log.storage import Storage

_FOLDER = "journal"
_SNAPSHOT = f"{_FOLDER}/snapshot.json"
Spans = tuple[tuple[int, int], ...]  # stretches of ticks, both ends inclusive


@dataclass(frozen=True)
class Flush:
    """What is withheld of the answer of one query is to be shown; without a name, that of all.

    `log` is that of the query, which no other has had, and `number` the one it has in it if it is a member of a class.
    """

    name: str = ""
    log: str = ""
    number: int | None = None


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
    #: how many tuples of each stream it has revised, where it has
    revised: Mapping[str, Revised] = field(default_factory=dict)
    flushes: tuple[Flush, ...] = ()  # a step like any other, so that it is done once and in its turn

    @property
    def rows(self) -> int:
        return sum(segment.rows for segments in self.segments.values() for segment in segments)

    def to_json(self) -> dict[str, Any]:
        revised = {name: asdict(counts) for name, counts in self.revised.items()}
        return {
            "number": self.number,
            "segments": {name: [s.to_json() for s in segments] for name, segments in self.segments.items()},
            "touched": {name: [list(span) for span in spans] for name, spans in self.touched.items()},
            "reached": self.reached,
            "closed": self.closed,
            "arrived": dict(self.arrived),
            "top": dict(self.top),
            "origin": dict(self.origin),
            **({"revised": revised} if revised else {}),
            **({"flushes": [asdict(flush) for flush in self.flushes]} if self.flushes else {}),
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
            {name: Revised(**counts) for name, counts in value.get("revised", {}).items()},
            tuple(Flush(**flush) for flush in value.get("flushes", ())),
        )


@dataclass
class StreamState:
    """All segments of a stream in order, and where the next row goes: the counters outlast the rows they counted."""

    segments: list[Segment] = field(default_factory=list)
    last_seq: int = 0
    last_index: int = 0
    top: int | None = None  # the largest tick of all tuples that have come, standing or not

    def take(self, segments: Iterable[Segment], arrived: int, top: int | None) -> None:
        for segment in segments:
            self.segments.append(segment)
            self.last_seq = max(self.last_seq, segment.seq[1])
        self.last_index = max(self.last_index, arrived)
        if top is not None:
            self.top = top if self.top is None else max(self.top, top)

    def exchanged(self, exchange: Exchange) -> StreamState:
        return replace(self, segments=list(exchange.applied(self.segments)))

    def to_json(self) -> dict[str, Any]:
        segments = [segment.to_json() for segment in self.segments]
        return {"segments": segments, "last_seq": self.last_seq, "last_index": self.last_index, "top": self.top}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> StreamState:
        segments = [Segment.from_json(segment) for segment in value["segments"]]
        return cls(segments, value["last_seq"], value["last_index"], value["top"])


@dataclass
class Base:
    """Everything up to an entry, put together: what the snapshot holds."""

    number: int = 0
    reached: int | None = None
    closed: int | None = None
    streams: dict[str, StreamState] = field(default_factory=dict)
    origin: dict[str, int] = field(default_factory=dict)  # how far each input has been read

    def state(self, stream: str) -> StreamState:
        return self.streams.setdefault(stream, StreamState())

    def take(self, entry: Entry) -> None:
        for stream, segments in entry.segments.items():
            self.state(stream).take(segments, entry.arrived.get(stream, 0), entry.top.get(stream))
        self.origin.update(entry.origin)
        self.number, self.reached, self.closed = entry.number, entry.reached, entry.closed

    def copy(self) -> Base:
        streams = {name: replace(state, segments=list(state.segments)) for name, state in self.streams.items()}
        return Base(self.number, self.reached, self.closed, streams, dict(self.origin))

    def exchange(self, exchanges: Mapping[str, Exchange]) -> None:
        for stream, exchange in exchanges.items():
            self.streams[stream] = self.state(stream).exchanged(exchange)

    def to_json(self) -> dict[str, Any]:
        streams = {name: state.to_json() for name, state in self.streams.items()}
        fields = {"number": self.number, "reached": self.reached, "closed": self.closed}
        return {**fields, "streams": streams, "origin": self.origin}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Base:
        streams = {name: StreamState.from_json(state) for name, state in value["streams"].items()}
        return cls(value["number"], value["reached"], value["closed"], streams, dict(value.get("origin", {})))


class Folded(LookupError):
    """The entries asked for were folded into the snapshot, so they are not known one by one any more."""


class Journal:
    """The journal as far as it was read; `refresh` reads on. One process appends, any number may read."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        snapshot = storage.read_json(_SNAPSHOT)
        self.base = Base() if snapshot is None else Base.from_json(snapshot)
        self.entries: list[Entry] = []  # those after the base
        self._now = self.base.copy()
        self.refresh()

    @property
    def streams(self) -> dict[str, StreamState]:
        return self._now.streams

    @property
    def number(self) -> int:
        """Of the last entry."""
        return self._now.number

    @property
    def reached(self) -> int | None:
        return self._now.reached

    @property
    def closed(self) -> int | None:
        return self._now.closed

    @property
    def origin(self) -> dict[str, int]:
        return self._now.origin

    # -- reading ------------------------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Read what was appended since; False if nothing was."""
        before = self.number
        while (entry := read_entry(self._storage, self.number + 1)) is not None:
            self._take(entry)
        return self.number > before

    def between(self, after: int, upto: int) -> list[Entry]:
        """The entries after one and up to another."""
        if after < self.base.number:
            raise Folded(f"entry {after + 1} is folded into the snapshot of entry {self.base.number}")
        return [entry for entry in self.entries if after < entry.number <= upto]

    def state(self, stream: str) -> StreamState:
        return self._now.state(stream)

    def top(self, stream: str, upto: int) -> int | None:
        """The largest tick that had come to a stream at an entry that is not folded yet."""
        known = self.base.streams.get(stream)
        tops = [None if known is None else known.top, *(e.top.get(stream) for e in self.entries if e.number <= upto)]
        return max((top for top in tops if top is not None), default=None)

    def _take(self, entry: Entry) -> None:
        self._now.take(entry)
        self.entries.append(entry)

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
        revised: Mapping[str, Revised] | None = None,
        flushes: Sequence[Flush] = (),
    ) -> Entry:
        """Add an entry. When this returns, it is there for good."""
        kept = {stream: tuple(parts) for stream, parts in segments.items() if parts}
        number, tops, places = self.number + 1, dict(top or {}), dict(origin or {})
        counts, flushed = dict(revised or {}), tuple(flushes)
        entry = Entry(number, kept, dict(touched), reached, closed, dict(arrived), tops, places, counts, flushed)
        self._storage.write_json(_name(entry.number), entry.to_json())
        self._take(entry)
        return entry

    def fold(self, base: Base) -> None:
        """Make this the snapshot. Whoever reads it looks at later entries only; the folded ones go with `tidy`."""
        self._storage.write_json(_SNAPSHOT, base.to_json())
        self.rest_on(base)

    def tidy(self) -> None:
        """Delete entries that are in the snapshot, also those that a crash has left behind."""
        for name in self._storage.names(_FOLDER):
            number = name.removesuffix(".json")
            if number.isdigit() and int(number) <= self.base.number:
                self._storage.delete(f"{_FOLDER}/{name}")

    def rest_on(self, base: Base) -> None:
        """Forget the entries that a snapshot holds; also for another journal of the process that wrote it."""
        later = [entry for entry in self.entries if entry.number > base.number]
        now = base.copy()  # whoever looks at the state meanwhile sees it before or after, nothing in between
        for entry in later:
            now.take(entry)
        self.base, self.entries, self._now = base, later, now

    def at(self, upto: int) -> Base:
        """What there was at an entry that is not folded yet."""
        base = self.base.copy()
        for entry in self.entries:
            if entry.number <= upto:
                base.take(entry)
        return base


class Tail:
    """The entries after a number, and nothing of what they add up to: for who follows the journal in another process.

    Entries that no committed batch has taken are never folded, so whoever asks for those is sure to find them.
    """

    def __init__(self, root: Root) -> None:
        self._root = root
        self._after = 0
        self._entries: list[Entry] = []

    def after(self, number: int, upto: int | None = None) -> Iterator[Entry]:
        """The entries that there are after a number; those before it are forgotten, and read again if asked for."""
        known = [] if number < self._after else [entry for entry in self._entries if entry.number > number]
        self._after, self._entries = number, known
        last = number
        for entry in list(known):
            if upto is None or entry.number <= upto:
                last = entry.number
                yield entry
        while (upto is None or last < upto) and (found := read_entry(self._root, last + 1)) is not None:
            last = found.number
            known.append(found)
            yield found


def revised_entries(entries: Sequence[Entry], closed: int | None) -> Iterator[RevisedEntry]:
    """Those of some entries that bring revisions, stream by stream; `closed` is the clock before the first of them."""
    for entry in entries:
        for stream, counts in entry.revised.items():
            segments = entry.segments[stream]
            seq = min(segment.seq[0] for segment in segments), max(segment.seq[1] for segment in segments)
            yield RevisedEntry(entry.number, stream, counts, seq, closed, entry.reached)
        closed = entry.closed


def read_entry(root: Root, number: int) -> Entry | None:
    """An entry, None if it is not there: not yet, or no longer."""
    value = root.read_json(_name(number))
    return None if value is None else Entry.from_json(value)


def _name(number: int) -> str:
    return f"{_FOLDER}/{number:012d}.json"
