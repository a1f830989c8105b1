"""A thousand queries over revised input, corrected upstream, downstream and as auto has it, together and alone, against
the corrected input: what each should say is computed once, for all, by a database that knows nothing of streams."""

from __future__ import annotations

import os
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import eddyline
from eddyline.spark.correcting import Choice
from laws.restless import Fickle
from laws.streams import EXAMPLES
from laws.without_spark import kernels_alone

_WINDOW = "[FROM NOW-9 TO NOW SLIDE 5 SEC]"
_END = 80
#: a template with parameters, and the same over the tables `tuples`, `members` and `windows`
TOTALS = (
    f"SELECT COUNT(*) AS n, SUM(b) AS x, MAX(b) AS y FROM s {_WINDOW} WHERE a >= :low AND b <> :other",
    """SELECT member, tick, count(t) AS n, sum(b) AS x, max(b) AS y FROM members CROSS JOIN windows
       LEFT JOIN tuples ON t BETWEEN tick - 9 AND tick AND a >= low AND b <> other GROUP BY member, tick""",
)
GROUPS = (
    f"SELECT k, COUNT(*) AS n, AVG(b) AS x, MIN(b) AS y FROM s {_WINDOW} "
    "WHERE b > :low GROUP BY k HAVING COUNT(*) > :other",
    """SELECT member, tick, k, count(*) AS n, avg(b) AS x, min(b) AS y FROM members CROSS JOIN windows
       JOIN tuples ON t BETWEEN tick - 9 AND tick AND b > low
       GROUP BY member, tick, k, other HAVING count(*) > other""",
)
TUPLES = (
    "SELECT k, b FROM s WHERE b >= :low AND a <> :other",
    "SELECT member, t AS tick, k, b FROM members JOIN tuples ON b >= low AND a <> other",
)


_COLUMNS = pa.schema({"a": pa.int32(), "b": pa.float64(), "t": pa.int32(), "k": pa.string()})
_SCHEMA = pa.schema([pa.field("_op", pa.string()), pa.field("_ref", pa.int64()), *_COLUMNS])


@dataclass
class Course:
    """Pushes of new, late, replaced and withdrawn tuples, cut at random, and the tuples that stand in the end."""

    pushes: list[list[dict[str, Any]]]
    tuples: pa.Table


def course(seed: int) -> Course:
    chance = np.random.default_rng(seed)
    standing: dict[int, tuple[Any, ...]] = {}
    rows: list[dict[str, Any]] = []
    came = 0
    for now in np.sort(chance.integers(0, _END, 240)).tolist():
        kind = chance.choice(["+", "+", "+", "=", "-"]) if standing else "+"
        late = int(chance.choice([0, 0, 0, 4, 30]))
        a, b, k = (None if chance.random() < 0.1 else int(chance.integers(0, many)) for many in (6, 48, 4))
        # sums of quarters are exact in whatever order
        version = (a, None if b is None else b / 4 - 3, max(0, now - late), None if k is None else "xyz "[k])
        if kind == "+":
            came += 1
            standing[came] = version
            rows.append(_row("+", None, version))
        else:
            index = int(chance.choice(list(standing)[-40:]))
            if kind == "=":
                standing[index] = version
            else:
                del standing[index]
            rows.append(_row(kind, index, version if kind == "=" else (None,) * 4))
    cuts = np.sort(chance.integers(0, len(rows), chance.integers(0, 12))).tolist()
    pushes = [rows[first:end] for first, end in zip([0, *cuts], [*cuts, len(rows)], strict=True) if first < end]
    tuples = pa.Table.from_pylist([dict(zip("abtk", version, strict=True)) for version in standing.values()], _COLUMNS)
    return Course(pushes, tuples)


def _row(op: str, ref: int | None, version: tuple[Any, ...]) -> dict[str, Any]:
    return {"_op": op, "_ref": ref, **dict(zip("abtk", version, strict=True))}


def wanted(recomputed: str, members: pa.Table, tuples: pa.Table) -> list[tuple[Any, ...]]:
    with duckdb.connect() as database:
        database.register("tuples", tuples)
        database.register("members", members)
        database.execute(f"CREATE TABLE windows AS SELECT unnest(range(0, {_END + 11}, 5)) AS tick")
        return sorted(database.execute(recomputed).fetchall(), key=repr)


