"""Borealis' example (section 3.1, Figure 1) from a script and from Python, corrected upstream and downstream.

"The sum of prices of IBM shares during 30 minute intervals every 20 minutes"; a revision of the 2:00 price from $25 to
$22 revises "the 1:40 sum from $80 to $77" and "the 2:00 sum from $62 to $59". Downstream the engine changes what it has
added up; a query that it cannot correct so is corrected upstream, and EXPLAIN says why. The answers are the same.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline import testing
from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from laws.without_spark import kernels_alone

_DAY = datetime(2005, 4, 5)
_QUOTES = (
    ("IBM", 20, "01:40"), ("MSFT", 90, "01:40"), ("IBM", 35, "01:50"), ("MSFT", 91, "02:00"), ("IBM", 25, "02:00"),
    ("IBM", 17, "02:10"), ("IBM", 20, "02:20"), ("IBM", 30, "02:30"),
)  # fmt: skip
_STREAM = "CREATE STREAM quotes (symbol STRING, price INTEGER, at_time TIMESTAMP) {} TIMESTAMP BY at_time"
#: 1:40-2:09 and 2:00-2:29, as half-open windows
_HOPPING = "[RANGE BY '30 minutes' SLIDE BY '20 minutes' START AT '2005-04-05 01:40:00']"
_WAYS = ["upstream", "downstream"]


def _query(way: str) -> str:
    selected = f"SELECT SUM(price) AS total FROM quotes {_HOPPING} WHERE symbol = 'IBM'"
    return f"CREATE QUERY sums WITH (revisions = '{way}') AS {selected}"


def _at(moment: str) -> datetime:
    hours, minutes = map(int, moment.split(":"))
    return _DAY + timedelta(hours=hours, minutes=minutes)


def _said(answers: list[Any]) -> list[tuple[str, str, list[Any], Any]]:
    """(time, op, rows, old rows)"""
    return [
        (f"{datetime(1970, 1, 1) + timedelta(seconds=a.tick):%H:%M}", a.op, list(a.rows), a.old_rows) for a in answers
    ]


_FIRST = [("02:10", "+", [(80,)], None), ("02:30", "+", [(62,)], None)]
_REVISED = [("02:10", "=", [(77,)], ((80,),)), ("02:30", "=", [(59,)], ((62,),))]


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("run", [Session, SparkRun])
def test_from_a_script(tmp_path: Path, run: Any, way: str) -> None:
    rows = [f",,{symbol},{price},{_at(moment)}" for symbol, price, moment in _QUOTES]
    revision = f"=,5,IBM,22,{_at('02:00')}"
    (tmp_path / "quotes.csv").write_text("\n".join(["_op,_ref,symbol,price,at_time", *rows, revision, ""]))
    script = f"{_STREAM.format('')} USING csv OPTIONS (path 'quotes.csv'); {_query(way)}"
    with kernels_alone():
        assert _said(list(run(script, tmp_path, batch_rows=1).answers())) == _FIRST + _REVISED


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("by_key", [False, True])
def test_from_python(way: str, by_key: bool) -> None:
    with kernels_alone(), eddyline.connect(heartbeat=None, clock=lambda: 0) as db:
        db.sql(_STREAM.format("KEY (symbol, at_time)" if by_key else ""))
        sums = db.sql(_query(way))
        db.stream("quotes").push([(symbol, price, _at(moment)) for symbol, price, moment in _QUOTES])
        db.flush()
        assert _said(sums.fetch()) == _FIRST
        if by_key:
            db.stream("quotes").push([("IBM", 22, _at("02:00"))])
        else:
            db.stream("quotes").update(5, symbol="IBM", price=22, at_time=_at("02:00"))
        db.flush()
        assert _said(sums.fetch()) == _REVISED
        # where the price stays the same, nothing is said; and a withdrawn quote takes itself out of both sums
        db.stream("quotes").update(5, symbol="IBM", price=22, at_time=_at("02:00"))
        db.flush()
        assert _said(sums.fetch()) == []
        db.stream("quotes").delete(5)
        db.flush()
        assert _said(sums.fetch()) == [
            ("02:10", "=", [(55,)], ((77,),)),
            ("02:30", "=", [(37,)], ((59,),)),
        ]


@pytest.mark.parametrize("way", _WAYS)
def test_explain_says_how(spark: object, way: str) -> None:
    with testing.database() as db:
        db.sql(_STREAM.format(""))
        db.sql(_query(way))
        told = str(db.sql("EXPLAIN sums"))
    assert f"corrected {way}" in told
