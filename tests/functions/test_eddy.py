"""Conditions on users' functions in a database: in which order they were asked is told, and kept in mind."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import eddyline
from eddyline import testing
from eddyline.kernels.eddy.knowledge import Knowledge
from eddyline.kernels.eddy.report import Report
from eddyline.spark.eddy_text import told

ROWS = 3000


def _few(values: pa.Array) -> pa.Array:
    """True of one in a hundred."""
    return pc.equal(pc.subtract(values, pc.multiply(pc.divide(values, 100), 100)), 0)


def _most(values: pa.Array) -> pa.Array:
    return pc.greater(values, 10)


def _asked(text: str) -> dict[str, tuple[int, float]]:
    """By operator, how many tuples it was asked of, and the share of them that passed."""
    rows = [line.split() for line in text.splitlines() if line.strip().endswith(("(s.x)", "index"))]
    tables = [row for row in rows if len(row) == 6 and row[0].replace(",", "").isdigit()]
    return {row[-1]: (int(row[0].replace(",", "")), float(row[2])) for row in tables}


@pytest.fixture
def db(spark: object) -> eddyline.Database:
    with testing.database() as made:
        made.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
        made.function("few", _few, returns="BOOLEAN", arguments=["INTEGER"])
        made.function("most", _most, returns="BOOLEAN", arguments=["INTEGER"])
        yield made


def test_what_the_eddy_did_is_told(db: eddyline.Database) -> None:
    db.stream("s").push([(x, x // 100) for x in range(ROWS)])
    text = db.sql("EXPLAIN ANALYZE SELECT x FROM s WHERE most(x) AND few(x)")
    assert f"eddy for most(s.x) AND few(s.x): {ROWS:,} tuples" in text and "decisions" in text
    asked = _asked(text)
    assert asked["few(s.x)"] == (ROWS, pytest.approx(0.01))  # asked first, so of all tuples
    assert asked["most(s.x)"][0] < ROWS / 2
    assert "of tuples: few(s.x), then most(s.x)" in text
    plan = db.sql("EXPLAIN SELECT x FROM s WHERE most(x) AND few(x)")
    assert "in an order that an eddy chooses: most(s.x), few(s.x)" in plan


def test_what_is_learned_goes_to_the_next_batch(db: eddyline.Database) -> None:
    query = db.sql("CREATE QUERY q AS SELECT x FROM s WHERE most(x) AND few(x)")
    for first in range(0, ROWS, 1000):
        db.stream("s").push([(x, x // 100) for x in range(first, first + 1000)])
        db.flush()
    assert [answer.row for answer in query.fetch()] == [(x,) for x in range(100, ROWS, 100)]
    (known,) = db._core.engine.executor.routes.known("q").values()
    assert known.operators[known.order()[0]] == "few(s.x)"
    assert known.quiet > 1000  # since the first batch, not since the last
    db.sql("DROP QUERY q")
    assert not db._core.engine.executor.routes.known("q")


def test_members_of_a_class_compute_only_what_somebody_may_want(db: eddyline.Database) -> None:
    db.function("score", lambda x: pc.multiply(pc.cast(x, pa.float64()), 0.5), returns="DOUBLE", arguments=["INTEGER"])
    low = list(range(0, 200, 10))
    template = "SELECT x FROM s WHERE x BETWEEN :low AND :high AND score(x) > :score"
    many = db.queries(template, {"low": low, "high": [n + 4 for n in low], "score": [n / 2 + 1 for n in low]}, "m")
    db.stream("s").push([(x, x // 100) for x in range(ROWS)])
    db.flush()
    assert [answer.row for answer in many["m.3"].fetch()] == [(23,), (24,)]
    text = db.sql("EXPLAIN ANALYZE `m.3`")
    assert _asked(text)["score(s.x)"][0] < ROWS / 2  # the sample, and the hundred that somebody may want
    assert "by an index on" in text and "an eddy decides" in text


def test_a_report_in_words() -> None:
    report = Report(("a", "b"))
    report.decided((1, 0), 900)
    report.decided((0, 1), 100)
    report.ran(0, 200, 100, 0.002)
    report.ran(1, 1000, 100, 0.001)
    report.learned = Knowledge(("a", "b"))
    head, knobs, columns, first, second, *orders = told({"a AND b": report})
    assert head == "eddy for a AND b: 1,000 tuples, 2 decisions, 667 a second, 0 tuples sampled"
    assert knobs == "  a decision is for 256 tuples and 1 of 2 operators now"
    assert columns.split() == ["tuples", "passed", "selectivity", "µs/tuple", "tickets", "operator"]
    assert first.split()[:4] == ["200", "100", "0.500", "10.00"] and first.endswith(" a")
    assert second.split()[:4] == ["1,000", "100", "0.100", "1.00"] and second.endswith(" b")
    assert orders == ["   90% of tuples: b, then a", "   10% of tuples: a, then b"]
