"""A stream that meets a table which is asked by key: tuples whose key is known go on, the others wait.

Who waits is in a log beside that of the stage, the rendezvous buffer: weight +1 when a tuple begins to wait, -1 when
its answer has come or when it was withdrawn. What is known of the table is the same for both logs in one batch.
"""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.remote import Remote, asks
from eddyline.algebra.stream import StreamLookup
from eddyline.columnar.looked_up import FOUND
from eddyline.log.answers import PLACE
from eddyline.log.results import StageResult
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.spark.evaluate.batch import Batch, columns_of
from eddyline.spark.evaluate.desired import Desired
from eddyline.spark.evaluate.frames import Frame, grouped, joined
from eddyline.spark.evaluate.product import predicate_sql
from eddyline.spark.evaluate.tuples import NET, changes, log_of
from eddyline.spark.evaluate.windows import T
from eddyline.spark.expression import names_of, spark_sql
from eddyline.spark.literal import back_quoted, spark_type
from eddyline.spark.lookups.answers import Answers
from eddyline.spark.spans import NOTHING, Spans
from eddyline.spark.stages import ASKED


@dataclass(frozen=True)
class Waiting:
    """Who waited before the batch, and which version of what is known had been looked at by then."""

    had: StageResult
    known: Answers

    @property
    def rows(self) -> int:
        return waiting_rows(self.had)

    @property
    def has_news(self) -> bool:
        return self.known.version != self.had.count

    @property
    def is_scattered(self) -> bool:
        """Whether most of its log is about tuples that wait no longer, so that it had better be written anew."""
        minus = sum(segment.minus for segment in self.had.segments)
        return minus > 0 and self.rows <= minus


def waiting_rows(result: StageResult) -> int:
    return sum(segment.rows - 2 * segment.minus for segment in result.segments)


def desired_asked(node: StreamLookup, batch: Batch) -> Desired | None:
    """The rows of the tuples that the batch brings and of those that waited, as far as their keys are known."""
    assert batch.waiting is not None
    probes = _probes(node, batch)
    if probes is None:
        return None
    width = len(node.schema)
    first, key = len(node.input.schema), f"c{len(node.input.schema)}"
    known = _known(node, batch).where(FOUND)
    table = known.selectExpr(*(f"c{i} AS c{i + first}" for i in range(len(node.table.schema))))
    fit = predicate_sql(node.predicate, node.schema, []) if node.predicate is not None else "true"
    made = joined(probes.where(f"{DIFF} > 0").drop(key), table, fit)
    rows = made.selectExpr(f"{INDEX} AS {PLACE}", f"{TICK} AS {T}", *columns_of(width))
    if not _is_revised(node, batch):
        return Desired(rows, (PLACE,), width, NOTHING, PLACE)
    again = Spans.of(segment.index for segment in log_of(node.input, batch).fresh if segment.minus)
    concerned = probes.selectExpr(f"{INDEX} AS {PLACE}").distinct()
    return Desired(rows, (PLACE,), width, again, PLACE, among=concerned)


def waiting_changes(node: StreamLookup, batch: Batch) -> Frame | None:
    """Who begins to wait, and who waits no longer: `_index`, `_tick`, `_diff` and c0, …, the last one is the key."""
    waiting = batch.waiting
    assert waiting is not None
    probes = _probes(node, batch)
    if probes is None:
        return None
    columns = [INDEX, TICK, *columns_of(len(node.input.schema) + 1)]
    key = columns[-1]
    assert isinstance(node.table, Remote)
    now = probes.where(f"{DIFF} > 0 AND {key} IS NOT NULL").selectExpr(*columns, f"1 AS {DIFF}")
    if waiting.known.whole:
        now = now.where("1 = 0")
    else:
        keys = _known(node, batch).selectExpr(f"c{node.table.key_position} AS {key}").distinct()
        now = now.join(keys, [key], "left_anti").selectExpr(*columns, DIFF)
    if not _looks_at_waiting(node, batch) or waiting.is_scattered:
        return now
    before = _who_waited(node, batch).selectExpr(*columns, f"-{DIFF} AS {DIFF}")
    return grouped(now.unionAll(before), columns, [NET]).where(f"{DIFF} <> 0")


def _probes(node: StreamLookup, batch: Batch) -> Frame | None:
    """Versions of tuples with weights, and their keys behind them; None if there is nothing to be looked at."""
    columns = columns_of(len(node.input.schema))
    names = names_of(node.input.schema, columns)
    kept = [INDEX, TICK, DIFF, *columns]
    parts = []
    if log_of(node.input, batch).fresh:
        asked = f"{spark_sql(asks(node), names)} AS c{len(columns)}"
        parts.append(changes(node.input, batch).selectExpr(*kept, asked))
    looks = _looks_at_waiting(node, batch)
    if looks:
        parts.append(_who_waited(node, batch).selectExpr(*kept, f"c{len(columns)}"))
    if not parts:
        return None
    both = parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])
    if not looks and not _is_revised(node, batch):
        return both
    return grouped(both, [INDEX, TICK, *columns, f"c{len(columns)}"], [NET]).where(f"{DIFF} <> 0")


def _looks_at_waiting(node: StreamLookup, batch: Batch) -> bool:
    """Whether those who waited can have got an answer, or can have been withdrawn."""
    waiting = batch.waiting
    assert waiting is not None
    return waiting.rows > 0 and (waiting.has_news or waiting.is_scattered or _is_revised(node, batch))


def _is_revised(node: StreamLookup, batch: Batch) -> bool:
    return any(segment.minus for segment in log_of(node.input, batch).fresh)


def _who_waited(node: StreamLookup, batch: Batch) -> Frame:
    assert batch.waiting is not None and isinstance(node.table, Remote)
    segments = batch.waiting.had.segments
    types = [*(field.type for field in node.input.schema.fields), node.table.key_column.type]
    own = {name: spark_type(type_) for name, type_ in zip(waiting_columns(node), types, strict=True)}
    fields = {INDEX: "BIGINT", TICK: "BIGINT", DIFF: "TINYINT", **own}
    columns = [INDEX, TICK, DIFF, *(f"{back_quoted(name)} AS c{i}" for i, name in enumerate(own))]
    batch.on_read(sum(segment.rows for segment in segments))
    return batch.frames.read([segment.path for segment in segments], fields, columns)


def waiting_columns(node: StreamLookup) -> tuple[str, ...]:
    return (*columns_of(len(node.input.schema)), ASKED)


def _known(node: StreamLookup, batch: Batch) -> Frame:
    assert batch.waiting is not None
    batch.on_read(batch.waiting.known.rows)
    return batch.waiting.known.frame(node.table.schema, batch.frames)
