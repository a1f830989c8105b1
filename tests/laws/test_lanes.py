"""Lanes never change an answer: whoever runs aside, in whatever steps, ends up with what it would have said anyway."""

from __future__ import annotations

import random
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

import eddyline
from laws.restless import Fickle, Restless, late_lanes
from laws.streams import folded
from laws.test_sharing import BUSY, ints, runs
from laws.without_spark import kernels_alone, one_batch

TEMPLATES = [
    "SELECT a, b FROM s WHERE b > :low",
    "SELECT a, SUM(b) AS m FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] WHERE b > :low GROUP BY a",
    "ISTREAM(SELECT a, b FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC] WHERE b > :low)",
]
QUERIES = [
    "SELECT a, b FROM s WHERE b > 1",
    "SELECT a, b FROM s WHERE b > 2",
    "SELECT COUNT(*) AS n, SUM(b) AS m FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC]",
    "SELECT a, COUNT(*) AS n FROM s [FROM NOW-3 TO NOW SLIDE 3 SEC] WHERE b > 0 GROUP BY a",
    "SELECT b, c FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC], (SELECT a AS k, c, t AS u FROM r) "
    "[FROM NOW-2 TO NOW SLIDE 3 SEC] AS r WHERE a = k",
    "RSTREAM(SELECT a, b FROM s [FROM NOW-2 TO NOW SLIDE 2 SEC])",
    "ISTREAM(SELECT a FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC] WHERE b > 0)",
    "ISTREAM(SELECT a FROM s [FROM NOW-5 TO NOW SLIDE 3 SEC] WHERE b > 1)",
    "SELECT MAX(m) AS x FROM (RSTREAM(SELECT SUM(b) AS m FROM s [FROM NOW-2 TO NOW SLIDE 2 SEC])) AS v "
    "[FROM NOW-5 TO NOW SLIDE 4 SEC]",
    "SELECT a, b FROM s [FROM NOW-2 TO NOW SLIDE 1 ROWS]",
    "SELECT a FROM s [RANGE 3 SEC]",
    "SELECT SUM(b) AS m FROM s [RANGE BY '4 seconds' SLIDE BY '2 seconds']",
    "SELECT COUNT(*) AS n FROM s for (t = ST; t < ST + 12; t += 3) { WindowIs(s, t - 4, t); }",
]


row = st.tuples(ints, st.none() | ints, st.integers(-6, 3))
events = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.lists(row, min_size=1, max_size=5)),
        st.tuples(st.just("push"), st.lists(row, min_size=1, max_size=5)),
        st.tuples(st.just("add"), st.tuples(st.integers(0, len(QUERIES) - 1), st.booleans())),
        st.tuples(st.just("add"), st.tuples(st.integers(0, len(QUERIES) - 1), st.just(True))),
        st.tuples(st.just("many"), st.tuples(st.integers(0, len(TEMPLATES) - 1), st.booleans())),
        st.tuples(st.just("revise"), st.tuples(st.integers(1, 12), st.none() | ints)),
        st.tuples(st.just("drop"), st.integers(0, 20)),
        st.tuples(st.sampled_from(["flush", "batch", "batch", "restart"]), st.none()),
    ),
    min_size=6,
    max_size=24,
)


def _told(story: list[tuple[str, Any]], dice: random.Random | None) -> dict[str, Any]:
    """What a database has answered in the end, by the name of the query; with dice, queries run aside."""
    with ExitStack() as stack:
        stack.enter_context(
            kernels_alone() if dice is None else kernels_alone(lambda: Restless(dice), lambda: Fickle(dice))
        )
        if dice is not None:
            stack.enter_context(patch("eddyline.spark.engine.Lanes", late_lanes(dice)))
        folder = Path(tempfile.mkdtemp())
        stack.callback(shutil.rmtree, folder, ignore_errors=True)

        def opened() -> Any:
            return eddyline.connect(folder, heartbeat=None, clock=lambda: 0, pace=BUSY)

        db = opened()
        db.sql("CREATE STREAM s (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t")
        db.sql("CREATE STREAM r (a INTEGER, c STRING, t INTEGER) TIMESTAMP BY t")
        names: list[str] = []
        now, came, gone = 10, 0, set()
        for kind, what in story:
            if kind == "add":
                number, back = what
                names.append(f"n{len(names)}")
                # slices are made of the past while it is answered
                keeps = "WITH (revisions = 'downstream') " if dice is not None and len(names) % 2 else ""
                db.sql(f"CREATE QUERY {names[-1]} {'FROM HISTORY ' if back else ''}{keeps}AS {QUERIES[number]}")
            elif kind == "many":
                number, back = what
                name = f"m{len(names)}"
                db.queries(TEMPLATES[number], {"low": [0, 1, 3]}, name=name, history=back)
                names += [f"{name}.{member}" for member in (1, 2, 3)]
            elif kind == "drop" and names:
                name = names[what % len(names)]
                if name in db.queries:
                    db.sql(f"DROP QUERY {name}")
            elif kind == "push":
                rows = [(a, b, max(0, now + late)) for a, b, late in what]
                now, came = now + 2, came + len(rows)
                db.stream("s").push(rows)
                db.stream("r").push([(a, f"c{b}", t) for a, b, t in rows])
            elif kind == "revise" and what[0] <= came and what[0] not in gone:
                if what[1] is None:
                    db.stream("s").delete(what[0])
                    gone.add(what[0])
                else:
                    db.stream("s").update(what[0], a=1, b=what[1], t=now - 3)
            elif kind == "batch":
                _a_batch(db)
            elif kind == "flush":
                db.flush()
            elif kind == "restart":
                db.close()
                db = opened()
        db.flush()
        found = {}
        for name in names:
            if name in db.queries:
                told = db.query(name).fetch()
                found[name] = folded(told, name), _in_parts(db, name) == told
        assert not db._core.engine.executor.is_behind
        db.close()
        return found


def _in_parts(db: Any, name: str) -> list[Any]:
    """What readers with cursors get, one batch at a time."""
    last = db._core.reader.refresh()
    record = db.query(name)._query.record
    found: list[Any] = []
    for since in range(-1, last):
        found += list(db._core.reader.answers(record.log, record.reading, since, upto=since + 1))
    return found


def _a_batch(db: Any) -> None:
    engine = db._core.engine
    if engine.journal.number > engine.executor.results.last.entry and len(db.queries):
        one_batch(engine)


@runs(20)
@given(events, st.integers(0, 2**32))
def test_whoever_runs_aside_says_what_it_would_have_said(
    spark: object, story: list[tuple[str, Any]], seed: int
) -> None:
    assert _told(story, random.Random(seed)) == _told(story, None)
