"""What the logs of a database tell about corrections, in the words of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.answer import Answer, RelationAnswer, TupleAnswer, WindowAnswer
from eddyline.algebra.lineage import PRECISIONS, Cause
from eddyline.algebra.revision_report import (
    MOST,
    Batch,
    Corrected,
    Effects,
    Revision,
    Rows,
    Summary,
    identity,
    number_of,
    rows_of_query,
)
from eddyline.log.answers import Reading, answers, python_rows
from eddyline.log.revision_log import Correction
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.spark.lineage.causes import CAME, OPERATION, PRECISION, STREAM, Asked, Lineage, Told
from eddyline.spark.lineage.finding import ANSWER
from eddyline.spark.lineage.versions import Versions
from eddyline.spark.stages import LINEAR, Stage

#: who asks for the effects of a stream's revisions is told of so many members of a class that a batch has corrected
MOST_MEMBERS = 1_000


@dataclass(frozen=True)
class Known:
    """A query that can be asked about."""

    name: str
    asked: Asked
    reading: Reading

    @property
    def by_tuple(self) -> bool:
        """Whether each of its answers has the index of the tuple that it comes from."""
        return len(self.asked.steps) == 1 and self.asked.steps[0].kind == LINEAR

    @property
    def streams(self) -> set[str]:
        inner = {stage.name for stage in self.asked.stages}
        return {name for stage in self.asked.stages for name in stage.streams} - inner


@dataclass(frozen=True)
class KnownClass:
    """A query class: the log of its answers, and its members by number, as far as they can be asked about."""

    log: str
    member: Callable[[int], Known | None]
    by_tuple: bool  # whether each answer has the index of the tuple that it comes from


@dataclass(frozen=True)
class Report:
    """Corrections since a tick, at most so many lines, the latest."""

    lineage: Lineage
    since: int | None = None
    limit: int | None = None

    def overview(self, stages: Mapping[str, Sequence[Stage]], name_of: Callable[[str], str]) -> Rows:
        """A line for each batch and each query that was answered over revisions; `stages` are those of each."""
        found: list[Summary] = []
        for correction in reversed(self.lineage.results.revisions.corrections):
            if len(found) == self._most:
                break
            if correction.query not in stages or not self._is_wanted(correction):
                continue
            inputs = {name for stage in stages[correction.query] for name in stage.streams}
            entries = [e for e in self.lineage.results.revisions.between(correction) if e.stream in inputs]
            late, deleted, replaced = (
                sum(getattr(e.counts, kind) for e in entries) for kind in ("late", "deleted", "replaced")
            )
            streams = tuple(sorted({entry.stream for entry in entries}))
            changes = self.lineage.changes(stages[correction.query], correction)
            cost = (correction.seconds, correction.rows_read, correction.way)
            about = (name_of(correction.query), changes, *cost)
            found.append(Summary(correction.now, streams, late, deleted, replaced, *about))
        return tuple(summary.row for summary in reversed(found))

    def of_query(self, known: Known) -> Rows:
        """A line for each revision that caused a change of the query's answers."""
        rows: Rows = ()
        for correction in self._latest(known.asked.log):
            rows = (*rows_of_query([self.batch(known, correction)]), *rows)
            if len(rows) >= self._most:
                return rows[len(rows) - self._most :]
        return rows

    def of_stream(self, stream: str, queries: Sequence[Known], classes: Sequence[KnownClass] = ()) -> Rows:
        """A line for each revision of a stream, with the number of answers that it changed in each query."""
        effects = Effects()
        for known, corrections in self._corrected(queries):
            for correction in corrections:
                effects.take(stream, known.name, self.batch(known, correction, stream))
                if len(effects.revisions) >= self._most:
                    break
        for found in classes:
            for correction in self._latest(found.log):
                versions = self.lineage.revised(stream, correction)
                effects.came(correction.upto, [] if versions is None else revisions(stream, versions, correction.now))
                for known in self._speaking(found, correction):
                    effects.take(stream, known.name, self.batch(known, correction))
                if len(effects.revisions) >= self._most:
                    break
        return effects.rows[max(0, len(effects.rows) - self._most) :]

    def effects(
        self, stream: str, index: int, queries: Sequence[Known], classes: Sequence[KnownClass] = ()
    ) -> Iterator[tuple[Cause, Answer]]:
        """What the revisions of a tuple have changed, the latest first."""
        for known, corrections in self._corrected(queries):
            revising = self._revising(stream, index, known.asked.log)
            for correction in self._since_first(corrections, revising):
                yield from self._effects(stream, index, known, correction, revising)
        for found in classes:
            revising = self._revising(stream, index, found.log)
            for correction in self._since_first(self._latest(found.log), revising):
                about = pc.field(INDEX) == index if found.by_tuple else None
                for known in self._speaking(found, correction, about):
                    yield from self._effects(stream, index, known, correction, revising)

    def _revising(self, stream: str, index: int, log: str) -> set[int]:
        """The batches that have taken in a revision of a tuple, also those before anybody wants to know."""
        found = ((one.batch, self.lineage.revised(stream, one)) for one in self.lineage.corrections(log))
        return {batch for batch, versions in found if versions is not None and index in versions.operations[0]}

    def _since_first(self, corrections: Sequence[Correction], revising: set[int]) -> Iterator[Correction]:
        """What was corrected before a tuple was revised, or if it never was, has other causes."""
        return (one for one in corrections if revising and one.batch >= min(revising))

    def _effects(
        self, stream: str, index: int, known: Known, correction: Correction, revising: set[int]
    ) -> Iterator[tuple[Cause, Answer]]:
        if not known.asked.withholds and correction.batch not in revising:  # what was withheld may be told much later
            return
        about = pc.field(INDEX) == index if known.by_tuple else None
        for corrected in self.batch(known, correction, about=about).corrected:
            for cause in corrected.causes:
                if (cause.stream, cause.index) == (stream, index):
                    yield cause, corrected.answer

    def causes(self, known: Known, answer: Answer) -> tuple[Cause, ...]:
        """What caused an answer; nothing if it corrects none, or if that is no longer remembered."""
        about = _rows_of(answer)
        for correction in self._latest(known.asked.log):
            if correction.batch != _batch_of(answer):  # another one may have said the same, for other reasons
                continue
            for corrected in self.batch(known, correction, about=about).corrected:
                if identity(corrected.answer) == identity(answer):
                    return corrected.causes
        return ()

    def _corrected(self, queries: Sequence[Known]) -> Iterator[tuple[Known, list[Correction]]]:
        """Queries, with when they were corrected."""
        for known in queries:
            yield known, self._latest(known.asked.log)

    def _speaking(
        self, found: KnownClass, correction: Correction, about: pc.Expression | None = None
    ) -> Iterator[Known]:
        """The members of a class that have said something when it was corrected: nobody else was."""
        for number in self.lineage.speakers(correction, about)[:MOST_MEMBERS]:
            known = found.member(number)
            if known is not None:
                yield known

    @property
    def _most(self) -> int:
        return MOST if self.limit is None else self.limit

    def _is_wanted(self, correction: Correction) -> bool:
        return self.since is None or (correction.now is not None and correction.now >= self.since)

    def _latest(self, log: str) -> list[Correction]:
        return [one for one in reversed(self.lineage.corrections(log)) if self._is_wanted(one)]

    # -- one batch ----------------------------------------------------------------------------------------------------

    def batch(
        self, known: Known, correction: Correction, whole: str | None = None, about: pc.Expression | None = None
    ) -> Batch:
        """What a query has corrected in a batch; of the revisions those that caused it, and all of one stream.

        `about`: of which rows of its log somebody wants to know.
        """
        told = self.lineage.told(known.asked, correction, about)
        causes: dict[int, list[Cause]] = {}
        columns = (told.causes.column(name).to_pylist() for name in (ANSWER, STREAM, INDEX, OPERATION, PRECISION, CAME))
        for answer, stream, index, operation, precision, came in zip(*columns, strict=True):
            causes.setdefault(answer, []).append(Cause(stream, index, operation, PRECISIONS[precision], came))
        said = [
            Corrected(correction.now, answer, tuple(sorted(causes.get(number, ()), key=_order)))
            for number, answer in _answers(known.reading, told, correction.batch)
        ]
        return Batch(correction.upto, correction.now, dict(self._revisions(known, correction, told, whole)), said)

    def _revisions(
        self, known: Known, correction: Correction, told: Told, whole: str | None
    ) -> Iterator[tuple[tuple[int, str, int], Revision]]:
        came = pc.unique(told.causes.column(CAME)).to_pylist()
        for one in self.lineage.corrections(known.asked.log):
            if one.upto not in came and one is not correction:
                continue
            mine = told.causes.filter(pc.equal(told.causes.column(CAME), one.upto))
            for stream in known.streams:
                versions = self.lineage.revised(stream, one)
                if versions is None:
                    continue
                if stream != whole or one is not correction:
                    theirs = mine.filter(pc.equal(mine.column(STREAM), stream))
                    versions = versions.of(theirs.column(INDEX).to_numpy())
                for revision in revisions(stream, versions, one.now):
                    yield (one.upto, stream, revision.index), revision


