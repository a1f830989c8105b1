"""The process that Spark's Python workers are forked from, with what they need already loaded.

A worker that is forked from Spark's own imports Arrow and the kernel for half a second before its first task.
"""

from __future__ import annotations

from pyspark.daemon import manager

import eddyline.kernels.task  # noqa: F401

if __name__ == "__main__":
    manager()
