"""Tags that are over do not stay in memory, and yet tuples that come late find them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.algebra.answer import TupleAnswer
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.tag import Applicability, TickTag
from eddyline.algebra.types import INTEGER
from eddyline.log import coverage, tagged
from eddyline.log.active_tag import Stretch
from eddyline.log.coverage import Coverage
from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from laws.without_spark import kernels_alone
from tags.test_spark_laws import LAW, QUERIES, lines, run

SCHEMA = Schema((Field("x", INTEGER),))


def _tuple(index: int, tick: int) -> Stretch:
    return Stretch.of(pa.table({"x": pa.array([index], pa.int32())}), np.array([index]), np.array([tick]))


@pytest.mark.parametrize("stretches", [500, pytest.param(50_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("lifespan", [None, 1])
def test_a_million_tags_that_are_over_do_not_grow_what_is_kept(lifespan: int | None, stretches: int) -> None:
    """Stretches of twenty tags each, instant ones or such that are over with the next tick."""
    tags = Coverage(SCHEMA, "s", [str], None, most=100)
    on = Applicability("s")
    most = 0
    for tick in range(stretches):
        for number in range(20):
            tags.arrive(TickTag("A", on, f"u{number}", tick, "objective", None, lifespan, "C", 20 * tick + number))
        assert len(tags.covered(_tuple(tick + 1, tick))) == 1
        most = max(most, len(tags))
    assert most <= 2 * 100 + 40
    assert (tags.forgotten is None) == (lifespan is None)


@settings(LAW)
@given(lines(), st.sampled_from(QUERIES[:3]), st.sampled_from([1, 3, 100]))
def test_late_tuples_find_what_was_forgotten(s: list[str], query: str, batch_rows: int) -> None:
    """With none at hand, every late tuple needs the log."""
    files = {"s.jsonl": s, "r.jsonl": []}
    sql = f"CREATE QUERY q AS {query};"
    expected = run(Session, sql, files, batch_rows)
    with kernels_alone(), at_hand(0):
        found = run(SparkRun, sql, files, batch_rows)
    assert found == expected


def at_hand(most: int) -> Any:
    """Of the tags that are over, no more are kept in memory."""
    made = coverage.Coverage

    def little(*given: Any, **named: Any) -> Coverage:
        return made(*given, **named, most=most)

    return patch.object(tagged, "Coverage", little)


def test_a_database_forgets_and_finds_again(tmp_path: Path) -> None:
    with kernels_alone(), at_hand(2):
        db = eddyline.connect(tmp_path, heartbeat=None, clock=lambda: 0)
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
        db.sql("CREATE QUERY q AS SELECT x FROM s WITH TAGS")
        for tick in range(50):
            tag = {"content": f"n{tick}", "lifespan": 1, "tagger": f"u{tick}"}
            db.stream("s").push([{"_op": "#", "_tag": tag, "t": tick}, {"x": tick, "t": tick}])
        tags = db._core.engine.ingest._tagged["s"]
        assert tags is not None and len(tags._coverage) <= 6
        db.stream("s").push([{"x": 100, "t": 7}, {"x": 101, "t": 30}])
        db.stream("s").push([{"x": 102, "t": 50}])
        assert len(tags._coverage) <= 6
        db.close()
        db = eddyline.connect(tmp_path, heartbeat=None, clock=lambda: 0)
        db.stream("s").push([{"x": 103, "t": 3}])
        db.flush()
        answers = [a for a in db.query("q").fetch() if isinstance(a, TupleAnswer)]
        late = {a.row[0]: [tag.content for tag in a.tags or ()] for a in answers if a.row[0] >= 100}
        assert late == {100: ["n7"], 101: ["n30"], 102: [], 103: ["n3"]}
        db.close()
