"""How far back the standing queries can still look, found from their plans."""

from __future__ import annotations

import pytest

from eddyline.binder.statement import Define, Register, StatementBinder
from eddyline.language import parse_script
from eddyline.log.results import Record, Results, StageResult
from eddyline.rules import optimize
from eddyline.spark.needs import cuts
from eddyline.spark.stages import Stage, cut

STREAMS = (
    "CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t; CREATE STREAM u (y INTEGER, t INTEGER) TIMESTAMP BY t;"
)


def stages(*queries: str) -> list[Stage]:
    binder = StatementBinder()
    steps = [step for s in parse_script(STREAMS + ";".join(queries)) for step in binder.bind(s.tree)]
    assert sum(isinstance(step, Define) for step in steps) == 2
    found = [step for step in steps if isinstance(step, Register)]
    return [stage for q in found for stage in cut(q.name, optimize(q.query.plan).plan, q.query.columns)]


def needs(
    *queries: str, s: int | None = 1000, u: int | None = 900, closed: int = 1100, begun: bool = True
) -> dict[str, int]:
    some = stages(*queries)
    results = Results(Record(5, 5, closed + 1, closed))
    results.stages = {stage.name: StageResult(start=0) for stage in some} if begun else {}
    return cuts(some, {"s": s, "u": u}, results)


def test_without_queries_the_horizon_decides() -> None:
    assert needs() == {"s": 1000, "u": 900}
    assert needs(s=None) == {"u": 900}
    assert needs("SELECT x FROM s WHERE x > 1") == {"s": 1000, "u": 900}  # tuple by tuple: nothing is read again


def test_windows_reach_back_by_their_width_and_slide() -> None:
    hundred = needs("SELECT SUM(x) FROM s [FROM NOW-99 TO NOW SLIDE 10 SEC]")
    assert 1000 - 99 - 3 * 10 <= hundred["s"] <= 1000 - 99 - 10 and hundred["u"] == 900
    late = needs("SELECT SUM(x) FROM s [FROM NOW-99 TO NOW SLIDE 10 SEC]", closed=500)  # the clock is behind
    assert 500 - 99 - 3 * 10 <= late["s"] <= 500 - 99
    assert 1000 - 60 - 10 <= needs("SELECT x FROM s [RANGE 60 SEC]")["s"] <= 1000 - 60
    assert 1000 - 60 - 60 <= needs("SELECT SUM(x) FROM s [RANGE BY '60 seconds' SLIDE BY '20 seconds']")["s"] <= 940


def test_a_join_keeps_what_either_side_can_change() -> None:
    join = "SELECT x, y FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC], u [FROM NOW-9 TO NOW SLIDE 10 SEC] WHERE x = y"
    found = needs(join)
    assert found["s"] == found["u"] < 900 - 9  # late tuples of u meet old ones of s
    assert needs(join, u=None) == {}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x FROM s [UNBOUNDED]",
        "SELECT SUM(x) FROM s [FROM NOW-9 TO NOW SLIDE 10 ROWS]",
        "SELECT x FROM s [ROWS 5]",
        "SELECT x FROM s [PARTITION BY x ROWS 5]",
        "SELECT MAX(x) FROM s for (t = ST; ; t++) { WindowIs(s, t - 4, t); }",
    ],
)
def test_what_has_no_bound_keeps_everything(query: str) -> None:
    assert "s" not in needs(query)


def test_a_query_that_has_not_begun_keeps_everything() -> None:
    assert needs("SELECT SUM(x) FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC]", begun=False) == {"u": 900}


def test_inner_stages_are_cut_and_answers_are_kept() -> None:
    nested = (
        "SELECT SUM(m) FROM (RSTREAM(SELECT MAX(x) AS m FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC])) AS v "
        "[FROM NOW-99 TO NOW SLIDE 20 SEC]"
    )
    found = needs(nested)
    assert set(found) == {"s", "u", "q1/1"}
    assert 1000 - 99 - 100 <= found["q1/1"] <= 1000 - 99 and found["s"] < 1000
    wide = nested.replace("NOW-99 TO NOW SLIDE 20 SEC", "NOW-5 TO NOW SLIDE 1 ROWS")
    assert set(needs(wide)) == {"s", "u"}
