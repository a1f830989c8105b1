"""Spark's plan for what a micro-batch writes, made to suit the amount of data."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: below that many rows to read, the fixed costs of a batch outweigh the work
SMALL = 50_000
#: settings belong to the session, which a batch and an EXPLAIN share
_PLANNING = threading.Lock()


def planned(spark: SparkSession, frames: Sequence[DataFrame], rows: int, partitions: str) -> DataFrame:
    """All outputs as one frame, whose plan is made here; `rows` is how many it reads, `partitions` how many are usual.

    Little data is quicker in one partition and interpreted: compiling a plan takes longer than running it once.
    """
    small = rows < SMALL
    frame = _union([frame.coalesce(1) for frame in frames] if small else frames)
    with _PLANNING:
        spark.conf.set("spark.sql.shuffle.partitions", "1" if small else partitions)
        spark.conf.set("spark.sql.codegen.wholeStage", "false" if small else "true")
        frame._jdf.queryExecution().executedPlan()  # from here on the settings do not matter
    return frame


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    """All outputs in one plan, as a balanced tree: a chain of a thousand unions would overflow Spark's stack."""
    while len(frames) > 1:
        pairs = [frames[i : i + 2] for i in range(0, len(frames), 2)]
        frames = [pair[0] if len(pair) == 1 else pair[0].unionAll(pair[1]) for pair in pairs]
    return frames[0]
