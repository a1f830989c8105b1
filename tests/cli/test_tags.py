"""`eddyline tags`: the list, the picture, and clear answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

import eddyline
from eddyline.cli.main import app
from laws.without_spark import kernels_alone

SCRIPT = """CREATE STREAM roads (x INTEGER, time INTEGER) TIMESTAMP BY time USING json OPTIONS (path 'r.jsonl');
SELECT x FROM roads WITH TAGS;
ATTACH TAG 'High' CONTINUOUSLY TO roads.x WHERE x > 1 WITH TAG_SIGN = '-';
"""
ROWS = """{"_op": "#", "time": 1, "_tag": {"content": "Icy", "lifespan": 2}}
{"x": 1, "time": 1}
{"x": 2, "time": 2}
{"x": 3, "time": 3}
{"_op": "#", "time": 3, "_tag": {"content": "Later"}}
{"_op": "#", "time": 3, "_tag": {"content": ""}}
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "r.jsonl").write_text(ROWS)
    (tmp_path / "roads.sql").write_text(SCRIPT)
    return tmp_path / "roads.sql"


def tags(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["tags", *map(str, arguments)])


def test_tags_are_listed_with_their_counts(script: Path) -> None:
    done = tags("ROADS", script)
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "tag    sign  type       on          tags  active  rows",
        "High   -     objective  x              2       0     2",
        "Icy          physical   whole rows     1       0     2",
        "Later        objective  whole rows     1       1     0",
    ]
    assert "1 row set aside: roads 1" in done.stderr
    assert "a tag never applies to any row of roads: 'Later'" in done.stderr


def test_as_json(script: Path) -> None:
    lines = [json.loads(line) for line in tags("roads", script, "--format", "jsonl").stdout.splitlines()]
    assert [(line["content"], line["rows"]) for line in lines] == [("High", 2), ("Icy", 2), ("Later", 0)]


def test_a_cloud_is_drawn(script: Path) -> None:
    picture = script.parent / "cloud.png"
    assert tags("roads", script, "--cloud", picture).exit_code == 0
    with Image.open(picture) as found:
        assert found.size == (1600, 1000)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("roads", "--cloud", "cloud.jpg"), "cloud.jpg is no name of a PNG file"),
        (("roads", "--cloud", "no/such/folder/cloud.png"), "cannot write"),
        (("road",), "did you mean roads?"),
    ],
)
def test_what_is_wrong_is_said(script: Path, arguments: tuple[str, ...], said: str) -> None:
    done = tags(arguments[0], script, *arguments[1:])
    assert done.exit_code == 2
    assert said in done.stderr


def test_of_a_database(tmp_path: Path) -> None:
    path = str(tmp_path / "db")
    with kernels_alone():
        db = eddyline.connect(path, heartbeat=None)
        db.sql("CREATE STREAM roads (x INTEGER, time INTEGER) TIMESTAMP BY time")
        db.stream("roads").push(
            [{"_op": "#", "time": 1, "_tag": {"content": "Icy", "lifespan": 2}}, {"x": 1, "time": 1}]
        )
        assert "is in use by" in tags("roads", "--db", path).stderr
        db.close()
        done = tags("Roads", "--db", path, "--cloud", tmp_path / "cloud.png", "--format", "jsonl")
        assert [(line["content"], line["rows"]) for line in map(json.loads, done.stdout.splitlines())] == [("Icy", 1)]
        assert (tmp_path / "cloud.png").exists()
        assert "did you mean roads?" in tags("road", "--db", path).stderr
    assert "there is no database at" in tags("roads", "--db", tmp_path / "nowhere").stderr
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["my roads", "north.roads", "order"])
def test_of_a_stream_with_any_name(name: str, tmp_path: Path) -> None:
    with kernels_alone():
        with eddyline.connect(str(tmp_path), heartbeat=None) as db:
            db.sql(f"CREATE STREAM {'.'.join(f'`{part}`' for part in name.split('.'))} (x INTEGER)")
            db.stream(name).push([{"_op": "#", "_tag": {"content": "Icy"}}, {"x": 1}])
        assert "Icy" in tags(name, "--db", tmp_path).stdout


def test_a_script_or_a_database_has_to_be_named(script: Path) -> None:
    assert "name a script, or a database with --db" in tags("roads").stderr
    assert "name a script, or a database with --db" in tags("roads", script, "--db", script.parent).stderr


def test_a_stream_without_tags(script: Path) -> None:
    script.write_text("CREATE STREAM s (x INTEGER);")
    done = tags("s", script)
    assert (done.exit_code, done.stdout) == (0, "")
    assert "s has no tags" in done.stderr
