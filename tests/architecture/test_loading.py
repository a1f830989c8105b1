"""What processes load that somebody waits for."""

from __future__ import annotations

import subprocess
import sys


def test_the_source_that_spark_starts_loads_little() -> None:
    """Spark's first batch waits until a few processes have loaded it, one after the other."""
    code = "import sys, eddyline.spark.source; print(*(name for name in sys.modules if name.startswith('eddyline.')))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    packages = {name.split(".")[1] for name in said}
    assert packages == {"errors", "log", "spark"}
    assert "eddyline.log.storage" not in said
