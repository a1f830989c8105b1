"""Spark's plan for what a micro-batch writes, made to suit the amount of data."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: below that many rows to read, the fixed costs of a batch outweigh the work
SMALL = 50_000
#: settings belong to the session, which a batch and an EXPLAIN share
_PLANNING = threading.Lock()


#: little data is quicker in one partition and interpreted: compiling a plan takes longer than running it once
_FOR_LITTLE = {"spark.sql.shuffle.partitions": "1", "spark.sql.codegen.wholeStage": "false"}


def planned(spark: SparkSession, frames: Sequence[DataFrame], rows: int) -> DataFrame:
    """All outputs as one frame, whose plan is made here; `rows` is how many it reads."""
    small = rows < SMALL
    frame = _union([frame.coalesce(1) for frame in frames] if small else frames)
    with _PLANNING, _settings(spark, _FOR_LITTLE if small else {}):
        frame._jdf.queryExecution().executedPlan()  # from here on the settings do not matter
    return frame


@contextmanager
def _settings(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Other settings for a moment: the session is also the user's, and that of the next database."""
    before = {key: spark.conf.get(key) for key in wanted}
    try:
        for key, value in wanted.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, usual in before.items():
            spark.conf.set(key, str(usual))


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    """All outputs in one plan, as a balanced tree: a chain of a thousand unions would overflow Spark's stack."""
    while len(frames) > 1:
        pairs = [frames[i : i + 2] for i in range(0, len(frames), 2)]
        frames = [pair[0] if len(pair) == 1 else pair[0].unionAll(pair[1]) for pair in pairs]
    return frames[0]
