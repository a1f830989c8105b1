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

from eddyline.kernels.matching import Match, Reading
from eddyline.kernels.one_filter import MOST_IN_FILTER, OneFilter, Place, may_share, members_of

if TYPE_CHECKING:
    from eddyline.kernels.task import Work

#: as many works are done one after the other for the sake of a table …
_MOST = 16
#: … and of a filter
_MOST_FILTERED = 64


@dataclass(frozen=True)
class Grouping:
    """What a work groups, and the rest of it as a statement over a table that has all groups."""

    table: str  # a name for the rows and the keys, whoever they are for
    rows: str  # a statement
    keys: tuple[str, ...]
    aggregates: Mapping[str, str]  # by expression, the column of the table
    statement: str

    @classmethod
    def of(
        cls, rows: str, files: Sequence[tuple[str, ...]], keys: tuple[str, ...], aggregates: Sequence[str]
    ) -> Grouping:
        """`files` are those that the statement of the rows reads, in its order. The statement over it comes later."""
        name = f"together_{_short((rows, files, keys))}"
        return cls(name, rows, keys, {text: f"a_{_short(text)}" for text in aggregates}, "")


@dataclass(frozen=True)
class Together:
    """A table that is made once in a task, and the work's statement over it."""

    table: str
    creation: str
    statement: str


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
    every = {text: column for work in works if work.grouping for text, column in work.grouping.aggregates.items()}
    found = []
    for work in works:
        grouping = work.grouping
        assert grouping is not None
        made = [*grouping.keys, *(f"{text} AS {column}" for text, column in every.items())]
        # each says it with its own names, whoever comes first makes it
        group = f" GROUP BY {', '.join(grouping.keys)}" if grouping.keys else ""
        creation = f"CREATE TEMP TABLE {grouping.table} AS SELECT {', '.join(made)} FROM ({grouping.rows}){group}"
        found.append(replace(work, together=Together(grouping.table, creation, grouping.statement)))
    return found


def _short(value: object) -> str:
    return blake2b(repr(value).encode(), digest_size=12).hexdigest()
