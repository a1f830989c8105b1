"""What a database knows outlasts its process, in whatever way that ends."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import eddyline
from eddyline import testing
from eddyline.cli.main import app
from eddyline.database.lock import Lock
from eddyline.database.stream import Pushed
from eddyline.errors import DatabaseInUse, DuplicateKey
from eddyline.log.answers import python_rows
from eddyline.log.storage import Storage

SETUP = """
CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t;
CREATE QUERY odd AS SELECT x FROM s WHERE x % 2 = 1;
CREATE QUERY sums AS SELECT SUM(x) AS total FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC];
CREATE QUERY gone AS SELECT x FROM s;
DROP QUERY gone;
"""
ROWS = [(i, i // 3 - (7 if i % 11 == 0 else 0)) for i in range(400)]

#: pushes rows, slowly once some are answered, until it is killed
PUSHER = """
import sys, time, eddyline
sys.path.insert(0, {tests!r})
from database.test_restart import ROWS, SETUP
db = eddyline.connect({path!r}, master="local[2]")
db.sql(SETUP)
for row in ROWS:
    db.stream("s").push([row])
    if row[0] == 60:
        db.flush()
    if row[0] > 60:
        time.sleep(0.05)
    print(row[0], flush=True)
"""


def push_rest(db: eddyline.Database) -> None:
    """Whoever pushes knows from the database how much has arrived."""
    for row in ROWS[db.status().rows["s"] :]:
        db.stream("s").push([row])
    db.advance(200)
    db.flush()


def answers_of(db: eddyline.Database) -> dict[str, Any]:
    """The standing rows, and for the stream query every single answer: none may come twice."""
    odd = db.query("odd")
    standing = {name: python_rows(db.query(name).columns, db.query(name).current()) for name in ("odd", "sums")}
    return {**standing, "said": sorted(answer.index for answer in odd.fetch())}


def test_a_killed_process_loses_nothing_and_repeats_nothing(spark: Any, tmp_path: Path) -> None:
    with testing.database(master="local[2]") as undisturbed:
        undisturbed.sql(SETUP)
        push_rest(undisturbed)
        expected = answers_of(undisturbed)

    path = str(tmp_path / "db")
    script = PUSHER.format(tests=str(Path(__file__).parents[1]), path=path)
    pusher = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert pusher.stdout is not None
    last = random.randrange(70, 160)  # some batches are done, one may be at work, and more has come since
    for line in pusher.stdout:
        if int(line) >= last:
            break
    pusher.send_signal(signal.SIGKILL)
    pusher.wait()

    with eddyline.connect(path, master="local[2]") as db:
        assert last < db.status().rows["s"] < len(ROWS)
        assert db.queries == ("odd", "sums")
        push_rest(db)
        assert answers_of(db) == expected
        shown = CliRunner().invoke(app, ["results", "ODD", "--db", path, "--format", "jsonl"])  # while it is in use
        assert [json.loads(line)["row"]["x"] for line in shown.stdout.splitlines()] == [x for x, _ in ROWS if x % 2]
        cursor = db.query("odd")
        cursor.fetch()
        assert f"--since {cursor.cursor} " in shown.stderr
        nothing = CliRunner().invoke(app, ["results", "odd", "--db", path, "--since", str(cursor.cursor)])
        assert (nothing.exit_code, nothing.stdout) == (0, "")
        wrong = CliRunner().invoke(app, ["results", "sum", "--db", path])
        assert wrong.exit_code == 2 and "did you mean sums?" in wrong.stderr
        with pytest.raises(DatabaseInUse, match="in use by this process"):
            eddyline.connect(path, master="local[2]")


def test_files_are_read_on_where_reading_stopped(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "s.csv"
    file.write_text("x,t\n1,1\n2,2\nbad,3\n3,4\n")
    with eddyline.connect("db", master="local[2]", batch_rows=2) as db:
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t USING csv OPTIONS (path 's.csv')")
        db.sql("CREATE QUERY q AS SELECT x FROM s")
        assert db.run() == eddyline.database.stream.Pushed(3, 1)
    with file.open("a") as more:
        more.write("4,5\n")
    monkeypatch.chdir("/")  # where it was declared counts, not where we are now
    with eddyline.connect(tmp_path / "db", master="local[2]") as db:
        assert db.run() == eddyline.database.stream.Pushed(1, 0)
        assert db.run() == eddyline.database.stream.Pushed(0, 0)
        assert [answer.row for answer in db.query("q").fetch()] == [(1,), (2,), (3,), (4,)]
    assert (tmp_path / "db/rejects/s.csv").read_text().count("\n") == 2


def test_the_retention_outlasts_the_process(spark: Any, tmp_path: Path) -> None:
    with eddyline.connect(tmp_path / "db", master="local[2]") as db:
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t RETAIN '1 minute'")
        db.stream("s").push([(1, 100), (2, 200)])
        db.stream("s").delete(2)
    with eddyline.connect(tmp_path / "db", master="local[2]") as db:
        assert db.stream("s").push([(3, 139), (4, 140)]) == eddyline.database.stream.Pushed(1, 1)
        assert [reject.reason for reject in db.rejects] == ["tick 139 is 1 tick beyond the retention of s"]
        assert db.sql("DELETE FROM s") == eddyline.database.stream.Pushed(1, 0)


def test_keys_outlast_the_process(spark: Any, tmp_path: Path) -> None:
    with eddyline.connect(tmp_path / "db", master="local[2]") as db:
        db.sql("CREATE STREAM s (k STRING, x INTEGER, t INTEGER) KEY (k) TIMESTAMP BY t RETAIN 100")
        db.sql("CREATE QUERY q AS SELECT k, x FROM s")
        assert db.stream("s").push([("a", 1, 1), ("b", 2, 2), ("a", 3, 3), {"_op": "-", "k": "b"}]) == Pushed(4, 0)
    with eddyline.connect(tmp_path / "db", master="local[2]") as db:
        assert db.stream("s").push([{"_op": "-", "k": "b"}, ("a", 4, 4), ("b", 5, 5)]) == Pushed(2, 1)
        table = pa.table({"_op": ["=", "-", "+"], "k": ["b", "a", "c"], "x": [6, None, 7], "t": [5, None, 6]})
        assert db.stream("s").push(table) == Pushed(3, 0)
        assert [reject.reason for reject in db.rejects] == ["no tuple within the retention of s has the key (k 'b')"]
        with pytest.raises(DuplicateKey, match="tuples 3 and 4 of s would both have the key"):
            db.sql("UPDATE s SET k = 'b' WHERE k = 'c'")
        assert db.sql("UPDATE s SET k = CASE k WHEN 'b' THEN 'c' ELSE 'b' END") == Pushed(2, 0)
        assert db.stream("s").push([("b", 8, 7)]) == Pushed(1, 0)
        db.flush()
        query = db.query("q")
        assert sorted(python_rows(query.columns, query.current())) == [("b", 8), ("c", 6)]
        assert db.status().rows == {"s": 4}


def test_a_lock_goes_with_its_owner(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path / "db"))
    code = (
        "import sys, time\nfrom eddyline.database.lock import Lock\nfrom eddyline.log.storage import Storage\n"
        f"lock = Lock(Storage({storage.root!r}))\nprint('held', flush=True)\ntime.sleep(60)"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None and owner.stdout.readline() == "held\n"
    with pytest.raises(DatabaseInUse, match=f"in use by process {owner.pid}"):
        Lock(storage)
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    lock = Lock(storage)
    lock.release()
    Lock(storage).release()
