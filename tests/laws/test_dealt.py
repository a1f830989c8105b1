"""Answers that are written once for all who get them: members say what they would say alone, whatever is merged or
revised, and so do those who read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

import eddyline
from eddyline.kernels.grouped.filter import GroupedFilter
from eddyline.log.dealt import is_dealt
from eddyline.log.storage import Storage
from laws.test_sharing import EVERYONE, inserted, opened_again, revised, runs, stories, the_same
from laws.without_spark import kernels_alone

_selections = st.sampled_from(
    ["SELECT a, b FROM s WHERE {}", "SELECT b, t, a FROM s WHERE {}", "SELECT a, b FROM s WHERE b >= 1 AND {}"]
)


@contextmanager
def all_dealt(by_ranges: bool) -> Iterator[list[str]]:
    """However few they are, with pairs or, where that can be, without; gives the paths of what was written so."""
    written: list[str] = []
    write = Storage.write_dealt

    def told(storage: Storage, name: str, dealt: Any) -> int:
        written.append(name)
        return write(storage, name, dealt)

    with (
        patch("eddyline.kernels.matching.worth_dealing", lambda pairs, rows: pairs > 0),
        patch.object(GroupedFilter, "has_many", by_ranges),
        patch("eddyline.spark.form_table.MOST_JOINED", 0),
        patch.object(Storage, "write_dealt", told),
    ):
        yield written


def test_selections_that_come_and_go_say_what_they_would_say_alone(spark: object) -> None:
    paths: list[str] = []

    @runs(30)
    @given(stories(_selections, revised, opened_again, inserted), st.booleans())
    def told(events: tuple[tuple[str, Any], ...], by_ranges: bool) -> None:
        with kernels_alone(), all_dealt(by_ranges) as written:
            the_same(events)
            paths.extend(written)

    told()
    assert any("merged-" in path for path in paths)
    assert any("merged-" not in path for path in paths)


#: so many that they are worth it without being told, which tasks of Spark's cannot be
ROWS = [(n % 7, n % 5 if n % 3 else None, n // 100) for n in range(12_000)]


@contextmanager
def _members() -> Iterator[Any]:
    with eddyline.connect(heartbeat=None, clock=lambda: 0) as db:
        db.sql("CREATE STREAM s (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t")
        with patch.dict("os.environ", EVERYONE):
            for number in range(4):
                db.sql(f"CREATE QUERY n{number} AS SELECT a, b, t FROM s WHERE a >= {number}")
        yield db


def _wanted(least: int) -> list[tuple[Any, ...]]:
    return [row for row in ROWS if row[0] >= least]


def _dealt(db: Any) -> list[str]:
    """The segments of the class that are written once for all."""
    stages = db._core.engine.executor.results.stages
    return [segment.path for stage in stages.values() for segment in stage.segments if is_dealt(segment.path)]


def test_members_on_spark_and_who_reads_them(spark: object) -> None:
    """A query over a member's stream, and a member's changes as a DataFrame."""
    with _members() as db, patch("eddyline.spark.form_table.MOST_JOINED", 0):
        db.stream("s").push(ROWS)
        db.flush()
        assert _dealt(db)
        window = "[FROM NOW-9 TO NOW SLIDE 10 SEC]"
        db.sql(f"CREATE QUERY above FROM HISTORY AS SELECT COUNT(*) AS n, SUM(t) AS m FROM n2 {window} WHERE a < 5")
        db.flush()
        above = db.query("above").fetch()
        assert above
        for answer in above:
            times = [t for a, _, t in _wanted(2) if a < 5 and answer.tick - 9 <= t <= answer.tick]
            assert answer.rows == ((len(times), sum(times) if times else None),)
        for number in range(4):
            assert [answer.row for answer in db.query(f"n{number}").fetch()] == _wanted(number)
            changes = db.query(f"n{number}").to_spark().select("a", "b", "t", "_diff").collect()
            assert Counter(map(tuple, changes)) == Counter((*row, 1) for row in _wanted(number))
