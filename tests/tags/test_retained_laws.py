"""A stream that forgets does not forget the tags that stand: whoever comes back to it goes on as if never gone."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.errors import EddylineError
from eddyline.log.upkeep import Pace
from laws.streams import EXAMPLES
from laws.without_spark import kernels_alone
from tags.test_forgotten import at_hand

#: what can go is gone after every other batch
BUSY = Pace(batches=2, behind=1, neighbours=2, small=100_000, grace=0.0, aside=False)
STATEMENTS = [
    "ATTACH TAG 'W' TO s WHERE a > 2 WITH TAG_LIFESPAN = 50 SEC",
    "ATTACH TAG 'V' TO s.a WHERE b = 'y'",
    "ATTACH TAG 'U' TO s.b.value WITH TAG_LIFESPAN = 30 SEC TAG_MODE = COMBINE",
    "DETACH TAG 'A' FROM s.a",
]


def _tag(draw: random.Random, came: int) -> dict[str, Any]:
    tag: dict[str, Any] = {"content": draw.choice("ABC")}
    if draw.random() < 0.6:
        tag["lifespan"] = draw.choice([1, 5, 20, 1_000])
    if draw.random() < 0.5:
        tag["mode"] = draw.choice("OC")
    if draw.random() < 0.4:
        tag["tagger"] = draw.choice(["u1", "u2"])
    on = [{"next": draw.randint(1, 4)}, {"tuples": [came + draw.randint(1, 12)]}, {"attributes": ["a"]}]
    on += [{"attributes": ["b.value"]}, {"attributes": ["a"], "values": "3"}]
    if draw.random() < 0.6:
        tag["applies_to"] = draw.choice(on)
    return tag


def _steps(draw: random.Random) -> list[dict[str, Any] | str]:
    """Rows and statements; late rows, revisions and tags of an earlier time among them."""
    found: list[dict[str, Any] | str] = []
    tick, came, gone = 0, 0, set[int]()
    for _ in range(draw.randint(20, 60)):
        tick += draw.choice([0, 1, 1, 2, 3])
        kind = draw.random()
        if kind < 0.25:
            time = tick if draw.random() < 0.6 else max(0, tick - draw.randint(0, 8))
            found.append({"_op": "#", "_tag": _tag(draw, came), "t": time})
        elif kind < 0.32:
            found.append(draw.choice(STATEMENTS))
        elif kind < 0.38 and came:
            ref = draw.randint(max(1, came - 3), came)
            if ref not in gone and draw.random() < 0.4:
                gone.add(ref)
                found.append({"_op": "-", "_ref": ref})
            elif ref not in gone:
                found.append({"_op": "=", "_ref": ref, "id": ref, "a": draw.randint(0, 3), "b": "x", "t": tick})
        else:
            came += 1
            late = draw.randint(0, 6) if draw.random() < 0.2 else 0
            found.append({"id": came, "a": draw.randint(0, 3), "b": draw.choice("xy"), "t": max(0, tick - late)})
    return found


def _answers(steps: list[dict[str, Any] | str], draw: random.Random, closing: bool) -> dict[int, Any]:
    folder = tempfile.mkdtemp()
    try:
        db = eddyline.connect(folder, heartbeat=None, pace=BUSY)
        db.sql("CREATE STREAM s (id INTEGER, a INTEGER, b STRING, t INTEGER) TIMESTAMP BY t RETAIN 6 SEC")
        db.sql("CREATE QUERY q AS SELECT id, a, b FROM s WITH TAGS")
        rows: list[dict[str, Any]] = []
        for number, step in enumerate([*steps, ""]):
            if rows and (isinstance(step, str) or number % 3 == 0):
                db.stream("s").push(rows)
                db.flush()
                rows = []
            if isinstance(step, dict):
                rows.append(step)
            elif step:
                _said(db, step)
            if draw.random() < 0.2 and closing:
                db.close()
                db = eddyline.connect(folder, heartbeat=None, pace=BUSY)
        db.flush()
        standing: dict[int, Any] = {}
        for answer in db.query("q").fetch():
            standing.pop(answer.index, None)
            if answer.op != "-":
                standing[answer.index] = answer.tick, answer.row, answer.tags
        lines = db.sql("SHOW TAGS OF s").to_arrow().to_pylist()
        db.close()
        return {**standing, 0: [{**line, "rows": 0, "tags": 0} for line in lines if line["active"]]}
    finally:
        shutil.rmtree(folder)


def _said(db: eddyline.Database, statement: str) -> None:
    try:
        db.sql(statement)
    except EddylineError:
        assert statement.startswith("DETACH")  # of a tag that nobody has attached


@pytest.mark.parametrize("seed", [5, 6, 7, *range(1_000, 1_003 * EXAMPLES)])
def test_who_comes_back_knows_the_same_tags(seed: int) -> None:
    """Also if every late row needs the log, of which some has gone."""
    steps = _steps(random.Random(seed))
    with kernels_alone():
        expected = _answers(steps, random.Random(seed), closing=False)
        assert _answers(steps, random.Random(seed), closing=True) == expected
        with at_hand(0):
            assert _answers(steps, random.Random(seed), closing=True) == expected


def test_late_rows_do_not_make_a_stream_forget_what_lives(tmp_path: Path) -> None:
    """What tells of it has gone, and they need tags that are over since what stands was written down last."""
    with kernels_alone(), at_hand(0), eddyline.connect(str(tmp_path), heartbeat=None, pace=BUSY) as db:
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t RETAIN 150 SEC")
        query = db.sql("SELECT x FROM s WITH TAGS")
        db.stream("s").push([{"_op": "#", "_tag": {"content": "living", "lifespan": 10**6, "tagger": "u"}, "t": 0}])
        for step in range(1, 21):
            tag = {"content": f"n{step}", "lifespan": 80}
            db.stream("s").push([{"_op": "#", "_tag": tag, "t": 100 * step}, {"x": step, "t": 100 * step}])
            db.flush()
            if step > 2:
                db.stream("s").push([{"x": -step, "t": 100 * (step - 1) - 45}])
        db.flush()
        found = {a.row[0]: [tag.content for tag in a.tags or ()] for a in query.fetch()}
        assert found == {
            **{step: ["living", f"n{step}"] for step in range(1, 21)},
            **{-step: ["living", f"n{step - 2}"] for step in range(3, 21)},
        }


def test_a_tag_outlives_what_tells_of_it(tmp_path: Path) -> None:
    with kernels_alone():
        db = eddyline.connect(str(tmp_path), heartbeat=None, pace=BUSY)
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t RETAIN 5 SEC")
        query = db.sql("CREATE QUERY q AS SELECT x FROM s WITH TAGS")
        living = {"content": "living", "lifespan": 100_000, "applies_to": {"attributes": ["x", "t"]}}
        db.stream("s").push([{"_op": "#", "_tag": living, "t": 0}, {"x": 1, "t": 1}])
        db.sql("ATTACH TAG 'waits' TO s WHERE x > 500 WITH TAG_LIFESPAN = 100 SEC TAG_MODE = COMBINE")
        for tick in range(10, 400, 10):
            db.stream("s").push([{"x": tick, "t": tick}])
            db.flush()
        kept = [each for each in db._core.engine.journal.state("s").segments if each.only_tags]
        assert len(kept) < 5 and min(each.tick[0] for each in kept) > 300, "the tags themselves have gone from the log"
        db.close()
        db = eddyline.connect(str(tmp_path), heartbeat=None, pace=BUSY)
        (line,) = db.sql("SHOW TAGS OF s").to_arrow().to_pylist()
        assert (line["tag"], line["on"], line["active"]) == ("living", "x, t", 1)
        db.stream("s").push([{"x": 401, "t": 401}, {"x": 600, "t": 402}])
        db.flush()
        found = {a.row: [tag.content for tag in a.tags or ()] for a in db.query(query.name).fetch() if a.tick > 400}
        assert found == {(401,): ["living"], (600,): ["living", "waits"]}
        db.close()
