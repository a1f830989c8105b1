"""Whenever answers come, in whatever order, after however many failures: in the end it is as if nobody had waited."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

import eddyline
from laws.restless import Fickle, Restless, late_lanes
from laws.streams import WHOLE, Data, data, folded
from laws.test_sharing import BUSY, ints, runs
from laws.test_spark import agree
from laws.without_spark import kernels_alone, one_batch
from lookups.late import late_lookups
from lookups.service import ROWS, lines

QUERIES = [
    "SELECT a, b, name, size FROM s, people WHERE s.a = people.key",
    "SELECT b, name FROM s, people WHERE a = key AND b > 0 AND size + b > 1",
    "SELECT b, name FROM s, people WHERE key = a + b",
    "SELECT s.a, p.name, q.name AS other FROM s, people AS p, people AS q WHERE s.a = p.key AND s.b = q.key",
    "SELECT s.b, n.name, p.size FROM s, d AS n, people AS p WHERE s.a = n.a AND n.a = p.key",
    "SELECT name, COUNT(*) AS n, SUM(b) AS m FROM (SELECT b, name FROM s, people WHERE a = key) AS v "
    "[FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY name",
    "SELECT name FROM (SELECT name FROM s, people WHERE a = key) AS v [RANGE 3 SEC]",
    "ISTREAM(SELECT b, size FROM (SELECT b, size FROM s, people WHERE a = key) AS v [FROM NOW-4 TO NOW SLIDE 2 SEC])",
]


@st.composite
def tables(draw: st.DrawFn, function: str, path: str | None = None) -> str:
    """How the table is asked; answers may be forgotten as soon as they were seen."""
    options = {
        "function": function,
        "key": "key",
        "batch": str(draw(st.sampled_from([1, 2, 500]))),
        "fresh": draw(st.sampled_from(["0 seconds", "1 hour"])),
        "size": str(draw(st.sampled_from([1, 3, 1000]))),
        **({"path": path} if path is not None and draw(st.booleans()) else {}),
    }
    said = ", ".join(f"{name} '{value}'" for name, value in options.items())
    return f"CREATE TABLE people (key INTEGER, name STRING, size BIGINT) USING lookup OPTIONS ({said});\n"


@contextmanager
def hasty() -> Iterator[None]:
    """Nobody waits before a failed call is made again, and a scan is thought to cost nothing until one was seen."""
    with ExitStack() as stack:
        stack.enter_context(patch("eddyline.spark.lookups.costs._LEAST", 0.0))
        for place in ("eddyline.spark.lookups.asking", "eddyline.session.asking"):
            stack.enter_context(patch(f"{place}.FIRST_PAUSE", 0.0))
        yield


@runs(10)
@given(
    st.lists(st.sampled_from(QUERIES), min_size=3, max_size=3),
    data(numbers=WHOLE),
    st.sampled_from([1, 3, 1000]),
    tables("lookups.service:find_or_fail"),
    st.integers(0, 2**32),
)
def test_scripts_say_what_the_reference_says(
    several: list[str], given_data: Data, batch_rows: int, table: str, seed: int
) -> None:
    dice = random.Random(seed)
    random.seed(seed)
    with kernels_alone(lookups=late_lookups(dice)), hasty():
        agree(several, given_data, batch_rows, before=table)


row = st.tuples(ints, ints, st.integers(-6, 3))
events = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.lists(row, min_size=1, max_size=5)),
        st.tuples(st.just("push"), st.lists(row, min_size=1, max_size=5)),
        st.tuples(st.just("add"), st.tuples(st.integers(0, len(QUERIES) - 1), st.booleans())),
        st.tuples(st.just("revise"), st.tuples(st.integers(1, 12), st.none() | ints)),
        st.tuples(st.just("drop"), st.integers(0, 20)),
        st.tuples(st.sampled_from(["flush", "batch", "batch", "restart"]), st.none()),
    ),
    min_size=8,
    max_size=20,
)


def _told(story: list[tuple[str, Any]], table: str, dice: random.Random | None) -> dict[str, Any]:
    """What a database has answered in the end, by the name of the query; with dice, anything may happen at any time."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp())
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        (folder / "people.jsonl").write_text(lines())
        if dice is None:
            stack.enter_context(kernels_alone())
        else:
            stack.enter_context(kernels_alone(lambda: Restless(dice), lambda: Fickle(dice), late_lookups(dice)))
            stack.enter_context(patch("eddyline.spark.engine.Lanes", late_lanes(dice)))
            stack.enter_context(hasty())

        def opened() -> Any:
            return eddyline.connect(folder / "db", heartbeat=None, clock=lambda: 0, pace=BUSY)

        db = opened()
        db.sql("CREATE STREAM s (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t RETAIN 9")
        db.sql("CREATE TABLE d (a INTEGER, name STRING)")
        db.sql("INSERT INTO d VALUES (0, 'zero'), (1, 'one'), (2, 'two')")
        db.sql(table.replace("people.jsonl", str(folder / "people.jsonl")))
        names: list[str] = []
        now, came, gone = 10, 0, set()
        for kind, what in story:
            if kind == "add":
                number, back = what
                names.append(f"n{len(names)}")
                db.sql(f"CREATE QUERY {names[-1]} {'FROM HISTORY ' if back else ''}AS {QUERIES[number]}")
            elif kind == "drop" and names and names[what % len(names)] in db.queries:
                db.sql(f"DROP QUERY {names[what % len(names)]}")
            elif kind == "push":
                db.stream("s").push([(a, b, now + max(late, -4)) for a, b, late in what])
                now, came = now + 2, came + len(what)
            elif kind == "revise" and came - 2 <= what[0] <= came and what[0] not in gone:
                if what[1] is None:
                    db.stream("s").delete(what[0])
                    gone.add(what[0])
                else:
                    db.stream("s").update(what[0], a=what[1], b=1, t=now - 3)
            elif kind == "batch" and len(db.queries):
                one_batch(db._core.engine)
            elif kind == "flush":
                db.flush()
            elif kind == "restart":
                db.close()
                db = opened()
        db.flush()
        found = {name: folded(db.query(name).fetch(), name) for name in names if name in db.queries}
        assert not db._core.engine.executor.is_behind
        db.close()
        return found


@runs(8)
@given(
    st.lists(st.integers(0, len(QUERIES) - 1), min_size=2, max_size=2),
    events,
    tables("lookups.service:find_or_fail", "people.jsonl"),
    st.integers(0, 2**32),
)
def test_whoever_waits_says_what_it_would_have_said(
    first: list[int], later: list[tuple[str, Any]], table: str, seed: int
) -> None:
    """Beside lanes, restarts, retention and upkeep, with and without scans: as with a table that is at hand."""
    random.seed(seed)
    story = [*(("add", (number, False)) for number in first), *later]
    values = ", ".join(f"({', '.join('NULL' if v is None else repr(v) for v in values)})" for values in ROWS)
    at_hand = f"CREATE TABLE people (key INTEGER, name STRING, size BIGINT); INSERT INTO people VALUES {values}"
    assert _told(story, table, random.Random(seed)) == _told(story, at_hand, None)
