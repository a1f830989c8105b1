"""What Spark's Python workers are forked from."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_loading_the_kernel_starts_no_thread() -> None:
    """A fork takes the locks of other threads along, but not the threads that would release them."""
    program = "import eddyline.spark.daemon, os; print(len(os.listdir('/proc/self/task')))"
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout.strip() == b"1"
