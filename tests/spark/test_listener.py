"""What Spark and its workers say on stderr is passed on, but for connections that were cut off on purpose."""

from __future__ import annotations

from eddyline.spark.java import without_cut_connections

CUT = """PySpark daemon failed to flush the output to the worker process:
Traceback (most recent call last):
  File "daemon.py", line 95, in worker
    outfile.flush()
BrokenPipeError: [Errno 32] Broken pipe

"""
CHAINED = """PySpark daemon failed to flush the output to the worker process:
Traceback (most recent call last):
  File "worker.py", line 9, in main
ConnectionResetError: [Errno 104] Connection reset by peer

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "daemon.py", line 95, in worker
BrokenPipeError: [Errno 32] Broken pipe

"""
OTHER = CUT.replace("BrokenPipeError: [Errno 32] Broken pipe", "OSError: [Errno 28] No space left on device")
#: the worker's own process tells of it without a word before
BARE = """Traceback (most recent call last):
  File "/lib/pyspark/daemon.py", line 264, in manager
    code = worker(sock, authenticated)
BrokenPipeError: [Errno 32] Broken pipe
"""
OF_A_USER = """Traceback (most recent call last):
  File "mine.py", line 3, in f
BrokenPipeError: [Errno 32] Broken pipe
"""
PLAIN = "spark: ERROR something\nBrokenPipeError: of a user\n"


def told(text: str) -> str:
    return "".join(without_cut_connections(text.splitlines(keepends=True)))


def test_connections_that_were_cut_off_are_no_news() -> None:
    assert told(PLAIN + CUT + CHAINED + BARE + CUT + BARE + PLAIN) == PLAIN + PLAIN


def test_two_that_are_cut_off_at_once_are_no_news() -> None:
    mixed = [line for two in zip(CUT.splitlines(True), CUT.splitlines(True), strict=True) for line in two]
    assert told(PLAIN + "".join(mixed) + PLAIN) == PLAIN + PLAIN


def test_everything_else_is_passed_on() -> None:
    assert told(PLAIN) == PLAIN
    assert told(OTHER + PLAIN) == OTHER + PLAIN
    assert told(CUT + OF_A_USER) == OF_A_USER
    assert told(BARE + PLAIN + OF_A_USER) == PLAIN + OF_A_USER
