"""What a sample tells of conditions is what all pairs tell that live together, where all tuples are drawn."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from typing import Any

import duckdb
import pytest

import eddyline
from eddyline.kernels import task
from eddyline.planner.explain import Question, explained_at_work
from eddyline.spark.evaluate.sampling import ALL
from eddyline.spark.explain import Question as Asked
from eddyline.spark.join_report import join_at_work
from eddyline.spark.observing import Observed
from faults.in_doubt import opened
from laws.without_spark import kernels_alone

_WIDTHS = {"a": 3, "b": 6, "c": 9}
_NOW = (10, 20)  # the ticks of the batch that is looked at


def _rows(rng: random.Random, first: int, last: int) -> list[tuple[int | None, int, int]]:
    return [(rng.choice([0, 1, 2, None]), rng.randrange(9), t) for t in range(first, last + 1) for _ in range(3)]


def _lives(stream: str, rows: list[tuple[int | None, int, int]]) -> list[tuple[int | None, int, int, int]]:
    """Of the tuples that live in the batch; some whose life was just over are drawn, too."""
    width = _WIDTHS[stream]
    return [(k, v, t, t + width) for k, v, t in rows if t <= _NOW[1] and t + width + 2 >= _NOW[0]]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Observed]:
    """What joins were observed, batch by batch."""
    found: list[Observed] = []
    see = Observed.see

    def seeing(self: Observed, *given: Any) -> None:
        see(self, *given)
        found.append(self)

    monkeypatch.setattr(Observed, "see", seeing)
    return found


def test_a_sample_counts_pairs_that_live_together_and_those_of_them_that_fit(
    tmp_path: Path, seed: int, seen: list[Observed]
) -> None:
    rng = random.Random(seed)
    first = {name: _rows(rng, 1, _NOW[0]) for name in _WIDTHS}
    second = {name: _rows(rng, _NOW[0] + 1, _NOW[1]) for name in _WIDTHS}
    inputs = ", ".join(f"{name} [RANGE {width} SEC]" for name, width in _WIDTHS.items())
    with kernels_alone(), opened(str(tmp_path / "db")) as db:
        for name in _WIDTHS:
            db.sql(f"CREATE STREAM {name} (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t")
        db.sql(f"ISTREAM(SELECT a.v AS x, c.v AS y FROM {inputs} WHERE a.k = b.k AND b.v < c.v)")
        db.push(first)
        db.flush()
        seen[-1].selectivities.clear()  # of the first batch, which has a sample of its own
        db.push(second)
        db.flush()
    lives = {name: _lives(name, first[name] + second[name]) for name in _WIDTHS}
    conditions: list[tuple[str, str, Callable[[Any, Any], bool]]] = [
        ("a", "b", lambda a, b: a[0] is not None and a[0] == b[0]),
        ("b", "c", lambda b, c: b[1] < c[1]),
    ]
    expected = []
    for one, other, fits in conditions:
        together = [(x, y) for x, y in product(lives[one], lives[other]) if x[2] <= y[3] and y[2] <= x[3]]
        expected.append(sum(fits(x, y) for x, y in together) / len(together))
    assert seen and seen[-1].sampled == 1
    assert sorted(seen[-1].selectivities.values()) == pytest.approx(sorted(expected))


def test_pairs_are_counted_and_looked_at_among_the_same_tuples(
    tmp_path: Path, seed: int, seen: list[Observed], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where few are drawn, too: of a condition that always holds all pairs fit, whichever tuples they are."""
    rng = random.Random(seed)
    monkeypatch.setattr("eddyline.spark.evaluate.sampling._wanted", lambda conditions: 8)
    inputs = ", ".join(f"{name} [RANGE {width} SEC]" for name, width in _WIDTHS.items())
    with kernels_alone(), opened(str(tmp_path / "db")) as db:
        for name in _WIDTHS:
            db.sql(f"CREATE STREAM {name} (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t")
        db.sql(f"ISTREAM(SELECT a.v AS x, c.v AS y FROM {inputs} WHERE a.v + b.v >= 0 AND b.v + c.v >= 0)")
        for last in range(5, 41, 5):
            db.push({name: _rows(rng, last - 4, last) for name in _WIDTHS})
            db.flush()
    told = [share for observed in seen for share in observed.selectivities.values()]
    assert told and set(told) == {1.0}


def _clique(db: eddyline.Database, inputs: int, seed: int) -> None:
    rng = random.Random(seed)
    names = [f"s{at}" for at in range(inputs)]
    for name in names:
        db.sql(f"CREATE STREAM {name} (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t")
    conditions = " AND ".join(f"{a}.v + {b}.k = {b}.v" for a, b in combinations(names, 2))
    windows = ", ".join(f"{name} [RANGE 9 SEC]" for name in names)
    db.sql(f"CREATE QUERY q AS ISTREAM(SELECT s0.k FROM {windows} WHERE {conditions})")
    for batch in (1, 2):
        db.push({name: [(rng.randrange(9**6), rng.randrange(9**6), batch) for _ in range(12)] for name in names})
        db.flush()


def test_more_conditions_are_sampled_than_the_kernel_binds_in_one_statement(
    tmp_path: Path, seed: int, seen: list[Observed]
) -> None:
    with kernels_alone(), opened(str(tmp_path / "db")) as db:
        _clique(db, 14, seed)
    assert len(seen[-1].selectivities) == 14 * 13 // 2 and not seen[-1].unsampled


def test_a_sample_that_fails_is_told(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    all_rows_of = task._all_rows_of

    def failing(statement: str, connection: duckdb.DuckDBPyConnection) -> Any:
        if ALL in statement:
            raise duckdb.BinderException("Binder Error: too deep\nand more")
        return all_rows_of(statement, connection)

    monkeypatch.setattr(task, "_all_rows_of", failing)
    with kernels_alone(), opened(str(tmp_path / "db")) as db:
        _clique(db, 3, seed)
        work = join_at_work(db._core.engine, Asked("q", None, ()))  # type: ignore[arg-type]
    assert not isinstance(work, str)
    told = explained_at_work(work, Question(None))  # type: ignore[arg-type]
    assert "how selective its conditions are could not be sampled: Binder Error: too deep\n" in told
