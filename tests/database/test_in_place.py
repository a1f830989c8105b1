"""Streams whose rows stay in their files, on Spark: corrected, looked back at, merged, opened again; files that go."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eddyline
from eddyline import testing
from eddyline.errors import StorageUnreadable
from eddyline.log.answers import python_rows
from eddyline.log.referred import referred
from eddyline.log.upkeep import Pace

BUSY = Pace(batches=1, behind=1, neighbours=2, small=1_000_000, grace=0.0, aside=False)
STREAM = """CREATE STREAM s (t BIGINT, x INTEGER, w STRING) TIMESTAMP BY t
  USING parquet OPTIONS (path '{}', copy '{}')"""
QUERIES = """
CREATE QUERY large AS SELECT x, w FROM s WHERE x > 3;
CREATE QUERY huge AS SELECT x, w FROM s WHERE x > 7;
CREATE QUERY sums AS SELECT w, SUM(x) AS n FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY w
"""
NAMES = ("large", "huge", "sums")


def write(folder: Path, number: int) -> Path:
    folder.mkdir(exist_ok=True)
    first, file = 10 * number, folder / f"{number}.parquet"
    rows = {"t": range(first, first + 10), "x": [x % 11 for x in range(first, first + 10)], "w": ["a", "b"] * 5}
    table = pa.table({name: list(values) for name, values in rows.items()})
    pq.write_table(table.set_column(1, "x", table["x"].cast(pa.int32())), file, row_group_size=4)
    return file


def opened(path: Path, **more: Any) -> eddyline.Database:
    return eddyline.connect(path, master="local[2]", heartbeat=None, clock=lambda: 0, **more)


def answers(db: eddyline.Database, names: tuple[str, ...] = NAMES) -> dict[str, Any]:
    handles = {name: db.query(name) for name in names}
    return {name: sorted(map(repr, python_rows(h.columns, h.current()))) for name, h in handles.items()}


def refers(db: eddyline.Database) -> list[bool]:
    return [referred(segment.path) is not None for segment in db._core.engine.journal.state("s").segments]


def story(db: eddyline.Database, folder: Path) -> dict[str, Any]:
    write(folder, 1)
    db.run()
    db.sql("UPDATE s SET x = 9 WHERE t = 12")
    db.stream("s").delete(3)
    db.sql("DELETE FROM s WHERE t = 7")
    db.flush()
    db.sql("CREATE QUERY back FROM HISTORY AS SELECT x, t FROM s WHERE w = 'a'")
    db.flush()
    revised = [(row[2:6]) for row in db.revisions("large")]
    return {**answers(db, (*NAMES, "back")), "revised": revised}


def test_corrected_and_opened_again(spark: Any, tmp_path: Path) -> None:
    told = []
    for copy in ("true", "false"):
        folder, path = tmp_path / copy, tmp_path / f"db-{copy}"
        write(folder, 0)
        with opened(path) as db:
            db.sql(STREAM.format(folder, copy))
            db.sql(QUERIES)
            db.run()
            assert refers(db) == [copy == "false"]
        with opened(path) as db:
            told.append(story(db, folder))
            assert db.run().accepted == 0
            assert db.status().rows == {"s": 20}
    assert told[0] == told[1]


def test_once_they_are_merged_the_files_may_go(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    write(folder, 0)
    with opened(tmp_path / "db", pace=BUSY) as db:
        db.sql(STREAM.format(folder, "false"))
        db.sql(QUERIES)
        for number in range(6):
            write(folder, number)
            db.run()
            db.advance(10 * number + 9)
            db.flush()
        db.stream("s").push([(99, 1, "a")])
        db.flush()
        db.stream("s").push([(100, 1, "a")])
        db.flush()
        assert not all(refers(db)), "nothing was merged"
        assert len(list(folder.iterdir())) == 6  # nobody but the user deletes them
        before = answers(db)
        first = db._core.engine.journal.state("s").segments[0]
        assert referred(first.path) is None
        (folder / "0.parquet").unlink()
        db.stream("s").update(5, t=4, x=10, w="a")
        db.flush()
        assert answers(db) != before


@pytest.mark.parametrize("kernels", ["on", "off"])
def test_a_file_that_has_gone_is_told_and_waited_for(
    spark: Any, tmp_path: Path, kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDDYLINE_KERNELS", kernels)
    folder = tmp_path / "files"
    file = write(folder, 0)
    with testing.database(master="local[2]") as db:
        db.sql(STREAM.format(folder, "false"))
        db.sql("CREATE QUERY sums AS SELECT w, SUM(x) AS n FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY w")
        db.run()
        before = answers(db, ("sums",))
        times, content = file.stat(), file.read_bytes()
        file.unlink()
        db.stream("s").push([(10, 5, "a")])
        db.advance(20)
        with pytest.raises(StorageUnreadable, match=r"0\.parquet, which the stream s refers to, cannot be read"):
            db.flush()
        file.write_bytes(content)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        db.restart()
        db.flush()
        assert len(answers(db, ("sums",))["sums"]) > len(before["sums"])


def test_workers_that_are_processes_of_their_own_find_the_files() -> None:
    program = Path(__file__).with_name("staying_in_a_cluster.py")
    done = subprocess.run(
        [sys.executable, str(program), "local-cluster[2,1,1024]"],
        env={**os.environ, "PYTHONPATH": str(Path(eddyline.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told == {"a": [2, 3, 6, 7], "b": [3, 7], "sums": [0, 7]}
