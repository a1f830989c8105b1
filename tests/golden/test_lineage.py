"""Whatever a script asks, its corrections can be asked about, and what caused them was revised."""

from __future__ import annotations

from pathlib import Path

import pytest

from eddyline.algebra.answer import WindowAnswer
from eddyline.algebra.revision_report import OF_QUERY, OF_STREAM
from eddyline.session import Session
from golden.script_file import Script, all_scripts, read_script

SCRIPTS = [script for script in map(read_script, all_scripts()) if script.error is None and "DROP" not in script.sql]


@pytest.mark.parametrize("script", [pytest.param(script, id=script.name) for script in SCRIPTS])
def test_causes_are_revisions(script: Script, tmp_path: Path) -> None:
    for name, text in script.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    session = Session(script.sql, tmp_path)
    streams = [extent.name for extent in session._catalog.extents.values() if extent.is_stream]
    asked = [*streams, *(name for name in session.queries if session._catalog.query(name) is not None)]
    more = "".join(f"\nSHOW REVISIONS OF {name};" for name in asked)
    told = [
        answer.rows
        for answer in Session(f"{script.sql}{more}\nSHOW REVISIONS;", tmp_path).answers()
        if isinstance(answer, WindowAnswer) and answer.query.startswith("revisions")
    ][-len(asked) - 1 :]
    at, index = OF_STREAM.index("at"), OF_STREAM.index("index")
    revised = {(name, row[at], row[index]) for name, rows in zip(streams, told, strict=False) for row in rows}
    stream, at, index = (OF_QUERY.index(name) for name in ("stream", "at", "index"))
    causes = {(row[stream], row[at], row[index]) for rows in told[len(streams) : -1] for row in rows}
    assert causes <= revised
