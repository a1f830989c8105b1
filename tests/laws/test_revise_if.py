"""Corrections that are withheld: what is shown is never further from the truth than the condition allows."""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.algebra.answer import TupleAnswer, WindowAnswer
from eddyline.binder.statement import StatementBinder
from eddyline.errors import EddylineError
from eddyline.language import parse_script
from eddyline.reference.withholding import Withholding
from laws.restless import Restless, late_lanes
from laws.streams import (
    EXAMPLES,
    SCHEMA,
    Data,
    all_queries,
    any_window,
    converted,
    cql_windows,
    data,
    folded,
    join,
    one_input,
    row_windows,
    run,
    stream_queries,
    unnumbered,
    windows,
    with_table,
)
from laws.test_sharing import BUSY, EVERYONE, NOBODY
from laws.test_spark import spark_answers
from laws.without_spark import kernels_alone

conditions = st.sampled_from(
    [
        "abs(new - old) > 1",
        "abs(new - old) > 0.5 * abs(old)",
        "abs(new - old) >= 1.5",
        "new > old",
        "abs(new.x - old.x) > 1",
        "new.x < old.x AND old.x > 0",
        "abs(new.b - old.b) > 1",
    ]
)


def _can_be(query: str, condition: str) -> bool:
    try:
        statements = parse_script(f"{SCHEMA}{_created('q', query, condition)}")
        binder = StatementBinder()
        for statement in statements:
            binder.bind(statement.tree)
        return True
    except EddylineError:
        return False


def _created(name: str, query: str, condition: str | None, revisions: str = "upstream") -> str:
    given_if = "" if condition is None else f", revise_if = '{condition}'"
    return f"CREATE QUERY {name} WITH (revisions = '{revisions}'{given_if}) AS {query};\n"


aggregations = st.one_of(one_input(windows), one_input(windows), one_input(cql_windows)).filter(
    lambda query: "AS x" in query
)
asked = st.one_of(
    aggregations,
    aggregations,
    stream_queries,
    st.builds("{}({})".format, st.sampled_from(["RSTREAM", "ISTREAM", "DSTREAM"]), aggregations),
    converted,
    all_queries,
)
#: differences of texts are left to Spark
withholding = st.tuples(asked, conditions).filter(lambda pair: "(w)" not in pair[0] and _can_be(*pair))


#: what can never change any more is shown, on Spark, because its tuples may be cut off; and the engines do not count
#: rows that are set aside to the same batches
endless = data(retained=False).filter(lambda rows: not rows.rejected())


