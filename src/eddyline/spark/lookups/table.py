"""One table that is asked by key: what is known, who waits, which keys are on their way."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eddyline.catalog.extent import Extent
from eddyline.catalog.lookup import FIRST_PAUSE, Lookup
from eddyline.log.results import StageResult
from eddyline.spark.evaluate.asked import waiting_rows
from eddyline.spark.lookups.answers import Answers, Piece
from eddyline.spark.lookups.costs import Costs
from eddyline.spark.lookups.tasks import Keys
from eddyline.spark.physical import counted

#: so many small pieces of about one size and age become one
_MERGED = 8
#: there is another scout when so many times as many calls have failed
_NEXT_SCOUT = 4
#: when there are more than so many, which each batch reads, merging comes before asking
_MANY = 4 * _MERGED
#: pieces that are merged differ in age by at most this part of the time for which an answer holds
_OF_FRESH = 8


@dataclass(eq=False)
class Group:
    """Keys that are asked for in one call."""

    keys: Keys
    since: float  # when they were first asked for
    due: float = 0.0
    failures: int = 0
    at_work: bool = False
    failing: float = math.inf  # since when: of a half, since it became one
    is_half: bool = False


@dataclass(eq=False)
class Table:
    """All about one table. Whoever looks at it holds the lock of those who ask."""

    extent: Extent
    base: Path
    known: Answers
    costs: Costs
    waiting: Sequence[StageResult] = ()  # the logs of those who wait, of all queries
    groups: list[Group] = field(default_factory=list)
    looked_at: object = None  # who waited when it was last found out which keys are wanted
    finding: bool = False
    find_due: float = 0.0
    vain_finds: int = 0  # that have failed one after the other
    losses: int = 0  # how often something that was known has gone
    scanning: bool = False
    merging: bool = False
    merge_due: float = 0.0
    asked_since: bool = True  # something, since it was last found out which keys are wanted
    answered: float = 0.0  # when a call was last answered
    scan_due: float = 0.0  # one that has failed is not begun again at once
    dropped: set[str] = field(default_factory=set)  # files that no new batch reads
    tuples: int = 0  # that have come to look-ups
    misses: int = 0  # of which so many had to wait
    said: str = ""  # what was last told of its trouble
    vain_calls: int = 0  # that have failed since one was answered
    scout: Group | None = None  # the one that is asked for in halves while nobody answers
    next_scout: int = 0  # when so many calls have failed, there may be another one
    served: int = 0  # of all that was begun, the number of its latest

    @property
    def lookup(self) -> Lookup:
        assert self.extent.lookup is not None
        return self.extent.lookup

    @property
    def rows_waiting(self) -> int:
        return sum(map(waiting_rows, self.waiting))

    @property
    def keys_waited_for(self) -> int:
        return sum(group.keys.count for group in self.groups)

    @property
    def state(self) -> object:
        """Changes whenever other keys may be wanted."""
        return [[segment.path for segment in result.segments] for result in self.waiting], self.losses

    @property
    def seen(self) -> int:
        """The version of the answers that all have looked at who wait."""
        behind = [result.count for result in self.waiting if waiting_rows(result)]
        return min(behind, default=self.known.version)

    def is_answered(self, now: float) -> None:
        self.answered, self.vain_calls, self.scout, self.next_scout = now, 0, None, 0

    def may_halve(self, group: Group) -> bool:
        """Whether a group that has failed is to be asked for in halves.

        If others get answers, it is. Else nobody may be there at all, and many calls for few keys are of no use: one
        group is halved, down to a single key. If that fails as well, another one is after many more failures.
        """
        if self.answered >= group.failing or group is self.scout:
            return True
        if self.scout in self.groups and self.scout is not None and self.scout.keys.count > 1:
            return False
        if self.vain_calls < self.next_scout:
            return False
        self.next_scout = _NEXT_SCOUT * self.vain_calls
        return True

    def halve(self, group: Group, now: float) -> None:
        somebody_is_there = self.answered >= group.failing
        failures, due = (0, min(group.due, now + FIRST_PAUSE)) if somebody_is_there else (group.failures, group.due)
        first, second = (
            Group(half, group.since, due, failures, failing=now, is_half=True) for half in group.keys.halves()
        )
        self.groups = [*(other for other in self.groups if other is not group), first, second]
        if not somebody_is_there:
            self.scout = second  # has not fewer

    def replace(self, known: Answers) -> None:
        gone = set(self.known.paths) - set(known.paths)
        self.dropped |= gone
        self.losses += bool(gone)
        self.known = known

    @property
    def is_scattered(self) -> bool:
        return len(self.known.pieces) > _MANY

    def mergeable(self) -> list[Piece]:
        """Pieces of about one size and age that had better be one; none if there are too few."""
        alike: dict[tuple[int, int], list[Piece]] = defaultdict(list)
        for piece in self.known.pieces if not self.known.whole else ():
            if not piece.brief:
                span = max(1.0, self.lookup.fresh / _OF_FRESH)
                alike[piece.rows.bit_length() // 3, int(piece.asked / span)].append(piece)
        return next((pieces for pieces in alike.values() if len(pieces) >= _MERGED), [])

    def merged(self, pieces: Sequence[Piece], path: str, rows: int) -> Answers | None:
        """The same with one piece in place of several; None if not all of them are still there."""
        if not set(pieces) <= set(self.known.pieces):
            return None
        oldest, version = min(piece.asked for piece in pieces), max(piece.version for piece in pieces)
        rest = [piece for piece in self.known.pieces if piece not in pieces]
        whole = Piece(path, rows, oldest, version)
        return Answers(self.known.version, (*rest, whole), self.known.whole)

    def told(self, now: float) -> list[str]:
        """What EXPLAIN says of it."""
        costs, lookup = self.costs, self.lookup
        way = "scanned" if self.known.whole else "looked up and scanned" if self.scanning else "looked up"
        hits = self.tuples - self.misses
        found = f", {100 * hits / self.tuples:.1f} % of tuples found it known" if self.tuples else ""
        asked = f"{counted(costs.keys, 'key')} asked for in {counted(costs.calls, 'call')}"
        waits = f"{counted(self.rows_waiting, 'tuple')} wait for {counted(self.keys_waited_for, 'key')} on the way"
        known = f"{counted(self.known.rows, 'row')} known, each for {lookup.fresh:g} s, at most {lookup.size:,}"
        lines = [f"{self.extent.name} is {way} by {lookup.key}: {asked}{found}", f"{waits}; {known}"]
        if costs.call_seconds is not None and costs.key_seconds is not None:
            failed = f"; {counted(costs.failures, 'call')} failed" if costs.failures else ""
            lines.append(f"a call takes {costs.call_seconds:.3g} s, {costs.key_seconds:.3g} s for a key{failed}")
        if self.extent.format is not None and costs.scan_seconds is not None:
            seen = "as seen" if costs.scans else "as estimated"
            lines.append(
                f"a scan takes {costs.scan_seconds:.3g} s, {seen}; look-ups have cost {costs.debt(now):.3g} s "
                f"in the time for which one holds; {counted(costs.scans, 'scan')} so far"
            )
        return lines
