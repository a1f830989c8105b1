"""`eddyline explain`: plans, the picture of join trees, and clear answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from eddyline.cli.main import app

STREAMS = "".join(f"CREATE STREAM {name} (k INTEGER, t INTEGER) TIMESTAMP BY t;\n" for name in "abc")
JOIN = "SELECT a.k FROM a [RANGE 9 SEC], b [RANGE 9 SEC], c [RANGE 9 SEC] WHERE a.k = b.k AND b.t = c.t"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "joins.sql"
    path.write_text(f"{STREAMS}CREATE QUERY q WITH (memory_limit = '2 KB') AS {JOIN};\nEXPLAIN q;\nSELECT k FROM a;\n")
    return path


def explain(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["explain", *map(str, arguments)])


def test_every_query_is_explained_once_and_nothing_is_run(script: Path) -> None:
    done = explain(script)
    assert done.exit_code == 0
    assert [line for line in done.stdout.splitlines() if line and line[0] != " "] == ["q", "q1"]
    assert "  join tree for a, b, c (linear); a plan, made without looking at data:\n" in done.stdout
    assert "memory_limit = '2 KiB' (given)" in done.stdout and "no join tree fits" in done.stdout


def test_join_trees_are_drawn(script: Path) -> None:
    picture = script.parent / "joins.png"
    assert explain(script, "--png", picture).exit_code == 0
    with Image.open(picture) as found:
        assert found.format == "PNG" and found.size[0] >= 700


def test_without_joins_there_is_no_picture(script: Path) -> None:
    picture = script.parent / "joins.png"
    script.write_text(f"{STREAMS}SELECT a.k FROM a [NOW], b [NOW];")
    done = explain(script, "--png", picture)
    assert (done.exit_code, picture.exists()) == (0, False)
    assert "has no joins of three inputs or more" in done.stderr
    script.write_text(STREAMS)
    assert "joins.sql has no queries" in explain(script).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--png", "joins.svg"), "joins.svg is no name of a PNG file"),
        (("--png", "no/such/folder/joins.png"), "cannot write"),
        (("--without-rule", "no-such-rule"), "no-such-rule"),
    ],
)
def test_what_is_wrong_is_said(script: Path, arguments: tuple[str, ...], said: str) -> None:
    done = explain(script, *arguments)
    assert done.exit_code == 2
    assert said in done.stderr


def test_an_error_of_the_script_has_its_place(script: Path) -> None:
    script.write_text(f"{STREAMS}SELECT a.k\nFROM nowhere;")
    done = explain(script)
    assert done.exit_code == 2 and "line 5, column 6" in done.stderr
