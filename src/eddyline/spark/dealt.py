"""Answers that are written once for all members who get them, as a DataFrame with a row for each of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from eddyline.log.answers import with_batch
from eddyline.log.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: rows that a task hands to Spark at a time
_ROWS = 65_536


def dealt_out(spark: SparkSession, storage: Storage, paths: Sequence[str], late: Mapping[str, int]) -> DataFrame:
    """The rows of segments; those of a path that is `late` count as of that batch."""
    from pyspark.sql.pandas.types import from_arrow_schema

    files = spark.createDataFrame([(path,) for path in paths], "path STRING").repartition(len(paths))
    schema = from_arrow_schema(storage.read_dealt(paths[0]).table(first=0, end=0).schema)
    return files.mapInArrow(partial(_opened, storage.root, late), schema)


def _opened(root: str, late: Mapping[str, int], files: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a worker: it opens the segments itself."""
    storage = Storage(root)
    for paths in files:
        for path in paths.column(0).to_pylist():
            table = storage.read_dealt(path).table()
            table = table if path not in late else with_batch(table, late[path])
            yield from table.to_batches(_ROWS)
