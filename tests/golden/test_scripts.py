"""Every golden script on every engine: the exact answers row by row, and what they fold to for other batches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eddyline.errors import EddylineError
from golden.compare import operators, same_fold, same_sequence
from golden.engines import Run, run_script
from golden.script_file import ExpectedAnswers, Script, all_scripts, read_script
from golden.without_spark import needs_spark
from laws.without_spark import kernels_alone

BATCHES = (2, 3, 7, 1000)
#: on Spark a batch costs half a second
SPARK_BATCHES = (4, *(pytest.param(rows, marks=pytest.mark.long) for rows in (1, 3, 1000)))

Comparison = Callable[[str, ExpectedAnswers, Run], str | None]


def _scripts(wanted: Callable[[Script], bool]) -> list[object]:
    found = [read_script(path) for path in all_scripts()]
    return [pytest.param(script, id=script.name) for script in found if wanted(script)]


RUNNING = _scripts(lambda script: script.error is None)
FAILING = _scripts(lambda script: script.error is not None)
EXPLAINED = _scripts(lambda script: bool(script.algebra))


def _compare(script: Script, run: Run, compare: Comparison) -> None:
    problems = []
    for query in {**script.answers, **run.lines}:
        expected = script.answers.get(query)
        if expected is None:
            lines = "\n".join(f"  got      {line}" for line in run.lines[query])
            problems.append(f"{query}: the script says nothing about it, but it answered\n{lines}")
        elif problem := compare(query, expected, run):
            problems.append(problem)
    if problems:
        pytest.fail("\n".join((f"{script.path}", *problems)), pytrace=False)


def _run(engine: str, script: Script, folder: Path, batch_rows: int) -> Run:
    try:
        return run_script(engine, script, folder, batch_rows)
    except EddylineError as problem:
        pytest.fail(f"{script.path}\n{problem.render(script.sql)}", pytrace=False)


@pytest.mark.parametrize("script", RUNNING)
def test_answers(script: Script, tmp_path: Path) -> None:
    """Row by row there is one right order of answers; other engines and batches must fold to the same."""
    run = _run("reference", script, tmp_path, 1)

    def compare(query: str, expected: ExpectedAnswers, run: Run) -> str | None:
        return same_sequence(query, expected.lines, run.lines.get(query, []), expected.unordered)

    _compare(script, run, compare)
    _check_rejects(script, run)
    for part in script.warnings or ():
        assert any(part.lower() in warning.lower() for warning in run.warnings), f"no warning says {part!r}"


@pytest.mark.parametrize("batch_rows", BATCHES)
@pytest.mark.parametrize("script", RUNNING)
def test_batches_do_not_matter(script: Script, tmp_path: Path, batch_rows: int) -> None:
    _check_fold("reference", script, tmp_path, batch_rows)


@pytest.mark.parametrize("batch_rows", SPARK_BATCHES)
@pytest.mark.parametrize("script", RUNNING)
def test_spark_agrees(spark: object, script: Script, tmp_path: Path, batch_rows: int) -> None:
    _check_fold("spark", script, tmp_path, batch_rows)


@pytest.mark.parametrize("batch_rows", SPARK_BATCHES)
@pytest.mark.parametrize("script", RUNNING)
def test_sparks_own_plans_agree(
    spark: object, script: Script, tmp_path: Path, batch_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDDYLINE_KERNELS", "off")
    _check_fold("spark", script, tmp_path, batch_rows)


@pytest.mark.parametrize("script", _scripts(lambda script: script.error is None and not needs_spark(script)))
def test_members_of_query_classes_agree(script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every query in a class, as far as it can be."""
    monkeypatch.setenv("EDDYLINE_SHARE_FROM", "1")
    with kernels_alone():
        _check_fold("spark", script, tmp_path, 4)


@pytest.mark.parametrize("script", _scripts(lambda script: script.error is None and needs_spark(script)))
def test_members_of_query_classes_agree_on_spark(
    spark: object, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDDYLINE_SHARE_FROM", "1")
    _check_fold("spark", script, tmp_path, 4)


def _check_fold(engine: str, script: Script, folder: Path, batch_rows: int) -> None:
    run = _run(engine, script, folder, batch_rows)

    def compare(query: str, expected: ExpectedAnswers, run: Run) -> str | None:
        return same_fold(query, expected.lines, run.lines.get(query, []))

    _compare(script, run, compare)
    _check_rejects(script, run)


@pytest.mark.parametrize("script", EXPLAINED)
def test_algebra(script: Script, tmp_path: Path) -> None:
    for query, expected in script.algebra.items():
        run = run_script("reference", script, tmp_path, more_sql=f"\nEXPLAIN ALGEBRA {query};\n")
        assert run.texts, f"EXPLAIN ALGEBRA {query} printed nothing"
        assert operators(run.texts[-1]) == operators(expected), f"{script.path}: {query}\n{run.texts[-1]}"


@pytest.mark.parametrize("script", FAILING)
def test_error(engine: str, script: Script, tmp_path: Path) -> None:
    expected = script.error
    assert expected is not None
    with pytest.raises(EddylineError) as caught:
        run_script(engine, script, tmp_path)
    error = caught.value
    rendered = error.render(script.sql)
    assert error.code == expected.code, rendered
    assert expected.sqlstate in (None, error.sqlstate), rendered
    for part in expected.parts:
        assert part.lower() in f"{error.message} {error.hint or ''}".lower(), rendered
    if expected.line is not None:
        assert error.position is not None, f"no position: {rendered}"
        line, column = error.position.line_and_column(script.sql)
        assert line == expected.line, rendered
        if expected.columns is not None:
            assert expected.columns[0] <= column <= expected.columns[1], rendered


def _check_rejects(script: Script, run: Run) -> None:
    # in one batch the streams are looked at one after the other
    rejects, wanted = (
        sorted(found, key=lambda reject: Path(reject.file).name) for found in (run.rejects, script.rejects)
    )
    actual = [f"{Path(reject.file).name}:{reject.line}: {reject.reason}" for reject in rejects]
    expected = [str(reject) for reject in wanted]
    fits = len(actual) == len(expected) and all(
        Path(reject.file).name == want.file
        and reject.line == want.line
        and want.reason.lower() in reject.reason.lower()
        for reject, want in zip(rejects, wanted, strict=True)
    )
    if not fits:
        shown = [
            "rejected rows",
            *(f"  expected {line}" for line in expected),
            *(f"  got      {line}" for line in actual),
        ]
        pytest.fail("\n".join((str(script.path), *shown)), pytrace=False)
