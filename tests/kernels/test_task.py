"""What a task says when the kernel stops half-way."""

from __future__ import annotations

import re
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from eddyline.kernels.leaves import Leaves
from eddyline.kernels.sheet import Sheet
from eddyline.kernels.task import Work, bound, done, kernel
from eddyline.log.storage import Storage

SCHEMA = pa.schema([("_tick", pa.int64()), ("_diff", pa.int8()), ("x", pa.int64())])


def work(root: Path, statement: str, **more: Any) -> Work:
    given = {"files": {}, "tables": {}, **more}
    return Work(stage="s", batch=0, root=str(root), statement=statement, schema=SCHEMA, folder="results/s", **given)


def rows_of(number: int) -> pa.Table:
    return pa.table([[number], pa.array([1], pa.int8()), [number]], schema=SCHEMA)


@pytest.mark.parametrize("few", [True, False])
def test_a_name_stands_for_what_each_work_means_by_it(tmp_path: Path, few: bool) -> None:
    """Files stay open from one work to the next, unless the next one means others, or rows of its own."""
    storage = Storage(str(tmp_path))
    for number in (1, 2):
        storage.write_table(f"{number}.parquet", rows_of(number))
    select = "SELECT * FROM leaf0"
    meanings: list[dict[str, Any]] = [
        {"files": {"leaf0": ("1.parquet",)}},
        {"files": {"leaf0": ("1.parquet",)}},
        {"files": {"leaf0": ("2.parquet",)}},
        {"tables": {"leaf0": rows_of(3)}},
        {"files": {"leaf0": ("2.parquet",)}, "few": not few},
        {"files": {"leaf0": ("2.parquet",)}},
    ]
    told = list(done([work(tmp_path, select, **{"few": few, **meaning}) for meaning in meanings]))
    assert not [reference.refused for reference in told if reference.refused]
    found = [storage.read_table(reference.segment.path) for reference in told if reference.segment]
    assert [table.column("x").to_pylist() for table in found] == [[1], [1], [2], [3], [2], [2]]


def test_works_of_one_task_read_a_segment_once(tmp_path: Path) -> None:
    Storage(str(tmp_path)).write_table("1.parquet", rows_of(1))
    one = work(tmp_path, "SELECT * FROM leaf0", files={"leaf0": ("1.parquet",)}, few=True)
    with patch.object(Storage, "dataset", autospec=True, side_effect=Storage.dataset) as opened:
        assert sum(reference.segment is not None for reference in done([one] * 5)) == 5
    assert opened.call_count == 1


def test_steps_that_only_choose_are_one_part_of_a_statement() -> None:
    sheet = Sheet()
    read = sheet.read(["a"], {"a": "INT", "b": "INT", "c": "INT"}, ["a AS x", "b AS y", "c AS z"])
    made = read.where("x > 1").select("x", "y").where("y > 2").selectExpr("`y`", "x").selectExpr("*", "x + y AS sum")
    assert made.statement() == (
        "WITH f2 AS NOT MATERIALIZED (SELECT a AS x, b AS y, c AS z FROM leaf0) "
        'SELECT "y", "x", x + y AS sum FROM f2 WHERE (x > CAST(1 AS INT)) AND (y > CAST(2 AS INT))'
    )
    assert made.columns == ["y", "x", "sum"]
    twice = read.where("x > 1")
    assert twice.unionAll(twice.select("x", "y", "z")).statement().count("x > CAST") == 1


def test_an_overflow_after_many_rows_is_no_trouble_with_files(tmp_path: Path) -> None:
    """The kernel tells of it through a stream of rows, as it tells of files that cannot be read."""
    statement = """
        SELECT i AS _tick, CAST(1 AS TINYINT) AS _diff, 9223372036854775800 + i AS x FROM range(-3000000, 3000000) t(i)
    """
    *before, refused, spent = done([work(tmp_path, statement)])
    assert before and all(reference.segment is not None for reference in before)
    assert "Overflow" in refused.refused and refused.segment is None
    assert spent.seconds > 0 and spent.segment is None and not spent.refused


@pytest.mark.parametrize("ordered", [True, False])
def test_joins_run_in_the_order_of_the_statement_if_that_is_wanted(tmp_path: Path, ordered: bool) -> None:
    """The larger of two inputs is to be probed first, which the kernel would not do by itself."""
    rows = {"one": pa.table({"k": [1], "m": [1]}), "large": pa.table({"k": range(5_000)})}
    rows["small"] = pa.table({"m": range(5)})
    first = "SELECT one.m FROM one JOIN large ON one.k = large.k"
    statement = f"WITH f AS NOT MATERIALIZED ({first}) SELECT small.m FROM f JOIN small ON f.m = small.m"
    with closing(Leaves(kernel())) as leaves:
        with bound(work(tmp_path, statement, tables=rows, ordered=ordered), leaves) as connection:
            plan = connection.execute(f"EXPLAIN {statement}").fetchall()[0][1]
        assert connection.execute("SELECT current_setting('disabled_optimizers')").fetchall() == [("",)]
    last_and_first = re.findall(r"Conditions: (\w = \w)", plan)
    assert last_and_first == (["m = m", "k = k"] if ordered else ["k = k", "m = m"])


def test_what_modules_have_made_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's workers look for garbage after each task. Here, in no such worker, nobody does."""
    frozen: list[int] = []
    monkeypatch.setattr("gc.freeze", lambda: frozen.append(1))
    monkeypatch.setattr("eddyline.kernels.task._modules", 0)
    works = [work(tmp_path, "SELECT 1::BIGINT, 1::TINYINT, 1::BIGINT")]
    list(done(works))
    assert not frozen
    monkeypatch.setenv("SPARK_REUSE_WORKER", "1")
    list(done(works))
    list(done(works))
    assert len(frozen) == 1
    monkeypatch.setitem(sys.modules, "loaded_later", ModuleType("loaded_later"))
    list(done(works))
    assert len(frozen) == 2
