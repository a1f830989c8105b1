"""What EXPLAIN tells of a join beside others: against the limits that somebody can change."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import eddyline
from eddyline.planner.explain import Question, explained_at_work
from eddyline.spark.explain import Question as Asked
from eddyline.spark.join_report import join_at_work
from laws.test_sharing import BUSY
from laws.without_spark import kernels_alone


def _explained(db: eddyline.Database, name: str) -> str:
    work = join_at_work(db._core.engine, Asked(name, None, ()))  # type: ignore[arg-type]
    assert not isinstance(work, str)
    return explained_at_work(work, Question(None))  # type: ignore[arg-type]


def _batches(db: eddyline.Database, ticks: range) -> None:
    dice = random.Random(1)
    for tick in ticks:
        db.push({name: [(dice.randrange(9), dice.randrange(9), tick) for _ in range(9)] for name in "abc"})
        db.flush()


def test_a_join_beside_others_is_told_against_the_limit_for_all(tmp_path: Path) -> None:
    with kernels_alone(), eddyline.connect(str(tmp_path / "db"), heartbeat=None, clock=lambda: 0, pace=BUSY) as db:
        for name in "abc":
            db.sql(f"CREATE STREAM {name} (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t")
        for name, condition in {"one": "b.v = c.v", "two": "a.v = c.v"}.items():
            windows = ", ".join(f"{stream} [RANGE 9 SEC]" for stream in "abc")
            db.sql(f"CREATE QUERY {name} AS ISTREAM(SELECT a.v AS p FROM {windows} WHERE a.k = b.k AND {condition})")
        _batches(db, range(1, 6))
        enough = _explained(db, "one")
        db.sql("SET cpu_limit = 1e-6")
        _batches(db, range(6, 12))
        text = _explained(db, "one")
    assert "not counted there is what other joins keep as well: a, b, c" in enough
    beside = text[text.index("the planner finds, beside the other joins:") :]
    assert "no join tree fits beside the others, which take " in beside
    # what is at work was added up a batch ago
    for pattern, like in (
        (r"no join trees fit together: ([\d.e-]+) cpu is", r"; with the others ([\d.e-]+) cpu is"),
        (
            r"they fit with SET cpu_limit = ([\d.e-]+)",
            r"beside the others a join tree fits with SET cpu_limit = ([\d.e-]+)",
        ),
    ):
        together, for_one = re.search(pattern, text), re.search(like, beside)
        assert together is not None and for_one is not None
        assert float(for_one[1]) == pytest.approx(float(together[1]), rel=0.1)


def test_what_a_join_reads_twice_is_not_kept_by_others(tmp_path: Path) -> None:
    with kernels_alone(), eddyline.connect(str(tmp_path / "db"), heartbeat=None, clock=lambda: 0, pace=BUSY) as db:
        for name in "abc":
            db.sql(f"CREATE STREAM {name} (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t")
        windows = "a [RANGE 9 SEC] AS x, a [RANGE 9 SEC] AS y, b [RANGE 9 SEC] AS z"
        db.sql(f"CREATE QUERY q AS ISTREAM(SELECT x.v AS p FROM {windows} WHERE x.k = y.v AND y.k = z.v)")
        _batches(db, range(1, 6))
        text = _explained(db, "q")
    assert "not counted" not in text


def test_limits_of_its_own_are_not_told_as_those_that_set_changes(tmp_path: Path) -> None:
    with kernels_alone(), eddyline.connect(str(tmp_path / "db"), heartbeat=None, clock=lambda: 0, pace=BUSY) as db:
        for name in "abc":
            db.sql(f"CREATE STREAM {name} (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t")
        windows = ", ".join(f"{stream} [RANGE 9 SEC]" for stream in "abc")
        for name, how, condition in (
            ("small", "WITH (memory_limit = '1 KB')", "b.v = c.v"),
            ("other", "", "a.v = c.v"),
        ):
            join = f"SELECT a.v AS p FROM {windows} WHERE a.k = b.k AND {condition}"
            db.sql(f"CREATE QUERY {name} {how} AS ISTREAM({join})")
        _batches(db, range(1, 6))
        text = _explained(db, "small")
    assert "beside the others a join tree fits with memory_limit = '" in text
    assert "SET memory_limit" not in text
