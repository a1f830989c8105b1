"""Every benchmark runs from start to end on little data: what nobody runs for weeks breaks unseen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: the module, how to make it short, and whether it draws and so takes a folder for what it writes
BENCHMARKS = [
    ("bench.eddy", ["--tuples", "20000", "--repeat", "1"], True),
    ("bench.grouped_filter", ["--tuples", "2000", "--most", "10"], False),
    (
        "bench.one_filter",
        ["--classes", "3", "--members", "10", "--rows", "2000", "--batches", "1", "--answers", "1"],
        False,
    ),
    ("bench.shapes", ["--queries", "8", "--pushes", "2"], False),
]
#: those that start Spark several times
LONG = [
    (
        "bench.many",
        ["--rows", "2000", "--sizes", "2", "--only", "range", "--sides", "eddyline,join", "--repeat", "1"],
        True,
    ),
    (
        "bench.revisions",
        [
            "--windows",
            "10",
            "--shares",
            "0,0.5",
            "--only",
            "sum,sliding",
            "--history",
            "2000",
            "--rows",
            "100",
            "--settle",
            "1",
            "--batches",
            "2",
            "--plain",
            "2000",
        ],
        True,
    ),
    (
        "bench.tags",
        [
            "--shares",
            "40",
            "--only",
            "tagger,join",
            "--rows",
            "1000",
            "--settle",
            "0",
            "--batches",
            "1",
            "--peaks",
            "",
        ],
        True,
    ),
    ("bench.run", ["--rows", "2000", "--only", "filter", "--repeat", "1", "--no-latency", "--no-scale"], True),
]
ALL = [
    *(pytest.param(*each, id=each[0]) for each in BENCHMARKS),
    *(pytest.param(*each, id=each[0], marks=pytest.mark.long) for each in LONG),
]


@pytest.mark.parametrize(("module", "options", "writes"), ALL)
def test_it_runs(module: str, options: list[str], writes: bool, tmp_path: Path) -> None:
    if writes:
        pytest.importorskip("matplotlib")  # `make bench` installs it
        options = [*options, "--out", str(tmp_path / "results")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", module, *options], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout
    if writes:
        assert {path.suffix for path in (tmp_path / "results").iterdir()} == {".json", ".png"}
