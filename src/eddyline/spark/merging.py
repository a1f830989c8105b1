"""Merging small segments in Spark tasks: the driver says which, workers read and write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from eddyline.log.merging import Merge
from eddyline.log.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: most of a task is its start, and there may be thousands of small logs
_TASKS = 64


def run_merges(spark: SparkSession, storage: Storage, merges: Sequence[Merge]) -> list[int]:
    """Run merges, each in a task; gives the sizes of the files they wrote, in the same order."""
    root = storage.root

    def work(some: Iterable[Merge]) -> Iterator[int]:
        target = Storage(root)
        return (merge.run(target) for merge in some)

    slices = min(len(merges), _TASKS)
    return spark.sparkContext.parallelize(list(merges), slices).mapPartitions(work).collect()
