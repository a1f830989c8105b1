"""The golden scripts of tags in the kernels of the Spark engine, without Spark: many cuts into batches can be seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.compare import same_fold
from golden.engines import Run, run_script
from golden.script_file import ExpectedAnswers, Script
from golden.test_scripts import _check_rejects, _compare, _scripts
from golden.without_spark import needs_spark
from laws.without_spark import kernels_alone

SCRIPTS = _scripts(lambda script: script.error is None and script.name.startswith("tags/") and not needs_spark(script))


@pytest.mark.parametrize("batch_rows", [1, 3, 1000])
@pytest.mark.parametrize("script", SCRIPTS)
def test_what_answers_fold_to(script: Script, tmp_path: Path, batch_rows: int) -> None:
    with kernels_alone():
        run = run_script("spark", script, tmp_path, batch_rows)

    def compare(query: str, expected: ExpectedAnswers, run: Run) -> str | None:
        return same_fold(query, expected.lines, run.lines.get(query, []))

    _compare(script, run, compare)
    _check_rejects(script, run)
