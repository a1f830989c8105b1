"""The process that Spark's Python workers are forked from, with what they need already loaded.

A worker that is forked from Spark's own imports Arrow and the kernel for half a second before its first task. A fork
takes no threads along, so none may be there but that of Arrow's memory allocator, which knows how to be forked (a test
looks). And when Spark ends before a worker, that one would tell everybody in a traceback.
"""

from __future__ import annotations

import os
import socket

from pyspark import daemon

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # or numpy would start threads; a task has one core anyway

import eddyline.kernels.task  # noqa: F401

_spark_worker = daemon.worker


def _worker(sock: socket.socket, authenticated: bool) -> int:
    try:
        return _spark_worker(sock, authenticated)
    except BrokenPipeError:
        return 0  # there is nobody left to work for


if __name__ == "__main__":
    daemon.worker = _worker
    daemon.manager()
