"""Answers that are rows of a stream as they are, as a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from eddyline.algebra.marks import KIND, MARKS
from eddyline.log.linked import TAGS_SUFFIX, TUPLE, Linked
from eddyline.log.segment import BATCH, INDEX
from eddyline.log.storage import Storage
from eddyline.spark.literal import back_quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: the name of the file that a row is of
_FILE = "$file"
#: the batch of a row, as SQL, by the name of its file
BATCH_IN_NAME = "CAST(substring(_metadata.file_name, 1, 12) AS BIGINT)"
#: the types of the columns that are in no file of rows
OURS = {BATCH: "BIGINT", MARKS: "STRING", KIND: "STRING"}


def linked_rows(
    spark: SparkSession,
    storage: Storage,
    segments: Sequence[Linked],
    fields: Mapping[str, str],
    batch: str = BATCH_IN_NAME,
) -> DataFrame:
    """The rows of segments, with these columns and types."""
    some = [segment for segment in segments if segment.some and MARKS in fields]
    others = [segment for segment in segments if not (segment.some and MARKS in fields)]
    parts = [_with_tags(spark, storage, some, fields, batch)] if some else []
    parts += [_answers(spark, storage, others, list(fields), fields, batch)] if others else []
    return reduce(lambda one, other: one.unionAll(other), parts)


def _with_tags(
    spark: SparkSession, storage: Storage, segments: Sequence[Linked], fields: Mapping[str, str], batch: str
) -> DataFrame:
    needed = dict.fromkeys([INDEX, *(name for name in fields if name != MARKS), _FILE])
    rows = _answers(spark, storage, segments, list(needed), {INDEX: "BIGINT", **fields}, batch)
    tags = spark.read.schema(f"{INDEX} BIGINT, {back_quoted(MARKS)} STRING").parquet(
        *(storage.url(segment.tags) for segment in segments)
    )
    name = f"substring(_metadata.file_name, 1, length(_metadata.file_name) - {len(TAGS_SUFFIX)})"
    named = tags.selectExpr(INDEX, back_quoted(MARKS), f"{name} AS {back_quoted(_FILE)}")
    return rows.join(named, [INDEX, _FILE], "left").select(*map(back_quoted, fields))


def _answers(
    spark: SparkSession,
    storage: Storage,
    segments: Sequence[Linked],
    names: Sequence[str],
    fields: Mapping[str, str],
    batch: str,
) -> DataFrame:
    """Columns of the files' rows, and what the files' names say of them; without tags."""
    ours = {BATCH: batch, KIND: f"'{TUPLE}'", MARKS: "CAST(NULL AS STRING)", _FILE: "_metadata.file_name"}
    ddl = ", ".join(f"{back_quoted(name)} {type_}" for name, type_ in fields.items() if name not in ours)
    rows = spark.read.schema(ddl).parquet(*(storage.url(segment.path) for segment in segments))
    return rows.selectExpr(
        *(f"{ours[name]} AS {back_quoted(name)}" if name in ours else back_quoted(name) for name in names)
    )
