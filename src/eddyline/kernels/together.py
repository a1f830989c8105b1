"""What several works need is computed once.

Slices: queries of different shapes over the same rows, by the same keys, differ in what they aggregate and in what they
do with it. The first that a task comes to computes the aggregates of all of them; the others find them there.

Filters: classes of different shapes over the same rows differ in their members (`one_filter`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from eddyline.kernels.dialect import kernel_sql
from eddyline.kernels.direct import Reading
from eddyline.kernels.matching import Match
from eddyline.kernels.one_filter import MOST_IN_FILTER, OneFilter, Place, may_share, members_of
from eddyline.log.segment import TICK

if TYPE_CHECKING:
    from eddyline.kernels.task import Work

#: in the text of a pattern, the slice of a tick, the condition of ticks, and the leaf
SLICES, TICKS, LEAF = "\0slice\0", "\0ticks\0", "\0leaf\0"
#: slices that are cut for several windows must have as many rows on average, or each had better cut its own
_ROWS_OF_A_SLICE = 4
#: as many works are done one after the other for the sake of a table …
_MOST = 16
#: … and of a filter
_MOST_FILTERED = 64


@dataclass(frozen=True)
class Cuts:
    """Where slices of time begin: at offset + k · step, for some offsets and steps. Finer slices do as well.

    `ticks`: a condition that tells which ticks are wanted.
    """

    at: frozenset[tuple[int, int]]
    ticks: str

    def slice(self, tick: str) -> str:
        """The first tick of the slice that a tick is in."""
        starts = [f"{tick} - pmod({tick} - {offset}, {step})" for offset, step in sorted(self.at)]
        return starts[0] if len(starts) == 1 else f"greatest({', '.join(starts)})"

    @classmethod
    def of_all(cls, several: Sequence[Cuts]) -> Cuts:
        """Slices for all: those of windows that are cut at some of the others' places anyway add nothing.

        >>> one, other = Cuts(frozenset({(0, 10)}), "a"), Cuts(frozenset({(5, 5), (1, 4)}), "b")
        >>> made = Cuts.of_all([one, other, one])
        >>> sorted(made.at), made.ticks
        ([(0, 5), (1, 4)], '((a) OR (b))')
        """
        every = {(offset % step, step) for cuts in several for offset, step in cuts.at}
        kept = {cut for cut in every if not any(_are_among(cut, other) for other in every if other != cut)}
        ticks = dict.fromkeys(cuts.ticks for cuts in several)
        return cls(frozenset(kept), f"({' OR '.join(f'({each})' for each in ticks)})")


def _are_among(one: tuple[int, int], others: tuple[int, int]) -> bool:
    return one[1] % others[1] == 0 and (one[0] - others[0]) % others[1] == 0


@dataclass(frozen=True)
class Pattern:
    """Rows of segments that are put into slices, as a statement in which the slices are left open."""

    text: str
    leaf: str
    files: tuple[str, ...]
    cuts: Cuts

    def rows(self, cuts: Cuts, leaf: str) -> str:
        start = kernel_sql(cuts.slice(TICK))[0]
        return self.text.replace(SLICES, start).replace(TICKS, cuts.ticks).replace(LEAF, leaf)


@dataclass(frozen=True)
class Grouping:
    """What a work groups, and the rest of it as a statement over a table that has all groups."""

    table: str  # a name for the rows and the keys, whoever they are for
    rows: str  # a statement
    keys: tuple[str, ...]
    aggregates: Mapping[str, str]  # by expression, the column of the table
    statement: str
    pattern: Pattern | None = None  # if others may want other slices of the same rows
    reads: int = 0  # rows

    @classmethod
    def of(
        cls,
        rows: str,
        files: Sequence[tuple[str, ...]],
        keys: tuple[str, ...],
        aggregates: Sequence[str],
        pattern: Pattern | None = None,
    ) -> Grouping:
        """`files` are those that the statement of the rows reads, in its order. The statement over it comes later."""
        if pattern is None:
            name = f"together_{_short((rows, files, keys))}"
        else:
            folders = sorted({file.rpartition("/")[0] for file in pattern.files})
            name = f"together_{_short((pattern.text, folders, keys))}"
        return cls(name, rows, keys, {text: f"a_{_short(text)}" for text in aggregates}, "", pattern)


@dataclass(frozen=True)
class Together:
    """A table that is made once in a task, and the work's statement over it.

    Where works want different slices, it is made from a leaf with the `files` of all, and is of use only if it has no
    more than so many rows.
    """

    table: str
    creation: str
    statement: str
    leaf: str = ""
    files: tuple[str, ...] = ()
    most: int | None = None


def put_together(works: Sequence[Work], tasks: int = 1) -> list[Work]:
    """The works, those that can share a table or a filter one behind the other; `tasks`: how many can run at once."""
    alike: dict[object, list[Work]] = {}
    for number, work in enumerate(works):
        reading = _reading(work)
        key: object = number
        if work.grouping is not None:
            key = work.grouping.table
        elif reading is not None:
            key = reading.files, reading.source
        alike.setdefault(key, []).append(work)
    matching = sum(len(some) for some in alike.values() if len(some) > 1 and some[0].grouping is None)
    most = max(2, min(_MOST_FILTERED, -(-matching // tasks)))
    found: list[Work] = []
    for some in alike.values():
        if len(some) == 1:
            found += some
        elif some[0].grouping is not None:
            found += _sharing(some)
        else:
            found += [work for part in _parts(some, most) for work in _filtered(part)]
    return found


def in_bundles(works: Sequence[Work]) -> list[list[Work]]:
    """The works as tasks do them: those that share something belong together."""
    bundles: list[list[Work]] = []
    for work in works:
        shared = _shared(work)
        last = bundles[-1] if bundles else []
        most = _MOST if work.together is not None else _MOST_FILTERED
        if shared is not None and last and _shared(last[-1]) == shared and len(last) < most:
            last.append(work)
        else:
            bundles.append([work])
    return bundles


def _shared(work: Work) -> str | None:
    if work.together is not None:
        return work.together.table
    return None if work.filtered is None else work.filtered.shared.name


def _reading(work: Work) -> Reading | None:
    """What rows a work matches, if others may match the same; functions of users are called for whoever asks."""
    if len(work.found) != 1 or work.functions:
        return None
    (match,) = work.found
    return match.reading if isinstance(match, Match) and may_share(match) else None


def _parts(works: Sequence[Work], most: int) -> list[list[Work]]:
    """Not too many works for a task, nor members for a filter."""
    parts: list[list[Work]] = []
    members = 0
    for work in works:
        (match,) = work.found
        assert isinstance(match, Match)
        count = members_of(match)
        if not parts or len(parts[-1]) == most or members + count > MOST_IN_FILTER:
            parts.append([])
            members = 0
        parts[-1].append(work)
        members += count
    return parts


def _filtered(works: Sequence[Work]) -> Sequence[Work]:
    if len(works) == 1:
        return works
    matches = tuple(match for work in works for match in work.found if isinstance(match, Match))
    name = f"filter_{_short([(work.stage, work.found) for work in works])}"
    shared = OneFilter(name, matches)
    return [replace(work, filtered=Place(shared, number)) for number, work in enumerate(works)]


def _sharing(works: Sequence[Work]) -> list[Work]:
    groupings = [work.grouping for work in works if work.grouping is not None]
    every = {text: column for grouping in groupings for text, column in grouping.aggregates.items()}
    patterns = [grouping.pattern for grouping in groupings if grouping.pattern is not None]
    apart = len({(pattern.cuts, pattern.files) for pattern in patterns}) > 1
    cuts = Cuts.of_all([pattern.cuts for pattern in patterns]) if apart else None
    found = []
    for work, grouping in zip(works, groupings, strict=True):
        made = [*grouping.keys, *(f"{text} AS {column}" for text, column in every.items())]
        # each says it with its own names, whoever comes first makes it
        group = f" GROUP BY {', '.join(grouping.keys)}" if grouping.keys else ""
        shared = Together(grouping.table, "", grouping.statement)
        rows = grouping.rows
        if cuts is not None and grouping.pattern is not None:
            files = tuple(dict.fromkeys(file for pattern in patterns for file in pattern.files))
            most = max(each.reads for each in groupings) // _ROWS_OF_A_SLICE
            shared = replace(shared, leaf=f"rows_of_{grouping.table}", files=files, most=most)
            rows = grouping.pattern.rows(cuts, shared.leaf)
        creation = f"CREATE TEMP TABLE {grouping.table} AS SELECT {', '.join(made)} FROM ({rows}){group}"
        found.append(replace(work, together=replace(shared, creation=creation)))
    return found


def _short(value: object) -> str:
    return blake2b(repr(value).encode(), digest_size=12).hexdigest()
