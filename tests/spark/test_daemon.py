"""What Spark's Python workers are forked from."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_loading_the_kernel_starts_no_thread() -> None:
    """A fork takes the locks of other threads along, but not the threads that would release them."""
    names = "[open(f'/proc/self/task/{t}/comm').read().strip() for t in os.listdir('/proc/self/task')]"
    program = f"import eddyline.spark.daemon, os; print(*{names})"
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert len([name for name in told if not name.startswith("jemalloc")]) == 1, told
