"""What is told of corrections: the revisions that came in, the answers that they changed, and what that has cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eddyline.algebra.answer import Answer, RelationAnswer, TupleAnswer, WindowAnswer
from eddyline.algebra.key import shown_value
from eddyline.algebra.lineage import Cause

Values = tuple[Any, ...]
Rows = tuple[Values, ...]

#: so many lines are shown if nobody says how many
MOST = 1_000
#: the columns of SHOW REVISIONS; of SHOW REVISIONS OF a stream; and of SHOW REVISIONS OF a query
OVERVIEW = ("at", "streams", "late", "deleted", "replaced", "query", "changes", "seconds", "rows_read", "way")
OF_STREAM = ("at", "index", "revision", "tick", "old", "new", "changes", "queries")
OF_QUERY = ("at", "tick", "answer", "op", "stream", "index", "revision", "old", "new", "precision")


@dataclass(frozen=True)
class Revision:
    """What a batch has done to one tuple of a stream: `op` is - (deleted), = (replaced) or + (came late).

    `at` is the tick that the clock showed then, `tick` that of the tuple, as it is now or, if it is gone, as it was.
    """

    at: int | None
    stream: str
    index: int
    op: str
    tick: int
    old: Values | None
    new: Values | None


@dataclass(frozen=True)
class Corrected:
    """An answer that corrects what was answered before, and the revisions that caused it; `at` as above."""

    at: int | None
    answer: Answer
    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class Batch:
    """One batch in which a query was corrected: what was revised, and what the query said about it.

    Revisions are known by the number of their batch, stream and index: where corrections are withheld, those of earlier
    batches are among them.
    """

    number: int  # the same for all who were corrected for the same revisions
    at: int | None
    revisions: Mapping[tuple[int, str, int], Revision]
    corrected: Sequence[Corrected]

    @property
    def own(self) -> list[Revision]:
        """Those that came in this batch."""
        return [revision for (number, _, _), revision in self.revisions.items() if number == self.number]


@dataclass(frozen=True)
class Summary:
    """One batch in which a query was answered over revisions, in numbers; what nobody has measured is None."""

    at: int | None
    streams: tuple[str, ...]
    late: int
    deleted: int
    replaced: int
    query: str
    changes: int
    seconds: float | None = None
    rows_read: int | None = None
    way: str | None = None

    @property
    def row(self) -> Values:
        cost = (self.seconds, self.rows_read, self.way)
        counts = (self.late, self.deleted, self.replaced)
        return (self.at, ", ".join(self.streams), *counts, self.query, self.changes, *cost)


@dataclass
class Effects:
    """The revisions of a stream, and how many answers of which query each has changed."""

    revisions: dict[tuple[int, int], Revision] = field(default_factory=dict)  # by batch and index
    changes: dict[tuple[int, int], Counter[str]] = field(default_factory=dict)

    def came(self, number: int, revisions: Iterable[Revision]) -> None:
        """A batch has brought revisions of the stream."""
        for revision in revisions:
            self.revisions.setdefault((number, revision.index), revision)

    def take(self, stream: str, query: str, batch: Batch) -> None:
        self.came(batch.number, [revision for revision in batch.own if revision.stream == stream])
        for corrected in batch.corrected:
            for cause in corrected.causes:
                if cause.stream == stream:
                    self.changes.setdefault((cause.batch, cause.index), Counter())[query] += 1

    @property
    def rows(self) -> Rows:
        found = []
        for at, revision in sorted(self.revisions.items()):
            counts = self.changes.get(at, Counter())
            queries = ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))
            told = (revision.tick, shown_row(revision.old), shown_row(revision.new))
            found.append((revision.at, revision.index, revision.op, *told, counts.total(), queries))
        return tuple(found)


def rows_of_query(batches: Iterable[Batch]) -> Rows:
    """A row for every revision that caused a change of an answer."""
    found = []
    for batch in batches:
        for corrected in batch.corrected:
            answer = corrected.answer
            for cause in corrected.causes:
                revision = batch.revisions[cause.batch, cause.stream, cause.index]
                told = (cause.stream, cause.index, cause.op, shown_row(revision.old), shown_row(revision.new))
                place = (corrected.at, answer.tick, number_of(answer), answer.op)  # type: ignore[union-attr]
                found.append((*place, *told, cause.precision))
    return tuple(found)


def number_of(answer: Answer) -> int | None:
    """The number of a window, the index of a tuple; the rows of a relation have none."""
    if isinstance(answer, WindowAnswer):
        return answer.window
    return answer.index if isinstance(answer, TupleAnswer) else None


def identity(answer: Answer) -> Values:
    """What tells an answer from the others of its batch: its number or, of a relation, what it says; NaN is NaN.

    >>> identity(RelationAnswer("q", 5, "+", (math.nan,))) == identity(RelationAnswer("q", 5, "+", (-math.nan,)))
    True
    """
    if isinstance(answer, RelationAnswer):
        return answer.tick, answer.op, tuple(map(_comparable, answer.row)), answer.tags
    return type(answer), number_of(answer)


def _comparable(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_comparable, value))
    return "NaN" if isinstance(value, float) and math.isnan(value) else value  # a column has numbers or texts


def shown_row(values: Values | None) -> str | None:
    """
    >>> shown_row((120, "IBM", None))
    "(120, 'IBM', NULL)"
    """
    if values is None:
        return None
    return f"({', '.join('NULL' if value is None else shown_value(value) for value in values)})"
