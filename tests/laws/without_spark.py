"""The Spark engine without Spark: its executor and kernels in this process, one micro-batch after the other.

What Spark does is done here by hand: it writes down how far a batch goes, has it processed, and commits it. So the laws
can look at many more runs than a streaming query could start.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from eddyline.kernels.task import done
from eddyline.spark.engine import Engine


def _flush(engine: Engine, meanwhile: object = None) -> None:
    entry, last = engine.journal.number, engine.executor.results.last
    if entry == last.entry:
        return
    batch = last.batch + 1
    offset = json.dumps({"_entry": entry})
    engine.storage.write(f"checkpoint/offsets/{batch}", f"v1\n{{}}\n{offset}".encode())
    engine.executor.process(None, batch)  # type: ignore[arg-type]
    engine.storage.write(f"checkpoint/commits/{batch}", b"v1\n{}")


def _refused(*arguments: Any) -> Any:
    raise AssertionError("this runs on Spark, or overflows")


@contextmanager
def kernels_alone() -> Iterator[None]:
    """Engines that are made inside start no Spark. A stage that the kernel does not take fails."""
    with ExitStack() as stack:
        stack.enter_context(patch("eddyline.spark.engine.start_session", lambda *given, **named: None))
        stack.enter_context(patch("eddyline.spark.engine.register", lambda *given: None))
        stack.enter_context(patch("eddyline.spark.executor.run", lambda spark, works: list(done(works))))
        stack.enter_context(patch("eddyline.spark.executor.planned", _refused))
        stack.enter_context(patch("eddyline.log.storage._sync", lambda path: None))
        stack.enter_context(patch.object(Engine, "start", lambda engine: None))
        stack.enter_context(patch.object(Engine, "flush", _flush))
        yield
