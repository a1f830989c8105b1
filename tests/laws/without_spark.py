"""The Spark engine without Spark: its executor and kernels in this process, one micro-batch after the other.

What Spark does is done here by hand: it writes down how far a batch goes, has it processed, and commits it. So the laws
can look at many more runs than a streaming query could start.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.kernels.task import done
from eddyline.log.merging import Merge
from eddyline.log.statements import Made, Statement, made_by_task
from eddyline.log.storage import Storage
from eddyline.spark.correcting import Corrections
from eddyline.spark.engine import Engine
from eddyline.spark.evaluate.batch import Log, columns_of
from eddyline.spark.fairness import Policy
from eddyline.spark.lanes import LanesInTurn
from eddyline.spark.revising import Revision
from eddyline.spark.tags.conditions import condition


def _flush(engine: Engine, meanwhile: object = None) -> None:
    while engine.journal.number > engine.executor.results.last.entry or engine.executor.is_behind:
        one_batch(engine)


def one_batch(engine: Engine) -> None:
    entry, batch = engine.journal.number, engine.executor.results.last.batch + 1
    offset = json.dumps({"_entry": entry})
    engine.storage.write(f"checkpoint/offsets/{batch}", f"v1\n{{}}\n{offset}".encode())
    engine.executor.process(None, batch)  # type: ignore[arg-type]
    engine.storage.write(f"checkpoint/commits/{batch}", b"v1\n{}")


def _refused(*arguments: Any) -> Any:
    raise AssertionError("this runs on Spark, or overflows")


def _taken_back(
    engine: Engine, logs: Mapping[str, Log], revision: Revision, statement: Statement, tasks: int
) -> Sequence[Made]:
    """What Spark finds for a DETACH, by hand: the tuples that stand, with their marks."""
    assert revision.taking_back is not None, "UPDATE and DELETE run on Spark"
    names = revision.extent.schema.names
    schema = arrow_schema(revision.extent.schema)
    rows = _tagged_tuples(engine, logs[revision.extent.name])
    horizon = statement.horizon
    rows = [row for row in rows if horizon is None or row["_tick"] >= horizon]
    places = [("_index", pa.int64()), ("_tick", pa.int64())]
    values = [pa.array([row[name] for row in rows], schema.field(name).type) for name in names]
    index, tick = (pa.array([row[name] for row in rows], type_) for name, type_ in places)
    given = pa.table([*values, tick, index], [f"v{at}" for at in range(len(names) + 2)])
    marks = pa.array([row["_tags"] for row in rows], pa.string())
    table = pa.table([index, tick, *values, marks], ["_index", "_tick", *columns_of(len(names)), "_tags"])
    if revision.where is not None and table.num_rows:
        table = table.filter(pa.array(condition(revision.where, revision.schema)(given)))
    return list(made_by_task(table.sort_by("_index").to_batches(), statement, 0))


def _tagged_tuples(engine: Engine, log: Log) -> list[dict[str, Any]]:
    """The tuples of a stream that stand and carry tags."""
    standing: dict[int, dict[str, Any]] = {}
    found = [row for segment in log.segments for row in engine.storage.read_table(segment.path).to_pylist()]
    for row in sorted(found, key=lambda row: row["_seq"]):
        if row["_diff"] > 0:
            standing[row["_index"]] = row
        elif row["_diff"] < 0:
            del standing[row["_index"]]
    return [row for row in standing.values() if row.get("_tags") is not None]


def _counted_marks(engine: Engine, logs: Mapping[str, Log], extent: Extent) -> list[tuple[str, int]]:
    return list(Counter(row["_tags"] for row in _tagged_tuples(engine, logs[extent.name])).items())


def _merged(spark: object, storage: Storage, merges: Sequence[Merge]) -> list[int]:
    return [merge.run(storage) for merge in merges]


@contextmanager
def kernels_alone(
    policy: Callable[[], Policy | None] = lambda: None, corrections: Callable[[], Corrections] = Corrections
) -> Iterator[None]:
    """Engines that are made inside start no Spark. A stage that the kernel does not take fails.

    With a `policy`, databases have lanes, whose steps are done where they would be started. `corrections` decide for
    queries that leave it to them how they are corrected.
    """
    with ExitStack() as stack:
        for starting in ("eddyline.spark.engine", "eddyline.database.opening"):
            stack.enter_context(patch(f"{starting}.start_session", lambda *given, **named: None))
        stack.enter_context(patch("eddyline.spark.engine.register", lambda *given: None))
        stack.enter_context(patch("eddyline.spark.batch_work.run", lambda spark, works: list(done(works))))
        stack.enter_context(patch("eddyline.spark.batch_work.planned", _refused))
        stack.enter_context(patch("eddyline.spark.revising._made", _taken_back))
        stack.enter_context(patch("eddyline.spark.tags.report.counted_marks", _counted_marks))
        stack.enter_context(patch("eddyline.spark.engine.run_merges", _merged))
        stack.enter_context(patch("eddyline.spark.engine.Lanes", LanesInTurn))
        stack.enter_context(patch("eddyline.database.core.Policy", policy))
        stack.enter_context(patch("eddyline.spark.executor.Corrections", corrections))
        stack.enter_context(patch("eddyline.log.storage._sync", lambda path: None))
        stack.enter_context(patch.object(Engine, "start", lambda engine: None))
        stack.enter_context(patch.object(Engine, "flush", _flush))
        yield