def laws(examples: int, abreast: int, batches: tuple[int, ...] = (1, 3, 7, 1000)) -> Any:
    allowed = settings(max_examples=examples * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    several = st.lists(withholding, min_size=abreast, max_size=abreast)
    ways = st.sampled_from(["upstream", "downstream"])
    return lambda test: allowed(given(several, endless, st.sampled_from(batches), ways)(test))


# -- both engines show the same -----------------------------------------------------------------------------------


def _said(answers: list[Any], name: str) -> list[Any]:
    """What was said of a query, in its order, but for numbers, which depend on the order within a batch."""
    said = []
    for answer in answers:
        if answer.query != name:
            continue
        if isinstance(answer, WindowAnswer):
            old = None if answer.old_rows is None else frozenset(Counter(answer.old_rows).items())
            said.append((answer.op, answer.tick, frozenset(Counter(answer.rows).items()), old))
        elif isinstance(answer, TupleAnswer):
            said.append((answer.op, answer.tick, answer.row, answer.old))
    return said


def agree(several: list[tuple[str, str]], given_data: Data, batch_rows: int, revisions: str) -> None:
    sql = "".join(_created(f"w{i}", query, condition, revisions) for i, (query, condition) in enumerate(several))
    sql += "".join(_created(f"t{i}", query, None, revisions) for i, (query, _) in enumerate(several))
    for script in (sql, f"{sql}FLUSH REVISIONS;\n"):
        wanted = run(script, given_data, batch_rows).collected  # type: ignore[attr-defined]
        answers, _ = spark_answers(script, given_data, batch_rows)
        for number, (query, condition) in enumerate(several):
            where = f"{query}\n{condition}, in batches of {batch_rows}, {script[-20:]}"
            expected, got = folded(wanted, f"w{number}"), folded(answers, f"w{number}")
            assert got["tuples"] == expected["tuples"], where
            assert unnumbered(got) == unnumbered(expected), where
            for name in (f"w{number}", f"t{number}"):
                assert Counter(_said(answers, name)) == Counter(_said(wanted, name)), f"{name}: {where}"
    for said in (wanted, answers):
        for number, (query, condition) in enumerate(several):
            shown, true = folded(said, f"w{number}"), folded(said, f"t{number}")
            assert shown["tuples"] == true["tuples"], (query, condition)
            assert unnumbered(shown) == unnumbered(true), (query, condition)


@laws(20, abreast=4)
def test_kernels_alone_show_what_the_reference_shows(
    several: list[tuple[str, str]], given_data: Data, batch_rows: int, revisions: str
) -> None:
    with kernels_alone():
        agree(several, given_data, batch_rows, revisions)


@laws(2, abreast=4, batches=(4, 7))
def test_sparks_own_plans_show_what_the_reference_shows(
    spark: object, several: list[tuple[str, str]], given_data: Data, batch_rows: int, revisions: str
) -> None:
    with patch.dict(os.environ, EDDYLINE_KERNELS="off"):
        agree(several, given_data, batch_rows, revisions)


#: pairs of windows that move in time and relations that change where their tuples say
_pairs = st.tuples(
    join(row_windows, any_window) | join(any_window, row_windows) | with_table(row_windows),
    st.sampled_from(["abs(new - old) > 1", "new > old", "abs(new.m - old.m) > 1"]),
).filter(lambda pair: _can_be(*pair))


@settings(max_examples=5 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(_pairs, min_size=4, max_size=4),
    endless,
    st.sampled_from([1, 3, 7]),
)
def test_pairs_that_move_are_told_as_the_reference_tells_them(
    several: list[tuple[str, str]], given_data: Data, batch_rows: int
) -> None:
    with kernels_alone():
        agree(several, given_data, batch_rows, "upstream")


def test_a_window_of_rows_that_moves_beside_a_relation_goes_and_comes() -> None:
    """Pairs are named by their ticks, as a relation may change anywhere; beside a table it is the window that moves."""
    moving = Data(
        s=[{"a": 1, "b": 3, "t": 4}, {"a": 1, "b": 2, "t": 9}, {"_op": "=", "_ref": 1, "a": 1, "b": 3, "t": 6}],
        r=[{"a": 1, "c": "x", "t": 1}, {"a": 1, "c": "y", "t": 12}],
    )
    condition = "abs(new - old) > 1"
    beside = [
        (f"SELECT COUNT(*) AS n, MAX(b) AS m FROM s [FROM NOW TO NOW SLIDE 1 ROWS], {other} WHERE s.a = r.a", condition)
        for other in ("r [RANGE 20 SEC]", "r [FROM NOW-5 TO NOW SLIDE 5 SEC]", "r [ROWS 1]", "d AS r")
    ]
    with kernels_alone():
        agree(beside, moving, 1, "upstream")
    sql = "".join(f"CREATE QUERY q{i} AS {query};\n" for i, (query, _) in enumerate(beside))
    answers = run(sql, moving, 1).collected  # type: ignore[attr-defined]
    moved = [[answer[:2] for answer in _said(answers, f"q{i}")] for i in range(len(beside))]
    assert ("-", 4) in moved[0] and ("+", 6) in moved[0]
    assert ("=", 6) in moved[3]


# -- the bound holds at all times -----------------------------------------------------------------------------------

_value = st.one_of(st.none(), st.integers(-2, 4))
_pushed = st.lists(st.tuples(st.integers(0, 2), _value, st.integers(-8, 3)), min_size=1, max_size=4)
_events = st.lists(
    st.one_of(
        st.tuples(st.just("push"), _pushed),
        st.tuples(st.just("push"), _pushed),
        st.tuples(st.just("replace"), st.tuples(st.integers(1, 12), st.integers(0, 2), _value, st.integers(-8, 0))),
        st.tuples(st.just("replace"), st.tuples(st.integers(1, 12), st.integers(0, 2), _value, st.integers(-8, 0))),
        st.tuples(st.just("delete"), st.integers(1, 12)),
        st.tuples(st.sampled_from(["answer", "answer", "answer", "restart", "flush", "flush one"]), st.none()),
    ),
    min_size=6,
    max_size=18,
)
_ASKED = (
    ("SELECT a, SUM(b) AS x, COUNT(*) AS n FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC] GROUP BY a", "abs(new - old) > 1"),
    ("SELECT SUM(b) AS x FROM s [FROM NOW-3 TO NOW SLIDE 4 SEC]", "abs(new - old) > 0.5 * abs(old)"),
    ("RSTREAM(SELECT a, SUM(b) AS x FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC] GROUP BY a)", "abs(new.x - old.x) > 1"),
    ("SELECT a, b AS x, t FROM s WHERE a < 2", "abs(new.x - old.x) > 1"),
)


@settings(max_examples=25 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(_events, st.sampled_from(["", " RETAIN 12"]), st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_the_bound_holds_at_all_times(
    events: list[Any], retain: str, shared: bool, lanes: bool, dice: random.Random
) -> None:
    """Over restarts, retention, merging, query classes and lanes; after a flush, what is shown is the truth."""
    with (
        kernels_alone(lambda: Restless(dice) if lanes else None),
        patch.dict(os.environ, EVERYONE if shared else NOBODY),
        patch("eddyline.spark.engine.Lanes", late_lanes(dice)),
        tempfile.TemporaryDirectory() as folder,
    ):
        story = _Story(folder, retain)
        for kind, what in events:
            story.take(kind, what)
        story.take("answer", None)
        story.take("flush", None)
        story.take("answer", None)
        story.check(exact=True)
        story.db.close()


class _Story:
    def __init__(self, folder: str, retain: str) -> None:
        self._folder, self._now = folder, 10
        self.db = self._opened()
        self.db.sql(f"CREATE STREAM s (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t{retain}")
        for number, (query, condition) in enumerate(_ASKED):
            way = ["upstream", "downstream"][number % 2]
            self.db.sql(_created(f"w{number}", query, condition, way).rstrip(";\n"))
            self.db.sql(_created(f"t{number}", query, None).rstrip(";\n"))
        self._answers: list[Any] = []
        self._cursors: dict[str, int] = {}

    def _opened(self) -> Any:
        return eddyline.connect(self._folder, heartbeat=None, clock=lambda: 0, pace=BUSY)

    def take(self, kind: str, what: Any) -> None:
        s = self.db.stream("s")
        if kind == "push":
            s.push([(a, b, max(0, self._now + late)) for a, b, late in what])
            self._now += 2
        elif kind == "replace":
            ref, a, b, late = what
            s.push([{"_op": "=", "_ref": ref, "a": a, "b": b, "t": max(0, self._now + late)}])
        elif kind == "delete":
            s.push([{"_op": "-", "_ref": what}])
        elif kind == "restart":
            self.db.close()
            self.db = self._opened()
        elif kind == "flush":
            self.db.sql("FLUSH REVISIONS")
        elif kind == "flush one":
            self.db.query("w0").flush_revisions()
        else:
            self.db.flush()
            self.check()

    def check(self, exact: bool = False) -> None:
        for number in range(len(_ASKED)):
            for name in (f"w{number}", f"t{number}"):
                handle = self.db.query(name, since=self._cursors.get(name, -1))
                self._answers += handle.fetch()
                self._cursors[name] = handle.cursor
            shown, true = folded(self._answers, f"w{number}"), folded(self._answers, f"t{number}")
            if exact:
                assert (shown["tuples"], unnumbered(shown)) == (true["tuples"], unnumbered(true)), _ASKED[number]
            self._check_bound(number, _rows(shown), _rows(true))

    def _check_bound(self, number: int, shown: Counter[Any], true: Counter[Any]) -> None:
        revise = self.db._core.definitions.catalog.query(f"w{number}").plan.revise
        withholding, keys = Withholding(revise), revise.keys
        left, wanted = shown - true, true - shown  # what differs must be pairs within the bound
        for tick, old in left.elements():
            partners = [
                new for at, new in wanted if at == tick and (keys is None or all(old[key] == new[key] for key in keys))
            ]
            assert any(not withholding.matters(old, new) for new in partners), (_ASKED[number], tick, old, partners)
        assert left.total() == wanted.total()


def _rows(result: dict[str, Any]) -> Counter[Any]:
    """All rows of a folded answer, with their ticks."""
    if result["tuples"]:
        return Counter(result["tuples"])
    return Counter({(tick, row): n for tick, rows in result["windows"].values() for row, n in rows.items()})
