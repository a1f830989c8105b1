"""What each command prints and how it exits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

FAKE = Path(__file__).with_name("fake_session.py")


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(FAKE), *arguments]


def eddyline(*arguments: str, cwd: Path, stdin: str | bytes = "", **environment: str) -> subprocess.CompletedProcess:
    data = stdin if isinstance(stdin, bytes) else stdin.encode()
    environment = {**os.environ, "COLUMNS": "100", **environment}
    result = subprocess.run(command(*arguments), cwd=cwd, input=data, env=environment, capture_output=True, timeout=60)
    result.stdout, result.stderr = result.stdout.decode(), result.stderr.decode()
    assert "Traceback" not in result.stderr or environment.get("EDDYLINE_DEBUG")
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    return tmp_path


def script(folder: Path, text: str) -> str:
    (folder / "sub" / "s.sql").write_text(text)
    return "sub/s.sql"


def test_run_prints_tables_by_default_and_json_on_request(folder: Path) -> None:
    file = script(folder, "fine")
    table = eddyline("run", file, cwd=folder)
    assert table.returncode == 0
    assert table.stdout == "q1  tick  index       batch_rows  base\n      60      1  +             1  sub\n"
    lines = eddyline("run", file, "--format", "jsonl", "--batch-rows", "7", "--engine", "reference", cwd=folder)
    assert (lines.returncode, lines.stderr) == (0, "")
    assert json.loads(lines.stdout)["row"] == {"batch_rows": 7, "base": "sub"}


def test_a_script_from_stdin_has_its_paths_from_here(folder: Path) -> None:
    result = eddyline("run", "-", "--format", "jsonl", cwd=folder, stdin="fine")
    assert json.loads(result.stdout)["row"]["base"] == "."
    failed = eddyline("run", "-", cwd=folder, stdin="syntax")
    assert "--> <stdin>: line 1, column 1" in failed.stderr


def test_a_bad_script_is_one_message(folder: Path) -> None:
    result = eddyline("run", script(folder, "x\r\n  syntax y\n"), cwd=folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "ERROR SYNTAX_ERROR (SQLSTATE 42601): a syntax error\n"
        " --> sub/s.sql: line 2, column 3\n"
        "2 |   syntax y\n"
        "  |   ^^^^^^\n"
        "hint: write better\n"
    )


def test_an_error_on_the_way_comes_after_the_answers_before_it(folder: Path) -> None:
    result = eddyline("run", script(folder, "late error"), "--format", "jsonl", cwd=folder)
    assert result.returncode == 2
    assert json.loads(result.stdout)["index"] == 1
    assert result.stderr.startswith("ERROR UNKNOWN_COLUMN (SQLSTATE 42703): no column é \\ud800\n")


@pytest.mark.parametrize("name", ["run", "check", "fmt"])
def test_files_that_cannot_be_read(folder: Path, name: str) -> None:
    (folder / "latin.sql").write_bytes(b"SELECT\n'\xe9'")
    for file, message in (
        ("none.sql", "ERROR SOURCE_MISSING (SQLSTATE 58P01): cannot read none.sql: No such file or directory\n"),
        ("sub", "ERROR SOURCE_MISSING (SQLSTATE 58P01): cannot read sub: Is a directory\n"),
        (
            "latin.sql",
            "ERROR SOURCE_UNUSABLE (SQLSTATE 22000): latin.sql is not UTF-8 text: line 2 holds the byte 0xe9\n",
        ),
    ):
        result = eddyline(name, file, cwd=folder)
        assert (result.returncode, result.stdout, result.stderr) == (2, "", message)


def test_rejects_are_summed_up_and_kept(folder: Path) -> None:
    file = script(folder, "reject warn")
    result = eddyline("run", file, cwd=folder)
    assert result.returncode == 0
    assert result.stderr == (
        "warning: road: road.csv is empty\n"
        "1 row set aside: road 1\n"
        "  road.csv:3: too few fields: 2 instead of 4\n"
        "  --rejects DIR keeps them in files\n"
    )
    eddyline("run", file, "--rejects", "bad/rows", cwd=folder)
    assert (folder / "bad" / "rows" / "road.csv").read_text() == (
        'file,line,reason,text\nroad.csv,3,too few fields: 2 instead of 4,"a,b"\n'
    )
    result = eddyline("run", file, "--rejects", file, cwd=folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert "--rejects: sub/s.sql is not a folder" in result.stderr


def test_usage_errors(folder: Path) -> None:
    file = script(folder, "fine")
    for arguments in (
        ("run",),
        ("run", file, "--batch-rows", "0"),
        ("run", file, "--format", "xml"),
        ("run", file, "--engine", "flink"),
        ("rnu", file),
        ("fmt", "--write", "--check", file),
        ("fmt", "--write", "-"),
    ):
        result = eddyline(*arguments, cwd=folder)
        assert (result.returncode, result.stdout) == (2, ""), arguments
        assert "Usage: " in result.stderr


def test_a_master_is_for_spark(folder: Path) -> None:
    result = eddyline("run", script(folder, "fine"), "--engine", "reference", "--master", "local[2]", cwd=folder)
    assert (result.returncode, result.stderr) == (
        0,
        "warning: --master is for the Spark engine; --engine reference runs in this process\n",
    )


def test_a_bug_of_ours_is_one_line(folder: Path) -> None:
    file = script(folder, "bug")
    result = eddyline("run", file, cwd=folder)
    assert result.returncode == 70
    assert result.stderr == (
        "eddyline: internal error (RuntimeError: out of order); please report it. EDDYLINE_DEBUG=1 shows where.\n"
    )
    assert "Traceback" in eddyline("run", file, cwd=folder, EDDYLINE_DEBUG="1").stderr


def test_check_reports_every_error(folder: Path) -> None:
    result = eddyline("check", script(folder, "first\nand second"), cwd=folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert "no column first" in result.stderr and "line 1, column 1" in result.stderr
    assert "no column second" in result.stderr and "line 2, column 5" in result.stderr
    assert result.stderr.endswith("sub/s.sql: 2 errors\n")


def test_check_of_a_good_script(folder: Path) -> None:
    result = eddyline("check", script(folder, "fine"), cwd=folder)
    assert (result.returncode, result.stdout, result.stderr) == (0, "sub/s.sql: ok, 3 extents, 1 query\n", "")


def test_fmt(folder: Path) -> None:
    file = script(folder, "select  a from s;")
    formatted = eddyline("fmt", file, cwd=folder).stdout
    assert formatted.split() == ["SELECT", "a", "FROM", "s;"]
    assert eddyline("fmt", "-", cwd=folder, stdin="select  a from s;").stdout == formatted
    told = eddyline("fmt", "--check", file, cwd=folder)
    assert (told.returncode, told.stderr) == (1, "sub/s.sql: would be formatted\n")
    os.chmod(folder / file, 0o640)
    assert eddyline("fmt", "--write", file, cwd=folder).returncode == 0
    assert (folder / file).read_text() == formatted
    assert (folder / file).stat().st_mode & 0o777 == 0o640
    assert eddyline("fmt", "--check", file, cwd=folder).returncode == 0
    assert sorted(path.name for path in (folder / "sub").iterdir()) == ["s.sql"]


def test_fmt_leaves_a_bad_script_alone(folder: Path) -> None:
    file = script(folder, "selectt a")
    result = eddyline("fmt", "--write", file, cwd=folder)
    assert result.returncode == 2
    assert "ERROR SYNTAX_ERROR" in result.stderr
    assert (folder / file).read_text() == "selectt a"


def test_help_and_version(folder: Path) -> None:
    assert eddyline("--version", cwd=folder).stdout == "eddyline 0.1.0\n"
    for arguments in (("--help",), ("run", "-h"), ("check", "--help"), ("fmt", "--help")):
        result = eddyline(*arguments, cwd=folder)
        assert result.returncode == 0
        assert "eddyline" in result.stdout


def test_a_reader_that_has_seen_enough(folder: Path) -> None:
    for format_ in ("table", "jsonl"):
        process = subprocess.Popen(
            command("run", script(folder, "endless"), "--format", format_),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""
        process.stderr.close()


def test_ctrl_c(folder: Path) -> None:
    process = subprocess.Popen(
        command("run", script(folder, "wait"), "--format", "jsonl"),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # whoever runs the tests in the background may have told them to ignore it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None and process.stderr is not None
    assert process.stderr.readline() == b"waiting\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert json.loads(out)["index"] == 1
    assert err == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            command("run", script(folder, "fine")), cwd=folder, stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert result.returncode == 2
    assert b"Traceback" not in result.stderr
    assert b"No space left on device" in result.stderr


def test_other_encodings_of_the_terminal(folder: Path) -> None:
    file = script(folder, "late error")
    result = eddyline("run", file, "--format", "jsonl", cwd=folder, PYTHONIOENCODING="ascii")
    assert result.returncode == 2
    assert "no column \\xe9" in result.stderr
