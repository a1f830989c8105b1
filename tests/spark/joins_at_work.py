"""Databases with joins at work, for tests that look inside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import eddyline
from eddyline.kernels.calibration import Measured
from eddyline.planner.explain import Question, explained_at_work
from eddyline.spark.explain import Question as Asked
from eddyline.spark.join_at_work import JoinAtWork
from eddyline.spark.join_report import join_at_work
from eddyline.spark.shared_states import is_shared
from laws.test_sharing import BUSY

#: prices at which what is computed again costs much and what is stored little
STORING_PAYS = Measured(insert=1e-12, purge=1e-12, join=1e-6, compare=1e-12, answer=0, scan=0, statement=-0.01, step=0)
STORING_DOES_NOT = Measured(insert=1.0, purge=1.0, join=1e-9, compare=1e-9, answer=0, scan=0, statement=10.0, step=0)


def open_database(folder: Path) -> eddyline.Database:
    return eddyline.connect(str(folder / "db"), heartbeat=None, clock=lambda: 0, pace=BUSY)


def create_streams(db: eddyline.Database, names: str, clauses: str = "") -> None:
    for name in names:
        db.sql(f"CREATE STREAM {name} (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t {clauses}")


def engine_of(db: eddyline.Database) -> Any:
    return db._core.engine


def join_of(db: eddyline.Database) -> JoinAtWork:
    (query,) = (query for query in engine_of(db).executor.queries() if query.join is not None)
    return query.join


def states_of(db: eddyline.Database) -> dict[str, int]:
    """By the inputs of a state, how many rows it has; those of queries that share it are called by the first one."""
    executor = engine_of(db).executor
    names = {
        log.name: " ".join(name for at, name in enumerate(query.join.of.names) if mask >> at & 1)
        for query in reversed(executor.queries())
        if query.join is not None
        for mask, log in query.join.shared
    }
    kept = {name: stage for name, stage in executor.results.stages.items() if stage.start is not None}
    assert not any("/state/" in name for name in kept), "a query keeps one for itself"
    return {names[name]: sum(s.rows for s in stage.segments) for name, stage in kept.items() if is_shared(name)}


def explained(db: eddyline.Database, name: str) -> str:
    """What EXPLAIN says of the join of a query that stands."""
    work = join_at_work(engine_of(db), Asked(name, None, ()))  # type: ignore[arg-type]
    assert not isinstance(work, str)
    return explained_at_work(work, Question(None))  # type: ignore[arg-type]


def push_to(db: eddyline.Database, names: str, tick: int, rows: int = 4, keys: int = 2) -> None:
    for name in names:
        db.stream(name).push([(at % keys, at, tick) for at in range(rows)])


def choose_prices(db: eddyline.Database, prices: Measured) -> None:
    engine_of(db).join_costs._known = prices
