"""The Spark engine without Spark: its executor and kernels in this process, one micro-batch after the other.

What Spark does is done here by hand: it writes down how far a batch goes, has it processed, and commits it. So the laws
can look at many more runs than a streaming query could start.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from eddyline.algebra.tag import Tagger
from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.kernels.task import done
from eddyline.log.borne import borne, listed
from eddyline.log.merging import Merge
from eddyline.log.said import said_since
from eddyline.log.statements import Made, Statement, made_by_task
from eddyline.log.storage import Storage
from eddyline.reference.element import Row, Stamped
from eddyline.reference.tag import Making
from eddyline.session.tag_conditions import condition
from eddyline.spark.correcting import Corrections
from eddyline.spark.engine import Engine
from eddyline.spark.evaluate.batch import Log, columns_of
from eddyline.spark.fairness import Policy
from eddyline.spark.lanes import Lane, Lanes, Step
from eddyline.spark.lookups.asking import Lookups
from eddyline.spark.revising import Revision
from eddyline.spark.tags.report import line_of

#: of a tuple, what tells of its tags
_BEARING = pa.schema([("_index", pa.int64()), ("_tags", pa.string()), ("_tag_places", pa.string())])


class LanesInTurn(Lanes):
    """Lanes without threads: a step is done where it would be started."""

    def _run(self, lane: Lane, step: Step) -> None:
        self._at_work(lane, step)

    def want_a_batch(self) -> None:
        self._have_a_batch()


class LookupsInTurn(Lookups):
    """Look-ups without threads: all that is due is done when somebody is told that something has changed."""

    def _poke(self) -> None:
        while True:
            jobs, _ = self._due()
            if not jobs:
                return
            for job in jobs:
                self._at(job)


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
    marks = [pa.array([row[name] for row in rows], pa.string()) for name in ("_tags", "_tag_places")]
    table = pa.table(
        [index, tick, *values, *marks], ["_index", "_tick", *columns_of(len(names)), "_tags", "_tag_places"]
    )
    if revision.where is not None and table.num_rows:
        table = table.filter(pa.array(condition(revision.where, revision.schema)(given)))
    return list(made_by_task(table.sort_by("_index").to_batches(), statement))


def _tagged_tuples(engine: Engine, log: Log) -> list[dict[str, Any]]:
    """The tuples of a stream that stand and carry tags."""
    return [row for row in _standing_tuples(engine, log) if row.get("_tags") is not None]


def _standing_tuples(engine: Engine, log: Log) -> list[dict[str, Any]]:
    standing: dict[int, dict[str, Any]] = {}
    for row in _rows(engine, log):
        if row["_diff"] > 0:
            standing[row["_index"]] = row
        elif row["_diff"] < 0:
            del standing[row["_index"]]
    return list(standing.values())


def _rows(engine: Engine, log: Log) -> list[dict[str, Any]]:
    segments = [segment for segment in log.segments if not segment.only_tags]
    found = [row for segment in segments for row in engine.storage.read_table(segment.path).to_pylist()]
    return sorted(found, key=lambda row: row["_seq"])


def _counted_lines(
    engine: Engine,
    logs: Mapping[str, Log],
    extent: Extent,
    taggers: Sequence[Tagger],
    taken: Any,
    active: Mapping[int, str],
) -> dict[str, tuple[int, int, int]]:
    """As the reference engine asks conditions."""
    making, made, rows = Making(extent.name), [f"m{n}" for n in range(len(taggers))], []
    for row in _standing_tuples(engine, logs[extent.name]):
        stamped = Stamped(row["_tick"], Row(tuple(row[name] for name in extent.schema.names)))
        for name, each in zip(made, taggers, strict=True):
            row[name] = making.mark(each, row["_index"], stamped) is not None
        rows.append(row)
    schema = pa.schema([*_BEARING, *((name, pa.bool_()) for name in made)])
    lines = [(name, line_of(tagger, extent)) for name, tagger in zip(made, taggers, strict=True)]
    carried = borne(pa.Table.from_pylist(rows, schema), lines, extent.schema.names)
    told = _told(engine, extent, taken)
    found: dict[str, tuple[set[int], set[int], set[int]]] = {}
    for each in carried.to_pylist():
        tags, _, tuples = found.setdefault(told.get(each["number"], each["line"]), (set(), set(), set()))
        tags.add(each["number"])
        tuples.add(each["_index"])
    for number, line in active.items():
        for some in found.setdefault(told.get(number, line), (set(), set(), set()))[:2]:
            some.add(number)
    return {line: (len(tags), len(still), len(tuples)) for line, (tags, still, tuples) in found.items()}


def _idle_lines(engine: Engine, log: Log, extent: Extent, taken: Any) -> list[str]:
    rows = [row for row in _rows(engine, log) if row["_diff"] and row.get("_tags") is not None]
    ever = borne(pa.Table.from_pylist(rows, _BEARING), (), extent.schema.names).column("number").to_pylist()
    return [line for number, line in _told(engine, extent, taken).items() if number not in set(ever)]


def _told(engine: Engine, extent: Extent, taken: Any) -> dict[int, str]:
    """By number, where the tags of a stream are listed."""
    parts = said_since(engine.storage, engine.journal.state(extent.name), taken)
    rows = [row for part in parts for row in listed(part, extent.schema.names).to_pylist()]
    return {row["number"]: row["line"] for row in rows}


def _merged(spark: object, storage: Storage, merges: Sequence[Merge]) -> list[int]:
    return [merge.run(storage) for merge in merges]


@contextmanager
def kernels_alone(
    policy: Callable[[], Policy | None] = lambda: None,
    corrections: Callable[[], Corrections] = Corrections,
    lookups: Callable[..., Lookups] = LookupsInTurn,
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
        stack.enter_context(patch("eddyline.spark.tags.report.counted_lines", _counted_lines))
        stack.enter_context(patch("eddyline.spark.tags.report.idle_lines", _idle_lines))
        stack.enter_context(patch("eddyline.spark.engine.run_merges", _merged))
        stack.enter_context(patch("eddyline.spark.engine.Lanes", LanesInTurn))
        stack.enter_context(patch("eddyline.spark.engine.Lookups", lookups))
        stack.enter_context(patch("eddyline.database.core.Policy", policy))
        stack.enter_context(patch("eddyline.spark.executor.Corrections", corrections))
        stack.enter_context(patch("eddyline.log.storage._sync", lambda path: None))
        stack.enter_context(patch.object(Engine, "start", lambda engine: None))
        stack.enter_context(patch.object(Engine, "flush", _flush))
        yield