def _batch_of(answer: Answer) -> int | None:
    """The batch that has said it; only what can be corrected knows it."""
    return answer.batch if isinstance(answer, TupleAnswer | WindowAnswer | RelationAnswer) else None


def _rows_of(answer: Answer) -> pc.Expression | None:
    """Which rows of a log are of an answer, as far as the log of a class can tell."""
    if isinstance(answer, TupleAnswer):
        return pc.field(INDEX) == answer.index
    if isinstance(answer, RelationAnswer):
        return pc.field(TICK) == answer.tick
    if isinstance(answer, WindowAnswer):
        ticks = [answer.tick] if answer.old_tick is None else [answer.tick, answer.old_tick]
        return pc.field(TICK).isin(ticks)
    return None


def revisions(stream: str, versions: Versions, at: int | None) -> Iterator[Revision]:
    """Both versions of each tuple as one revision."""
    indexes, operations = versions.operations
    rows = python_rows(versions.columns, versions.rows)
    index, tick, diff = (versions.rows.column(name).to_pylist() for name in (INDEX, TICK, DIFF))
    old = {i: (t, row) for i, t, d, row in zip(index, tick, diff, rows, strict=True) if d < 0}
    new = {i: (t, row) for i, t, d, row in zip(index, tick, diff, rows, strict=True) if d > 0}
    for i, operation in zip(indexes.tolist(), operations.tolist(), strict=True):
        now = new.get(i, old.get(i))
        assert now is not None
        before, after = (found[i][1] if i in found else None for found in (old, new))
        yield Revision(at, stream, i, operation, now[0], before, after)


def _answers(reading: Reading, told: Told, batch: int) -> Iterator[tuple[int, Answer]]:
    """The answers that correct something, with their numbers."""
    mine = told.rows.filter(pc.is_in(told.rows.column(ANSWER), pa.array(told.corrected, pa.int64())))
    if not mine.num_rows:
        return
    found = answers(reading, mine, batch)
    if reading.kind == "relation":
        yield from zip(np.sort(told.corrected).tolist(), found, strict=True)
    else:
        for answer in found:
            number = number_of(answer)
            assert number is not None
            yield number, answer


def _order(cause: Cause) -> tuple[str, int, int]:
    return cause.stream, cause.index, cause.batch
