"""A process that kills itself at a chosen place inside a batch of corrections, where chance would seldom meet it."""

from __future__ import annotations

import os
import signal
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


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("it was killed")


@contextmanager
def dying(place: str, batches: int) -> Iterator[None]:
    """Die at the place in the batch with corrections that is so many such batches away."""
    left = batches
    inside = False
    recorded, run, write = Executor._recorded, batch_work.run, ResultLog.write

    def counted(self: Executor, work: Any, target: Any, *given: Any) -> Any:
        nonlocal left, inside
        entries = self._journal.between(self.results.last.entry, target.entry)
        left -= any(s.minus for entry in entries for segments in entry.segments.values() for s in segments)
        inside = left == 0
        return recorded(self, work, target, *given)

    def ran(*given: Any) -> Any:
        made = run(*given)
        if inside and place == CASCADE and made:
            die()
        return made

    def wrote(self: ResultLog, record: Any) -> None:
        if inside and place == RECORD:
            die()
        write(self, record)
        if inside and place == COMMIT:
            die()

    with ExitStack() as stack:
        stack.enter_context(patch.object(Executor, "_recorded", counted))
        stack.enter_context(patch.object(batch_work, "run", ran))
        stack.enter_context(patch.object(ResultLog, "write", wrote))
        if place == STATEMENT:
            stack.enter_context(patch.object(Ingest, "take_revisions", lambda *given: die()))
        yield
