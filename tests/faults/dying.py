"""A process that kills itself at a chosen place inside a batch of corrections, where chance would seldom meet it."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn
from unittest.mock import patch

from eddyline.log.ingest import Ingest
from eddyline.log.results import ResultLog
from eddyline.spark import batch_work
from eddyline.spark.executor import Executor

#: when the tasks of the first stages have written their results, and those that read these have not begun
CASCADE = "cascade"
#: when all stages have written, before the batch's record says so, and when it has said so, before Spark commits
RECORD, COMMIT = "record", "commit"
#: when the tasks of an UPDATE have written, before an entry of the journal says so
STATEMENT = "statement"
#: when slices were made that nobody had kept before, and before the batch's record says so; when a record has said that
#: slices are kept no longer, before Spark commits
BEGUN, GIVEN_UP = "begun", "given up"
#: when some of the tasks among which a stage was spread have written, and the others have not
SPREAD = "spread"
#: when some of the tasks have written that make slices anew which could not be trusted; when all have, and before the
#: batch's record says so; when it has said so, before Spark commits
REMAKING, REMADE, REMADE_SAID = "remaking", "remade", "remade, and said"
#: where slices come and go as they please, and work is spread as thin as it can be
RESTLESS = (BEGUN, GIVEN_UP, SPREAD)
_COUNTING_THEIR_OWN = (BEGUN, GIVEN_UP, REMAKING, REMADE, REMADE_SAID)


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("it was killed")


@contextmanager
def dying(place: str, batches: int) -> Iterator[None]:
    """Die at the place in the batch with corrections that is so many such batches away.

    Or in the batch that begins to keep slices, gives them up or makes them anew, for the so-manieth time.
    """
    left = batches
    inside = remaking = False
    recorded, anew_in_doubt, run, write = Executor._recorded, batch_work.made_anew, batch_work.run, ResultLog.write

    def counted(self: Executor, work: Any, target: Any, *given: Any) -> Any:
        nonlocal left, inside
        entries = self._journal.between(self.results.last.entry, target.entry)
        if place not in _COUNTING_THEIR_OWN:  # those count what they are about
            left -= any(s.minus for entry in entries for segments in entry.segments.values() for s in segments)
            inside = left == 0 or (place == SPREAD and left < 0)  # not every batch can be spread
        return recorded(self, work, target, *given)

    def made_anew(*given: Any) -> Any:
        nonlocal left, remaking
        view = anew_in_doubt(*given)
        if place == REMAKING and view.remade and not remaking:
            left -= 1
            remaking = left <= 0
        return view

    def ran(spark: Any, works: Any) -> Any:
        stages = Counter(work.stage for work in works)
        if inside and place == SPREAD and max(stages.values(), default=0) > 1:
            half = {id(work) for name in stages for work in [work for work in works if work.stage == name][::2]}
            run(spark, [work for work in works if id(work) in half])
            die()
        if remaking:
            run(spark, works[:1])
            die()
        made = run(spark, works)
        if inside and place == CASCADE and made:
            die()
        return made

    def wrote(self: ResultLog, record: Any) -> None:
        nonlocal left
        anew = [stage for stage in record.stages.values() if stage.anew]
        if place == BEGUN and any(stage.segments for stage in anew):
            left -= 1
            if left <= 0:
                die()
        if inside and place == RECORD:
            die()
        if place in (REMADE, REMADE_SAID):
            left -= any(stage.remade for stage in record.stages.values())
            if left <= 0 and place == REMADE:
                die()
        write(self, record)
        if place == REMADE_SAID and left <= 0:
            die()
        if place == GIVEN_UP and any(stage.start is None for stage in anew):
            left -= 1
            if left <= 0:
                die()
        if inside and place == COMMIT:
            die()

    with ExitStack() as stack:
        stack.enter_context(patch.object(Executor, "_recorded", counted))
        stack.enter_context(patch.object(batch_work, "made_anew", made_anew))
        stack.enter_context(patch.object(batch_work, "run", ran))
        stack.enter_context(patch.object(ResultLog, "write", wrote))
        if place == STATEMENT:
            stack.enter_context(patch.object(Ingest, "take_revisions", lambda *given: die()))
        yield
