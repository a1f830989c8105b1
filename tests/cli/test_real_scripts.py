"""The command line over the real session: what LANGUAGE.md fixes about running a script, byte for byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCHEMA = "CREATE STREAM s (a INTEGER, t INTEGER) TIMESTAMP BY t USING csv OPTIONS (path 's.csv');\n"


def eddyline(folder: Path, *arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "eddyline", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1", **more},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.csv").write_text("_op,_ref,a,t\n,,1,0\n,,2,60\n,,3,125\n=,2,5,60\n-,1,,\n,,9,100\n")
    return tmp_path


def test_jsonl_is_exactly_what_is_fixed(folder: Path) -> None:
    script = SCHEMA + "SELECT a FROM s WHERE a > 1;\nSELECT MIN(a) FROM s [FROM NOW-1 TO NOW SLIDE 1 MIN];\n"
    (folder / "x.sql").write_text(script)
    done = eddyline(folder, "run", "x.sql", "--format", "jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        '{"query": "q1", "tick": 60, "index": 2, "op": "+", "row": {"a": 2}}',
        '{"query": "q2", "tick": 0, "window": 1, "op": "+", "rows": [{"min(a)": 1}]}',
        '{"query": "q1", "tick": 125, "index": 3, "op": "+", "row": {"a": 3}}',
        '{"query": "q2", "tick": 60, "window": 2, "op": "+", "rows": [{"min(a)": 1}]}',
        '{"query": "q2", "tick": 120, "window": 3, "op": "+", "rows": [{"min(a)": 2}]}',
        '{"query": "q1", "tick": 60, "index": 2, "op": "=", "old": {"a": 2}, "row": {"a": 5}}',
        '{"query": "q2", "tick": 120, "window": 3, "op": "=", "old_rows": [{"min(a)": 2}], "rows": [{"min(a)": 5}]}',
        '{"query": "q2", "tick": 0, "window": 1, "op": "=", "old_rows": [{"min(a)": 1}], "rows": [{"min(a)": null}]}',
        '{"query": "q2", "tick": 60, "window": 2, "op": "=", "old_rows": [{"min(a)": 1}], "rows": [{"min(a)": 5}]}',
        '{"query": "q1", "tick": 100, "index": 4, "op": "+", "row": {"a": 9}}',
    ]


def test_relations_empty_windows_and_deletions(folder: Path) -> None:
    script = (
        SCHEMA
        + "SELECT a FROM s [NOW];\nSELECT a FROM s [FROM NOW TO NOW SLIDE 1 MIN] WHERE a > 100;\nSELECT a FROM s;"
    )
    (folder / "x.sql").write_text(script)
    lines = [json.loads(line) for line in eddyline(folder, "run", "x.sql", "--format", "jsonl").stdout.splitlines()]
    assert {"query": "q1", "tick": 0, "op": "+", "row": {"a": 1}} in lines
    assert {"query": "q1", "tick": 1, "op": "-", "row": {"a": 1}} in lines
    assert {"query": "q2", "tick": 0, "window": 1, "op": "+", "rows": []} in lines
    assert {"query": "q3", "tick": 0, "index": 1, "op": "-", "row": {"a": 1}} in lines


def test_a_bad_script_runs_nothing(folder: Path) -> None:
    (folder / "x.sql").write_text(SCHEMA + "SELECT a FROM s;\nSELECT\n  aa FROM s;\n")
    done = eddyline(folder, "run", "x.sql", "--format", "jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert "UNKNOWN_COLUMN (SQLSTATE 42703)" in done.stderr
    assert "x.sql: line 4, column 3" in done.stderr
    assert "4 |   aa FROM s;\n  |   ^^\n" in done.stderr
    assert "did you mean a?" in done.stderr and "Traceback" not in done.stderr


def test_check_finds_all_errors_and_missing_files(folder: Path) -> None:
    (folder / "x.sql").write_text(
        "CREATE STREAM z (a INTEGER) USING csv OPTIONS (path 'none.csv');\n"
        "SELECT b FROM z;\nSELEC;\nSELECT COUNT(*) FROM z;\nSELECT a FROM z;\n"
    )
    done = eddyline(folder, "check", "x.sql")
    assert done.returncode == 2
    for code in ("SOURCE_MISSING", "UNKNOWN_COLUMN", "SYNTAX_ERROR", "UNBOUNDED_STREAM"):
        assert done.stdout.count(code) + done.stderr.count(code) == 1


def test_rejected_revisions_say_where_they_stood(folder: Path) -> None:
    (folder / "s.csv").write_text("_op,_ref,a,t\n,,1,0\n-,7,,\n,,x,3\n")
    (folder / "x.sql").write_text(SCHEMA + "SELECT a FROM s;")
    done = eddyline(folder, "run", "x.sql", "--rejects", "bad")
    assert done.returncode == 0
    assert "2 rows set aside" in done.stderr
    kept = (folder / "bad" / "s.csv").read_text().splitlines()
    assert len(kept) == 3
    assert any(",3," in line and "_ref 7" in line for line in kept)
    assert any(",4," in line and "is not an INTEGER" in line for line in kept)


def test_a_name_may_be_used_again_after_it_was_dropped(folder: Path) -> None:
    script = (
        "CREATE STREAM s (t INTEGER, x INTEGER, y INTEGER) TIMESTAMP BY t;"
        "CREATE QUERY a AS SELECT x, y FROM s; INSERT INTO s VALUES (1, 2, 3); DROP QUERY a;"
        "CREATE QUERY a AS SELECT x FROM s; INSERT INTO s VALUES (2, 4, 5);"
    )
    done = eddyline(folder, "run", "-", "--format", "jsonl", stdin=script)
    rows = [json.loads(line)["row"] for line in done.stdout.splitlines()]
    assert rows == [{"x": 2, "y": 3}, {"x": 2}, {"x": 4}]


def test_a_dropped_tagger_does_not_come_back(folder: Path) -> None:
    script = (
        "CREATE STREAM s (t INTEGER, x INTEGER) TIMESTAMP BY t; ATTACH TAG 'Hot' CONTINUOUSLY TO s.x; DROP QUERY q1;"
        "CREATE QUERY q1 AS SELECT x FROM s; SELECT TAGS FROM s; INSERT INTO s VALUES (1, 2);"
    )
    done = eddyline(folder, "run", "-", "--format", "jsonl", stdin=script)
    assert done.returncode == 0 and "Hot" not in done.stdout


def test_a_missing_time_is_an_error_with_its_place(folder: Path) -> None:
    script = "CREATE STREAM s (t INTEGER, x INTEGER) TIMESTAMP BY t;\nSELECT x FROM s;\nINSERT INTO s VALUES (NULL, 3);"
    for command in ("run", "check"):
        done = eddyline(folder, command, "-", stdin=script)
        assert done.returncode == 2
        assert "MISSING_TIME" in done.stdout + done.stderr and "line 3, column 22" in done.stdout + done.stderr


def test_a_query_over_tables_is_answered_where_it_stands(folder: Path) -> None:
    script = "CREATE TABLE d (a INTEGER); INSERT INTO d VALUES (1); SELECT a FROM d; INSERT INTO d VALUES (2);"
    script += "SELECT a FROM d;"
    done = eddyline(folder, "run", "-", "--format", "jsonl", stdin=script)
    assert [json.loads(line)["rows"] for line in done.stdout.splitlines()] == [[{"a": 1}], [{"a": 1}, {"a": 2}]]


def test_a_rule_can_be_switched_off(folder: Path) -> None:
    (folder / "x.sql").write_text(SCHEMA + "EXPLAIN SELECT a FROM s [FROM NOW TO NOW SLIDE 1 SEC] WHERE a > 1;")
    with_all = eddyline(folder, "run", "x.sql").stdout
    assert "push-selections" in with_all and "WindowSelect" not in with_all
    without = eddyline(folder, "run", "x.sql", "--without-rule", "push-selections").stdout
    assert "push-selections" not in without and "WindowSelect" in without
    wrong = eddyline(folder, "run", "x.sql", "--without-rule", "push-selection")
    assert wrong.returncode == 2 and "did you mean push-selections?" in wrong.stderr


def test_what_follows_from_a_wrong_declaration_is_not_said_again(folder: Path) -> None:
    script = "CREATE STREAM z (a NOTHING);\nSELECT a FROM z;\nINSERT INTO z VALUES (1);\nSELECT a FROM zz;"
    (folder / "x.sql").write_text(script)
    done = eddyline(folder, "check", "x.sql")
    assert "2 errors" in done.stdout + done.stderr
    assert (done.stdout + done.stderr).count("UNKNOWN_EXTENT") == 1


def test_progress_counts_the_bytes_of_the_data_that_flows(folder: Path) -> None:
    from eddyline.session import Session

    (folder / "s.csv").write_text("a,t\n" + "".join(f"{i},{i}\n" for i in range(20_000)))
    shares = []
    text = SCHEMA + "SELECT a FROM s WHERE a < 0;"
    session = Session(text, folder, on_progress=lambda p: shares.append(p.bytes_read / (p.total_bytes or 1)))
    list(session.answers())
    assert shares[0] < 0.5 and shares[-1] == 1.0


def test_spark_is_the_default(folder: Path) -> None:
    """In a process of its own, as a user has it: the answers on stdout, and not a word of Spark's on stderr."""
    (folder / "x.sql").write_text(SCHEMA + "SELECT MIN(a) FROM s [FROM NOW-1 TO NOW SLIDE 1 MIN];\n")
    done = eddyline(folder, "run", "x.sql", "--format", "jsonl", "--batch-rows", "4", EDDYLINE_ENGINE="")
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"query": "q1", "tick": 0, "window": 1, "op": "+", "rows": [{"min(a)": 1}]},
        {"query": "q1", "tick": 60, "window": 2, "op": "+", "rows": [{"min(a)": 1}]},
        {"query": "q1", "tick": 120, "window": 3, "op": "+", "rows": [{"min(a)": 5}]},
        {"query": "q1", "tick": 0, "window": 1, "op": "=", "old_rows": [{"min(a)": 1}], "rows": [{"min(a)": None}]},
        {"query": "q1", "tick": 60, "window": 2, "op": "=", "old_rows": [{"min(a)": 1}], "rows": [{"min(a)": 5}]},
    ]


def test_a_script_with_tags_that_spark_cannot_tell_runs_on_the_reference_engine(folder: Path) -> None:
    (folder / "x.sql").write_text(
        SCHEMA + "SELECT TAGS FROM (RSTREAM(SELECT a FROM s [FROM NOW TO NOW SLIDE 1 MIN]));\n"
    )
    done = eddyline(folder, "run", "x.sql", EDDYLINE_ENGINE="")
    assert done.returncode == 0
    assert done.stderr == (
        "SELECT TAGS of what comes from windows or tables runs on the reference engine only, so far: "
        "--engine reference\n"
    )


def test_a_script_with_tags_runs_on_spark(folder: Path) -> None:
    (folder / "x.sql").write_text(
        SCHEMA + "ATTACH TAG 'seen' TO s.a WITH TAG_LIFESPAN = 5 MIN; SELECT a FROM s WITH TAGS;\n"
    )
    done = eddyline(folder, "run", "x.sql", "--format", "jsonl", EDDYLINE_ENGINE="")
    assert (done.returncode, done.stderr) == (0, "")
    first = json.loads(done.stdout.splitlines()[0])
    assert first["tags"] == [{"content": "seen", "sign": None, "attributes": ["a"]}]
