"""Small segments become larger ones: which are merged, and what is known of the result without reading it.

A log is merged like a tree of files whose sizes differ by a factor: as many neighbours of about one size as there are
to a level become one of the next, so a row is written again only a few times in its life. Segments from `small` on
stay as they are.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import pyarrow as pa

from eddyline.errors import StorageUnusable
from eddyline.log.adding import added_up, is_added_up
from eddyline.log.answers import QUERY, committed_late, is_shared, with_batch
from eddyline.log.dealt import SUFFIX, Dealt, is_dealt
from eddyline.log.remade import Remade, what_counts
from eddyline.log.segment import Exchange, Segment
from eddyline.log.storage import Storage

#: how merged segments are named; the names of the others begin with the number of their entry or batch
MERGED = "merged-"
#: how many sizes of segments are told apart below the one that is large enough
_LEVELS = 4


@dataclass(frozen=True)
class Merge:
    """Neighbours of one log that become one segment. It must pickle: a Spark task does the work."""

    log: str  # of a stream or a stage
    parts: tuple[Segment, ...]
    path: str
    remade: Remade = ()  # stretches of its log that do not count where they are older

    def run(self, storage: Storage) -> int:
        """Write the merged file and give its size; runs in a worker.

        0 if it cannot be made, or if a part is gone because its query was dropped: the parts stay what counts, and
        other merges go on.
        """
        try:
            if is_added_up(self.log):
                tables = [what_counts(storage.read_table(part.path), part, self.remade) for part in self.parts]
                return storage.write_table(self.path, added_up(tables))
            late = {part.path: batch for part in self.parts if (batch := self._committed_late(part)) is not None}
            parts = [part.path for part in self.parts]
            if is_dealt(self.path):
                return storage.write_dealt(self.path, Dealt.merged([_dealt(storage, part, late) for part in parts]))
            order = QUERY if is_shared(self.log) else None
            if not late:
                return storage.merge_tables(self.path, parts, order)
            return storage.merge_tables(self.path, parts, order, lambda path, table: _as_of(table, late.get(path)))
        except (StorageUnusable, pa.ArrowException):
            return 0

    def _committed_late(self, part: Segment) -> int | None:
        return committed_late(part) if self.path.startswith("results/") else None

    def replaces(self, there: Collection[str]) -> bool:
        """Whether all parts are still there."""
        return all(part.path in there for part in self.parts)

    def exchange(self, size: int) -> Exchange:
        parts = self.parts
        segment = Segment(
            self.path,
            sum(part.rows for part in parts),
            size,
            _around(part.seq for part in parts),
            _around(part.index for part in parts),
            _around(part.tick for part in parts),
            sum(part.minus for part in parts),
            _around(part.place or (0, -1) for part in parts) if all(part.place for part in parts) else None,
            sum(part.tags for part in parts),
            any(part.marked for part in parts),
            all(part.only_marks for part in parts),
        )
        return Exchange(frozenset(part.path for part in parts), (segment,))


@dataclass(frozen=True)
class Limits:
    """What is worth merging: `neighbours` of about one size, each below `small` bytes.

    A merged segment has up to `neighbours` times as many bytes, and no more ticks than `widest`: where old ones are cut
    off, a wide segment would never be old.
    """

    neighbours: int
    small: int
    widest: int | None = None

    def level(self, segment: Segment) -> int:
        """0 for the smallest; `_LEVELS` for those that are large enough."""
        return sum(segment.size * self.neighbours**k >= self.small for k in range(_LEVELS))

    def admit(self, run: Sequence[Segment], segment: Segment) -> bool:
        """Whether a segment can go on a run."""
        low, high = _around(s.tick for s in (*run, segment))
        if self.widest is not None and high - low > self.widest:
            return False
        return sum(s.size for s in run) + segment.size <= self.small * self.neighbours


def merges(log: str, folder: str, segments: Sequence[Segment], limits: Limits) -> list[Merge]:
    """What is worth merging. New tuples and revisions stay apart: the zone maps of the first are narrow, and only who
    reads the second pays for cancelling weights. So do tags, which few read. Rows that are written once stay so, those
    with tags among themselves.
    """
    found = []
    kinds = product((False, True), (False, True), ((False, None), (True, False), (True, True)))
    for revising, tags, (dealt, marked) in kinds:
        kind = [s for s in segments if bool(s.minus) == revising and s.only_tags == tags and is_dealt(s.path) == dealt]
        alike = [s for s in kind if marked in (None, s.marked)]
        for run in _runs(alike, limits):
            path = f"{folder}/{MERGED}{uuid.uuid4().hex}{SUFFIX if dealt else '.parquet'}"
            found.append(Merge(log, tuple(run), path))
    return found


def _runs(segments: Sequence[Segment], limits: Limits) -> Iterator[list[Segment]]:
    taken: set[str] = set()
    for level in range(_LEVELS):
        for run in _neighbours(segments, taken, level, limits):
            if sum(limits.level(segment) == level for segment in run) >= limits.neighbours:
                taken.update(segment.path for segment in run)
                yield run


def _neighbours(segments: Sequence[Segment], taken: set[str], level: int, limits: Limits) -> Iterator[list[Segment]]:
    """The longest runs of segments up to a level."""
    run: list[Segment] = []
    for segment in segments:
        fits = segment.path not in taken and limits.level(segment) <= level
        if run and not (fits and limits.admit(run, segment)):
            yield run
            run = []
        if fits:
            run.append(segment)
    if run:
        yield run


def _as_of(table: pa.Table, batch: int | None) -> pa.Table:
    return table if batch is None else with_batch(table, batch)


def _dealt(storage: Storage, path: str, late: Mapping[str, int]) -> Dealt:
    dealt = storage.read_dealt(path)
    return replace(dealt, rows=_as_of(dealt.rows, late.get(path)))


def _around(bounds: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """What holds all of them; those of empty segments hold nothing."""
    real = [(low, high) for low, high in bounds if low <= high]
    return (min(low for low, _ in real), max(high for _, high in real)) if real else (0, -1)