def told(template: str, members: pa.Table, story: Course, way: str) -> list[tuple[Any, ...]]:
    """All that the members have said, folded: (member, tick, values …)."""
    with eddyline.connect(heartbeat=None, clock=lambda: 0, master="local[2]") as db:
        db.sql("CREATE STREAM s (a INTEGER, b DOUBLE, t INTEGER, k STRING) TIMESTAMP BY t")
        db.advance(0)
        names = _stand(db, template, members, way)
        for rows in story.pushes:
            db.stream("s").push(pa.Table.from_pylist(rows, schema=_SCHEMA))
            db.flush()
        db.advance(_END + 10, closed=True)
        db.flush()
        return sorted(_folded(db, names), key=repr)


def _stand(db: eddyline.Database, template: str, members: pa.Table, way: str) -> list[str]:
    return db.queries(template, members.drop_columns(["member"]), name="n", revisions=way).names


def _folded(db: eddyline.Database, names: list[str]) -> list[tuple[Any, ...]]:
    """From the result logs as they are: to fetch each member's answers would read the log of all a thousand times."""
    engine, logs = db._core.engine, {}
    for member, name in enumerate(names):
        found = db._core.definitions.find(name)
        record = found.record if found is not None else None
        seat = None if record is None else record.seat
        logs.setdefault(record.log if seat is None else seat.log, {})[-1 if seat is None else seat.number] = member
    rows: list[tuple[Any, ...]] = []
    for log, numbers in logs.items():
        segments = engine.executor.results.stages[log].segments
        table = pa.concat_tables([engine.storage.read_table(segment.path) for segment in segments])
        if "_header" in table.column_names:
            table = table.filter(pa.compute.invert(table.column("_header")))
        values = [name for name in table.column_names if not name.startswith("_")]
        query = "_query" if "_query" in table.column_names else "-1"
        with duckdb.connect() as database:
            database.register("said", table)
            quoted = ", ".join(f'"{name}"' for name in values)
            net = f"SELECT {query}, _tick, {quoted}, sum(_diff) FROM said GROUP BY ALL HAVING sum(_diff) <> 0"
            for number, tick, *row, weight in database.execute(net).fetchall():
                assert weight > 0
                rows += [(numbers[number], tick, *row)] * int(weight)
    return rows


def _members(seed: int, count: int) -> pa.Table:
    chance = np.random.default_rng(seed + 1)
    low, other = chance.integers(-3, 6, count), chance.integers(-1, 4, count)
    return pa.table({"member": np.arange(count), "low": low, "other": other})


def times(number: int) -> Any:
    return pytest.mark.parametrize("time", range(number * EXAMPLES))


@pytest.mark.parametrize("asked", [TOTALS, GROUPS, TUPLES])
@times(1)
def test_a_thousand_queries_say_what_the_corrected_input_says(asked: tuple[str, str], time: int, seed: int) -> None:
    story, members = course(seed), _members(seed, 1000)
    expected = wanted(asked[1], members, story.tuples)
    made: list[Choice] = []
    with patch.dict(os.environ, EDDYLINE_SHARE_FROM="1"):
        with kernels_alone():
            for way in ("upstream", "downstream", "auto"):
                assert told(asked[0], members, story, way) == expected, way
        with kernels_alone(corrections=lambda: Fickle(Random(seed), made)):  # so few tuples are seldom worth a change
            assert told(asked[0], members, story, "auto") == expected, "auto, at random"
    assert len(made) < 8 or any(choice.keeps for choice in made), "slices were never kept"
    assert made or len(story.pushes) < 5 or asked is TUPLES, "nothing was ever chosen"


@pytest.mark.parametrize("asked", [TOTALS, GROUPS])
@times(2)
def test_those_who_stand_alone_say_it_too(asked: tuple[str, str], time: int, seed: int) -> None:
    story, members = course(seed), _members(seed, 4)
    expected = wanted(asked[1], members, story.tuples)
    with patch.dict(os.environ, EDDYLINE_SHARE_FROM="1000000"):
        with kernels_alone():
            assert told(asked[0], members, story, "downstream") == expected
        with kernels_alone(corrections=lambda: Fickle(Random(seed))):
            assert told(asked[0], members, story, "auto") == expected, "auto, at random"


@pytest.mark.long
@pytest.mark.parametrize("way", ["upstream", "downstream"])
@pytest.mark.parametrize("asked", [TOTALS, GROUPS])
def test_members_on_sparks_own_plans_say_it_too(spark: object, asked: tuple[str, str], way: str, seed: int) -> None:
    """Fewer of them, in fewer batches: each takes Spark seconds."""
    story, members = course(seed), _members(seed, 20)
    rows = [row for push in story.pushes for row in push]
    story.pushes = [rows[:120], rows[120:200], rows[200:]]
    with patch.dict(os.environ, EDDYLINE_SHARE_FROM="1", EDDYLINE_KERNELS="off"):
        assert told(asked[0], members, story, way) == wanted(asked[1], members, story.tuples)
