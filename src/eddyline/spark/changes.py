"""What a stage has said, as a DataFrame of changes; answers that are written once come for everybody who gets them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from eddyline.algebra.marks import MARKS
from eddyline.log.answers import QUERY, Reading, Seat, committed_late, with_batch
from eddyline.log.dealt import is_dealt
from eddyline.log.linked import linked
from eddyline.log.segment import BATCH, DIFF, TICK, Segment
from eddyline.log.storage import Storage, is_own
from eddyline.spark.evaluate.linked import BATCH_IN_NAME, OURS, linked_rows
from eddyline.spark.expression import spark_type
from eddyline.spark.literal import back_quoted
from eddyline.spark.stages import Stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: rows that a task hands to Spark at a time
_ROWS = 65_536


def changes_of(
    spark: SparkSession,
    storage: Storage,
    stage: Stage,
    segments: Sequence[Segment],
    since: int = -1,
    reading: Reading | None = None,
) -> DataFrame:
    """The rows of a stage's result segments as they are: every change after a cursor with its `_diff`.

    Of a member of a query class they are its own, with a column of tags if it shows any; windows are numbered by the
    ticks since the class began.
    """
    seat = None if reading is None else reading.seat
    not_its = () if reading is None or reading.with_tags else (MARKS,)
    if segments:
        frame = _rows(spark, storage, segments, seat).where(f"{BATCH} > {since}")
        if seat is None:
            return frame
        begun = "true" if seat.begin is None else f"{TICK} >= {seat.begin}"
        return frame.where(f"{QUERY} = {seat.number} AND {begun}").drop(QUERY, *not_its)
    fields = [f"{TICK} BIGINT", f"{DIFF} TINYINT"]
    fields += [
        f"{back_quoted(n)} {spark_type(f.type)}"
        for n, f in zip(stage.columns, stage.schema.fields, strict=True)
        if seat is None or n not in (QUERY, *not_its)
    ]
    return spark.createDataFrame([], ", ".join(fields))


def _rows(spark: SparkSession, storage: Storage, segments: Sequence[Segment], seat: Seat | None) -> DataFrame:
    files = [segment for segment in segments if is_own(segment.path) and not is_dealt(segment.path)]
    dealt = [segment for segment in segments if is_dealt(segment.path)]
    same = [segment for segment in segments if linked(segment.path) is not None]
    # of a class in which some show tags now and then, some files have a column of these
    alike = [[segment for segment in files if segment.marked == marked] for marked in (True, False)]
    parts = [_of_files(spark, storage, some) for some in alike if some]
    parts += [_dealt_out(spark, storage, dealt, seat)] if dealt else []
    parts += [_as_they_came(spark, storage, same)] if same else []
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)


def _of_files(spark: SparkSession, storage: Storage, segments: Sequence[Segment]) -> DataFrame:
    """What lanes have written counts as of the batch that has committed it."""
    frame = spark.read.parquet(*(storage.url(segment.path) for segment in segments))
    right = _batch_of(segments, BATCH)
    if right == BATCH:
        return frame
    return frame.selectExpr(*(f"{right} AS {BATCH}" if name == BATCH else back_quoted(name) for name in frame.columns))


def _batch_of(segments: Sequence[Segment], told: str) -> str:
    """The batch of a row as SQL: that which has committed its file, if it is not the one that is told there."""
    late = {path.rpartition("/")[2]: batch for path, batch in _late(segments).items()}
    pairs = ", ".join(f"'{name}', {batch}L" for name, batch in late.items())
    return f"coalesce(try_element_at(map({pairs}), _metadata.file_name), {told})" if late else told


def _as_they_came(spark: SparkSession, storage: Storage, segments: Sequence[Segment]) -> DataFrame:
    """Rows of a stream that are answers; all have the same columns."""
    found = [same for segment in segments if (same := linked(segment.path)) is not None]
    in_file = spark.read.parquet(storage.url(found[0].path)).schema
    types = {field.name: field.dataType.simpleString() for field in in_file}
    fields = {name: types.get(name) or OURS[name] for name in found[0].names(list(types))}
    return linked_rows(spark, storage, found, fields, _batch_of(segments, BATCH_IN_NAME))


def _late(segments: Sequence[Segment]) -> dict[str, int]:
    return {segment.path: batch for segment in segments if (batch := committed_late(segment)) is not None}


def _dealt_out(spark: SparkSession, storage: Storage, segments: Sequence[Segment], seat: Seat | None) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    paths = [segment.path for segment in segments]
    files = spark.createDataFrame([(path,) for path in paths], "path STRING").repartition(len(paths))
    schema = from_arrow_schema(storage.read_dealt(paths[0]).table(first=0, end=0).schema)
    member = None if seat is None else seat.number
    return files.mapInArrow(partial(_opened, storage.root, member, _late(segments)), schema)


def _opened(
    root: str, member: int | None, late: Mapping[str, int], files: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Runs in a worker: it opens the segments itself, and puts together no more than the rows of a few members."""
    storage = Storage(root)
    for paths in files:
        for path in paths.column(0).to_pylist():
            for table in storage.read_dealt(path).tables(_ROWS, member):
                yield from (table if path not in late else with_batch(table, late[path])).to_batches(_ROWS)
