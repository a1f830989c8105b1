"""Running a script on an engine and collecting all it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eddyline.algebra.answer import Answer, TextAnswer
from golden.notation import Line, line_of
from golden.script_file import Script

ENGINES = ("reference", "spark")


@dataclass
class Run:
    """What one run of a script said: the answers of each query in order, texts, rejected rows and warnings."""

    lines: dict[str, list[Line]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    rejects: list[Any] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def _reference(sql: str, base: Path, batch_rows: int, run: Run) -> Any:
    from eddyline.session import Session

    return Session(
        sql,
        base,
        batch_rows=batch_rows,
        on_reject=run.rejects.append,
        on_warning=lambda *words: run.warnings.append(" ".join(map(str, words))),
    )


def _spark(sql: str, base: Path, batch_rows: int, run: Run) -> Any:
    from eddyline.session.spark_run import SparkRun

    return SparkRun(
        sql,
        base,
        batch_rows=batch_rows,
        on_reject=run.rejects.append,
        on_warning=lambda *words: run.warnings.append(" ".join(map(str, words))),
    )


_SESSIONS: dict[str, Callable[[str, Path, int, Run], Any]] = {"reference": _reference, "spark": _spark}


def run_script(engine: str, script: Script, folder: Path, batch_rows: int = 1, more_sql: str = "") -> Run:
    """Writes the script's files into the folder, runs its SQL (and `more_sql` behind it) there to the end."""
    for name, text in script.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    run = Run()
    session = _SESSIONS[engine](script.sql + more_sql, folder, batch_rows, run)
    for answer in session.answers():
        _collect(answer, session, script, run)
    return run


def _collect(answer: Answer, session: Any, script: Script, run: Run) -> None:
    if isinstance(answer, TextAnswer):
        run.texts.append(answer.text)
        return
    expected = script.answers.get(answer.query)
    columns = session.queries[answer.query]
    line = line_of(answer, columns, expected.tag_fields if expected else ())
    run.lines.setdefault(answer.query, []).append(line)
