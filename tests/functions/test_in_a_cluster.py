"""Functions travel to executors that are processes of their own, also those of a query in a lane."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import eddyline


def test_functions_and_lanes_on_other_processes() -> None:
    program = Path(__file__).with_name("in_a_cluster.py")
    done = subprocess.run(
        [sys.executable, str(program), "local-cluster[2,1,1024]"],
        env={**os.environ, "PYTHONPATH": str(Path(eddyline.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told == {"slow": [4, 6, 8, 10], "cheap": [0, 1, 2, 3, 4, 5], "lanes": ["slow"]}
