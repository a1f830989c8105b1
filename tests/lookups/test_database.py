"""Look-ups on Spark itself: who waits, who does not, and what is left when the process is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import eddyline

#: a service that is closed for the keys below 0 as long as there is no file `open`, and writes down what it is asked
SERVICE = """
import pathlib, time
import pyarrow as pa

HERE = pathlib.Path({here!r})

def find(keys):
    asked = keys.to_pylist()
    with open(HERE / "asked", "a") as file:
        file.write("".join(f"{{key}}\\n" for key in asked))
    if min(asked) < 0 and not (HERE / "open").exists():
        raise ConnectionError("closed")
    time.sleep({seconds})
    there = [key for key in asked if key % 5]
    return pa.table({{"person": pa.array(there, pa.int32()), "name": [f"p{{key}}" for key in there]}})
"""
SETUP = """
CREATE STREAM s (person INTEGER, t INTEGER) TIMESTAMP BY t;
CREATE TABLE people (person INTEGER, name STRING) USING lookup
  OPTIONS (function '{service}:find', key 'person', batch 10);
CREATE QUERY named AS SELECT t, name FROM s, people WHERE s.person = people.person;
CREATE QUERY counted AS SELECT COUNT(*) AS n FROM (SELECT t FROM s, people WHERE s.person = people.person) AS v
  [FROM NOW-9 TO NOW SLIDE 10 SEC];
CREATE QUERY plain AS SELECT t FROM s;
"""


def setup(tmp_path: Path, seconds: float = 0.0) -> str:
    service = tmp_path / "service.py"
    service.write_text(SERVICE.format(here=str(tmp_path), seconds=seconds))
    return SETUP.format(service=service)


def rows_of(db: Any, name: str) -> list[Any]:
    return [answer.row for answer in db.query(name).fetch()]


def windows_of(db: Any) -> list[Any]:
    return list(db.query("counted").fetch())


def eventually(db: Any, name: str, count: int) -> list[Any]:
    """The rows of a query as soon as there are so many."""
    end = time.monotonic() + 60
    while len(found := rows_of(db, name)) < count:
        assert time.monotonic() < end, found
        time.sleep(0.1)
    return found


def answered(db: Any, tick: int) -> Any:
    """What a window holds as soon as it is answered."""
    end = time.monotonic() + 60
    while tick not in (found := {answer.tick: answer.rows for answer in windows_of(db)}):
        assert time.monotonic() < end, found
        time.sleep(0.1)
    return found[tick]


def known_keys(folder: Path) -> set[int]:
    """Of which keys it was written down what there is."""
    pieces = json.loads((folder / "lookups/people/known.json").read_text())["pieces"]
    return {key for path, *_ in pieces for key in pq.read_table(folder / path).column("c0").to_pylist()}


def test_who_waits_holds_nobody_up(db: Any, tmp_path: Path) -> None:
    db.sql(setup(tmp_path))
    people = [1, -2, 3, -2, 5, 6, None, 1]
    db.stream("s").push(list(zip(people, range(1, 9), strict=True)))
    assert sorted(eventually(db, "named", 4)) == [(1, "p1"), (3, "p3"), (6, "p6"), (8, "p1")]
    assert len(eventually(db, "plain", 8)) == 8
    db.stream("s").push([(1, 9), (3, 10)])
    assert sorted(eventually(db, "named", 6))[-2:] == [(9, "p1"), (10, "p3")]
    told = db.sql("EXPLAIN named")
    assert "people is looked up by person" in told and "4 tuples wait for 1 key on the way" in told, told
    assert " failed" in told and "% of tuples found it known" in told, told
    db.advance(20)
    assert answered(db, 10) == ((6,),)  # in time, without those who wait
    (tmp_path / "open").touch()
    db.flush()
    assert sorted(rows_of(db, "named"))[1:5] == [(2, "p-2"), (3, "p3"), (4, "p-2"), (6, "p6")]
    asked = Counter((tmp_path / "asked").read_text().split())
    assert asked["-2"] > max(asked[key] for key in ("1", "3", "5", "6")), asked  # what is known is not asked again
    assert {answer.tick: answer.rows for answer in windows_of(db)}[10] == ((8,),)
    told = db.sql("EXPLAIN ANALYZE named")
    assert "0 tuples wait for 0 keys" in told and "a call takes" in told, told


def test_answers_are_there_once_whoever_is_killed(tmp_path: Path, spark: Any) -> None:
    """It is killed while tuples wait and calls are made; what was known is not asked for again."""
    pusher = f"""
import sys, time, eddyline
db = eddyline.connect({str(tmp_path / "db")!r}, master="local[2]")
db.sql({setup(tmp_path, 0.02)!r})
for t in range(1, 41):
    db.stream("s").push([(t % 7 - (20 if t % 3 == 0 else 0), t)])
    if t == 20:
        while not any(answer.tick > 5 for answer in db.query("named").fetch()):
            time.sleep(0.2)
    print(t, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", pusher], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 28:
            os.kill(process.pid, signal.SIGKILL)
            break
    process.wait()
    (tmp_path / "asked").write_text("")
    known = known_keys(tmp_path / "db")
    assert known
    db = eddyline.connect(tmp_path / "db", heartbeat=None)
    try:
        came = db.status().rows["s"]
        assert came >= 28
        assert len(eventually(db, "plain", came)) == came
        (tmp_path / "open").touch()
        db.flush()
        keys = {t: t % 7 - (20 if t % 3 == 0 else 0) for t in range(1, came + 1)}
        assert sorted(rows_of(db, "named")) == [(t, f"p{key}") for t, key in keys.items() if key % 5]
        asked = {int(key) for key in (tmp_path / "asked").read_text().split()}
        assert asked and not asked & known, (asked, known)
    finally:
        db.close()
