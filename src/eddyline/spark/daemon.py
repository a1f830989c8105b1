"""The process that Spark's Python workers are forked from, with what they need already loaded.

A worker that is forked from Spark's own imports Arrow and the kernel for half a second before its first task. None of
them starts a thread when it is imported, which a fork would not take along (a test looks). And when Spark ends before a
worker, that one would tell everybody in a traceback.
"""

from __future__ import annotations

import socket

from pyspark import daemon

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
