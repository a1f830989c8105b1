"""What is remembered of corrections: which appends brought revisions, which queries they went through, at what cost.

It is part of the record that a batch commits, so it is there exactly when its answers are. Only the latest are kept,
and of the revisions themselves only where they are in the logs of their streams: who asks for them reads them there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

#: so many appends with revisions are remembered, and so many times that a query was corrected
KEPT_ENTRIES, KEPT_CORRECTIONS = 1_000, 10_000


@dataclass(frozen=True)
class Revised:
    """How many tuples of a stream an append has revised. Late ones came when nobody expected them any more."""

    late: int = 0
    deleted: int = 0
    replaced: int = 0

    def __bool__(self) -> bool:
        return bool(self.late or self.deleted or self.replaced)


@dataclass(frozen=True)
class RevisedEntry:
    """An append with revisions of one stream: where they are in its log, and the clock before and after."""

    number: int
    stream: str
    counts: Revised
    seq: tuple[int, int]
    closed: int | None  # before: what has a tick up to here is late
    reached: int | None  # after

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RevisedEntry:
        return cls(**{**value, "counts": Revised(**value["counts"]), "seq": tuple(value["seq"])})


@dataclass(frozen=True)
class Correction:
    """A query that was answered over appends with revisions: those after `after` up to `upto`.

    `reached` and `closed` are the clock before, `now` what it showed then; `arrived` the tuples that each of its
    streams had before. The cost is that of the query in the whole batch, of new tuples too.
    """

    batch: int
    query: str  # the name of its result log
    after: int
    upto: int
    reached: int | None
    closed: int | None
    now: int | None
    arrived: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    rows_read: int = 0
    way: str = ""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Correction:
        return cls(**value)


@dataclass(frozen=True)
class RevisionLog:
    """The latest appends with revisions, and what came of them, both in the order of batches."""

    entries: tuple[RevisedEntry, ...] = ()
    corrections: tuple[Correction, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entries or self.corrections)

    def with_later(self, later: RevisionLog) -> RevisionLog:
        if not later:
            return self
        entries, corrections = (*self.entries, *later.entries), (*self.corrections, *later.corrections)
        return RevisionLog(entries[-KEPT_ENTRIES:], corrections[-KEPT_CORRECTIONS:])

    def without(self, queries: Iterable[str]) -> RevisionLog:
        """Without queries that were dropped."""
        gone = set(queries)
        return RevisionLog(self.entries, tuple(one for one in self.corrections if one.query not in gone))

    def between(self, correction: Correction) -> list[RevisedEntry]:
        """The appends that a query was corrected for."""
        return [entry for entry in self.entries if correction.after < entry.number <= correction.upto]

    def to_json(self) -> dict[str, Any]:
        return {
            "entries": [asdict(entry) for entry in self.entries],
            "corrections": [asdict(correction) for correction in self.corrections],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> RevisionLog:
        if value is None:
            return cls()
        entries = tuple(RevisedEntry.from_json(entry) for entry in value["entries"])
        return cls(entries, tuple(Correction.from_json(one) for one in value["corrections"]))
