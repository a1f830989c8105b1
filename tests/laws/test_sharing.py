"""Sharing never changes an answer: members of query classes say what each would say by itself."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.algebra.answer import TupleAnswer
from eddyline.log.upkeep import Pace
from laws.restless import Fickle
from laws.streams import EXAMPLES, Data, data, folded
from laws.test_spark import agree
from laws.without_spark import kernels_alone

BUSY = Pace(batches=2, behind=1, neighbours=2, small=100_000, grace=0.0, aside=False)
EVERYONE, NOBODY = {"EDDYLINE_SHARE_FROM": "1"}, {"EDDYLINE_SHARE_FROM": "1000000"}
ints = st.integers(-1, 5)
_atoms = st.one_of(
    st.builds(
        "{} {} {}".format, st.sampled_from(["a", "b", "t"]), st.sampled_from(["<", ">=", "=", "<>", "<=>"]), ints
    ),
    st.builds("b BETWEEN {} AND {}".format, ints, ints),
    st.builds("a IN ({}, {})".format, ints, ints),
    st.builds("a NOT IN ({}, 2)".format, ints),
    st.builds("b + {} > a * 2".format, ints),
    st.builds("b / {} >= 1.5".format, ints),
    st.sampled_from(["b IS NULL", "a IS NOT NULL", "a = b", "NULL", "b = NULL", "TRUE"]),
)
predicates = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=4,
)
_window = st.sampled_from(
    ["[FROM NOW-5 TO NOW SLIDE 2 SEC]", "[FROM NOW-1 TO NOW SLIDE 2 SEC]", "[FROM NOW-3 TO NOW-1 SLIDE 3 SEC]"]
)
_said_hops = st.builds(
    "[RANGE BY '{} seconds' SLIDE BY '{} seconds' START AT {}]".format,
    st.integers(1, 5),
    st.integers(1, 4),
    st.sampled_from([-7, 0, 3, 17]),
)
#: selections and windows of one stream: what can meet in one filter
one_stream = st.one_of(
    st.sampled_from(["SELECT a, b FROM s WHERE {}", "SELECT b + 1 AS more, a FROM s WHERE {}"]),
    _window.map("SELECT a, b FROM s {} WHERE {{}}".format),
    _window.map("SELECT DISTINCT a FROM s {} WHERE {{}} ORDER BY a".format),
    _window.map("SELECT a, b FROM s {} WHERE {{}} ORDER BY b DESC, a LIMIT 2".format),
    _window.map("SELECT a, COUNT(*) AS n FROM s {} WHERE {{}} GROUP BY a ORDER BY n LIMIT 1 OFFSET 1".format),
    _window.map("SELECT COUNT(*), SUM(b), MIN(a) FROM s {} WHERE {{}}".format),
    _window.map("SELECT a, AVG(b) AS m FROM s {} WHERE {{}} GROUP BY a".format),
    st.tuples(_window, ints).map(
        lambda given: f"SELECT a, COUNT(*) AS n FROM s {given[0]} WHERE {{}} GROUP BY a HAVING COUNT(*) > {given[1]}"
    ),
)
own_frames = st.one_of(
    one_stream,
    _said_hops.map("SELECT a, b FROM s {} WHERE {{}}".format),
    _said_hops.map("SELECT COUNT(*) AS n, MAX(b) AS m FROM s {} WHERE {{}}".format),
    st.sampled_from(["[RANGE 3 SEC]", "[RANGE 4 SEC SLIDE 2 SEC]", "[RANGE UNBOUNDED]", "[ROWS 2]"]).map(
        "SELECT a, b FROM s {} WHERE {{}}".format
    ),
    st.just(
        "SELECT b, c FROM s [RANGE 3 SEC], (SELECT a AS k, c, t AS u FROM r) [RANGE 1 SEC] AS r WHERE a = k AND {}"
    ),
    st.just(
        "SELECT b, c FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC], "
        "(SELECT a AS k, c, t AS u FROM r) [FROM NOW-2 TO NOW SLIDE 2 SEC] AS r WHERE a = k AND {}"
    ),
)
_relation = st.sampled_from(["[NOW]", "[RANGE 3 SEC]", "[RANGE 4 SEC SLIDE 2 SEC]", "[UNBOUNDED]", "[ROWS 2]"])
_of_whole_relations = st.one_of(
    _relation.map("SELECT DISTINCT a FROM s {} WHERE {{}}".format),
    _relation.map("SELECT a, COUNT(*) AS n, MAX(b) AS m FROM s {} WHERE {{}} GROUP BY a".format),
    _relation.map("SELECT COUNT(*) AS n, SUM(b) AS m FROM s {} WHERE {{}}".format),
    _relation.map("SELECT a, b FROM s {} WHERE {{}} ORDER BY b DESC, a LIMIT 2".format),
    st.tuples(_relation, ints).map(
        lambda given: f"SELECT a, COUNT(*) AS n FROM s {given[0]} WHERE {{}} GROUP BY a HAVING COUNT(*) > {given[1]}"
    ),
)
_outer_joins = st.builds(
    "SELECT b, c FROM s {0} {1} JOIN (SELECT a AS k, c, t AS u FROM r) {0} AS r ON a = k WHERE {{}}".format,
    st.sampled_from(["[FROM NOW-3 TO NOW SLIDE 2 SEC]", "[RANGE 2 SEC]"]),
    st.sampled_from(["LEFT", "RIGHT", "FULL"]),
)
_sub_queries = st.one_of(
    st.builds(
        "SELECT {} FROM (SELECT {} FROM s WHERE {{}}) {} AS s".format,
        st.sampled_from(["b", "COUNT(*) AS n", "DISTINCT b", "b, MAX(b) AS m"]),
        st.sampled_from(["a, b, t", "b + 1 AS b", "b"]),
        _window | st.sampled_from(["[RANGE 3 SEC]", "[ROWS 2]", "[ROWS 3]"]),
    ).map(lambda frame: f"{frame} GROUP BY b" if "MAX" in frame else frame),
    st.builds(
        "SELECT b, c FROM (SELECT {1} FROM s WHERE {{}}) {0} AS s {2} JOIN (SELECT a AS k, c FROM r) {0} AS r "
        "ON a = k WHERE b IS NOT NULL".format,
        st.sampled_from(["[FROM NOW-3 TO NOW SLIDE 2 SEC]", "[RANGE 2 SEC]"]),
        st.sampled_from(["a, b, t", "a, b"]),
        st.sampled_from(["INNER", "LEFT", "FULL"]),
    ),
)
_windowed = own_frames.filter(lambda frame: "[" in frame) | _of_whole_relations | _outer_joins
_to_streams = st.builds("{}({})".format, st.sampled_from(["RSTREAM", "ISTREAM", "DSTREAM"]), _windowed)
_two_look_ups = st.sampled_from(
    [
        "SELECT b, d.name, e.a AS x FROM s, d, d AS e WHERE s.a = d.a AND d.name <> e.name AND {}",
        "SELECT b, x FROM (SELECT s.b, e.a AS x FROM s, d, d AS e WHERE s.a = d.a AND {}) WHERE x > 1",
        "SELECT z FROM (SELECT s.b AS z FROM s, d WHERE s.a = d.a AND {}) WHERE z >= 0",
    ]
)
_look_ups = st.sampled_from(
    ["SELECT b, name, t FROM s, d WHERE s.a = d.a AND {}", "SELECT s.a, name FROM s, d WHERE {} AND name > 'p'"]
)
_aggregations = st.builds(
    "SELECT {1} FROM s {0} WHERE {{}}{2}".format,
    _window,
    st.just("COUNT(*) AS n, SUM(b) AS x, MAX(b) AS y, AVG(a) AS z"),
    st.just(""),
) | st.builds(
    "SELECT a, {1} FROM s {0} WHERE {{}} GROUP BY a{2}".format,
    _window,
    st.just("COUNT(b) AS n, SUM(b) AS x, MIN(b) AS y"),
    st.sampled_from(["", " HAVING COUNT(*) > 1"]),
)
_rows = st.sampled_from(
    ["[FROM NOW-3 TO NOW SLIDE 2 ROWS]", "[FROM NOW-1 TO NOW SLIDE 3 ROWS]", "[FROM NOW TO NOW SLIDE 1 ROWS]"]
)
_hops = st.sampled_from(
    ["[RANGE BY '4 seconds' SLIDE BY '2 seconds']", "[RANGE BY '3 seconds' SLIDE BY '3 seconds' START AT 3]"]
)
_loops = st.sampled_from(
    [
        " for (t = ST; t < ST + 30; t += 3) {{ WindowIs(s, t - 4, t); }}",
        " for (t = 10; t < 50; t++) {{ WindowIs(s, t - 2, t); }}",
        " for (t = 24; t > 4; t -= 5) {{ WindowIs(s, t - 6, t); }}",
    ]
)
_scans = st.sampled_from(["d", "d [SCAN 3 SEC]"])
_any_window = _window | _rows | _hops | st.sampled_from(["[RANGE 3 SEC]", "[ROWS 2]"])
_bodies = st.sampled_from(
    [
        "SELECT a, b FROM s {0} WHERE {{}}{1}",
        "SELECT DISTINCT a FROM s {0} WHERE {{}}{1}",
        "SELECT COUNT(*) AS n, SUM(b) AS x, MIN(a) AS y FROM s {0} WHERE {{}}{1}",
        "SELECT a, MAX(b) AS n FROM s {0} WHERE {{}} GROUP BY a HAVING COUNT(*) > 1{1}",
        "SELECT a, n FROM (SELECT a, COUNT(*) AS n FROM s {0} WHERE {{}} GROUP BY a) WHERE n > 1{1}",
        "SELECT a, b FROM s {0} WHERE {{}} ORDER BY b DESC, a LIMIT 2{1}",
    ]
)
_counted_windows = st.builds(lambda body, window: body.format(window, ""), _bodies, _rows | _hops)
_in_loops = st.builds(lambda body, loop: body.format("", loop), _bodies.filter(lambda b: "FROM (" not in b), _loops)
_beside_tables = st.builds("SELECT b, name FROM s {}, {} WHERE s.a = d.a AND {{}}".format, _any_window, _scans)
_beside_tables |= st.builds(
    "SELECT name, COUNT(*) AS n FROM s {}, {} WHERE s.a = d.a AND {{}} GROUP BY name".format, _window | _rows, _scans
)
_mixed = st.builds(
    "SELECT b, c FROM s {}, (SELECT a AS k, c, t AS u FROM r) {} AS r WHERE a = k AND {{}}".format,
    _any_window,
    _any_window,
)
_over_look_ups = st.sampled_from(
    [
        "SELECT b, n FROM (SELECT s.a, s.b, s.t, name AS n FROM s, d WHERE s.a = d.a) AS k WHERE {}",
        "SELECT a, b FROM (SELECT s.a, s.b, s.t, name AS n FROM s, d WHERE s.a = d.a) [FROM NOW-3 TO NOW SLIDE 2 SEC] "
        "AS k WHERE {}",
    ]
)
_inner_streams = st.builds(
    lambda outer, inner, window, around: outer.format(f"({around}({inner}))", window),
    st.sampled_from(
        [
            "SELECT COUNT(*) AS n, MAX(a) AS m FROM {0} {1} AS k",
            "SELECT a, b FROM {0} {1} AS k WHERE a > 0",
            "SELECT DISTINCT b FROM {0} {1} AS k",
            "ISTREAM(SELECT a, COUNT(*) AS n FROM {0} {1} AS k GROUP BY a)",
        ]
    ),
    _window.map("SELECT a, b FROM s {} WHERE {{}}".format)
    | st.just("SELECT a, b FROM s [RANGE 2 SEC] WHERE {}")
    | _rows.map("SELECT a, b FROM s {} WHERE {{}}".format),
    _window | _hops | st.sampled_from(["[RANGE 3 SEC]", "[ROWS 2]"]),
    st.sampled_from(["RSTREAM", "ISTREAM", "DSTREAM"]),
)
_over_inner_streams = st.builds(
    lambda outer, inner, window: outer.format(inner, window),
    st.sampled_from(
        [
            "SELECT a + 1 AS x FROM ({0}) WHERE {{}}",
            "SELECT a, b FROM ({0}) {1} AS k WHERE {{}}",
            "SELECT COUNT(*) AS n FROM ({0}) {1} AS k WHERE {{}}",
        ]
    ),
    _any_window.map("RSTREAM(SELECT a, b, t FROM s {} WHERE a >= 0)".format),
    _any_window,
)
#: whose meaning depends on when they began
_together = st.one_of(
    _counted_windows, _in_loops, _beside_tables, _mixed, _over_look_ups, _inner_streams, _over_inner_streams
)
_all_frames = st.one_of(
    own_frames, _of_whole_relations, _outer_joins, _to_streams, _look_ups, _two_look_ups, _sub_queries
)


def asked(frame: str, predicate: str) -> str:
    """A query; beside a table, the columns of s must be named in full."""
    beside_a_table = re.search(r"\bd\b[^)]* WHERE [^)]*{}", frame) is not None
    return frame.format(re.sub(r"\b([abt])\b", r"s.\1", predicate) if beside_a_table else predicate)


shared = st.builds(asked, _all_frames, predicates)
#: what the kernel leaves to Spark
texts = st.builds("SELECT a, b FROM s WHERE CAST(b AS STRING) LIKE '%{}%' AND a > {}.5".format, ints, ints)


def runs(examples: int) -> Any:
    return settings(
        max_examples=examples * EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@runs(75)
@given(st.lists(shared, min_size=6, max_size=6), data(), st.sampled_from([3, 7, 1000]), st.sampled_from([0, 1000]))
def test_members_say_what_the_reference_says(several: list[str], given_data: Data, batch_rows: int, few: int) -> None:
    """Found by indexes, or compared one by one if there are no more than `few`."""
    with kernels_alone(), patch.dict(os.environ, EVERYONE), patch("eddyline.spark.form_table.MOST_JOINED", few):
        agree(several, given_data, batch_rows)


#: queries of one shape or two
_several_together = st.lists(_together, min_size=1, max_size=2).flatmap(
    lambda frames: st.lists(st.builds(asked, st.sampled_from(frames), predicates), min_size=4, max_size=4)
)


@runs(75)
@given(_several_together, data(), st.sampled_from([3, 7, 1000]), st.sampled_from([0, 1000]))
def test_members_that_begin_together_say_what_the_reference_says(
    several: list[str], given_data: Data, batch_rows: int, few: int
) -> None:
    with kernels_alone(), patch.dict(os.environ, EVERYONE), patch("eddyline.spark.form_table.MOST_JOINED", few):
        agree(several, given_data, batch_rows)


@runs(12)
@given(st.lists(shared | texts, min_size=8, max_size=8), data(), st.sampled_from([3, 7, 1000]))
def test_members_on_sparks_own_plans(spark: object, several: list[str], given_data: Data, batch_rows: int) -> None:
    with patch.dict(os.environ, EVERYONE, EDDYLINE_KERNELS="off"):
        agree(several, given_data, batch_rows)


def stories(frames: Any, *more: Any, least: int = 1, most: int = 2, at_once: int = 1) -> Any:
    """Queries of so many shapes come and go while rows come, late ones among them, and are revised.

    At one moment up to `at_once` of them come.
    """

    def story(frames: list[str]) -> Any:
        wide = st.sampled_from(["a >= -1", "a >= 0", "b IS NULL OR b > 0"]) | predicates
        query = st.builds(asked, st.sampled_from(frames), wide)
        rows = st.lists(st.tuples(ints, st.none() | ints, st.integers(-6, 3)), min_size=2, max_size=6)
        queries = st.lists(query, min_size=min(2, at_once), max_size=at_once)
        add, push = st.tuples(st.just("add"), queries), st.tuples(st.just("push"), rows)
        drop, flush = st.tuples(st.just("drop"), st.integers(0, 20)), st.tuples(st.just("flush"), st.none())
        some = st.sampled_from([flush, push, drop, *more]).flatmap(lambda event: event)
        return st.lists(st.tuples(push, add, some, push, some), min_size=3, max_size=6).map(lambda r: sum(r, ()))

    return st.lists(frames, min_size=least, max_size=most).flatmap(story)


revised = st.tuples(st.just("revise"), st.tuples(st.integers(1, 20), st.none() | ints))
inserted = st.tuples(st.just("insert"), ints)
advanced = st.tuples(st.just("advance"), st.booleans())
opened_again = st.tuples(st.just("restart"), st.none())


def _told(events: tuple[tuple[str, Any], ...], revisions: str = "upstream") -> dict[str, Any]:
    """What a database has answered in the end, by the name of the query; it is tidied up as often as can be."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp())
        stack.callback(shutil.rmtree, folder, ignore_errors=True)

        def opened() -> Any:
            return eddyline.connect(folder, heartbeat=None, clock=lambda: 0, pace=BUSY)

        db = opened()
        stack.callback(lambda: db.close())
        db.sql("CREATE STREAM s (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t")
        db.sql("CREATE STREAM r (a INTEGER, c STRING, t INTEGER) TIMESTAMP BY t")
        db.sql("CREATE TABLE d (a INTEGER, name STRING)")
        names: list[str] = []
        answers: list[Any] = []
        now, came, gone = 10, 0, set()
        for kind, what in events:
            if kind == "add":
                for text in what:
                    names.append(f"n{len(names)}")
                    db.sql(f"CREATE QUERY {names[-1]} WITH (revisions = '{revisions}') AS {text}")
            elif kind == "drop" and names:
                name = names[what % len(names)]
                if name in db.queries:
                    answers += db.query(name).fetch()
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
            elif kind == "insert":
                db.sql(f"INSERT INTO d VALUES ({what}, 'x{now}'), ({what}, 'one'), (2, 'two')")
            elif kind == "withdraw":
                db.sql(f"DELETE FROM s WHERE a = {what}")
            elif kind == "advance":
                db.advance(now + 2, closed=what)
            elif kind == "flush":
                db.flush()
            elif kind == "restart":
                db.close()
                db = opened()
        db.flush()
        for name in names:
            if name in db.queries:
                answers += db.query(name).fetch()
        # tuples must be the same one by one, with their indexes and in their order; of windows and relations it counts
        # what they come to
        tuples = {name: [a for a in answers if a.query == name and isinstance(a, TupleAnswer)] for name in names}
        return {name: (tuples[name], folded(answers, name)) for name in names}


def the_same(events: tuple[tuple[str, Any], ...], revisions: str = "upstream") -> None:
    with patch.dict(os.environ, NOBODY):
        alone = _told(events)
    with patch.dict(os.environ, EVERYONE):
        assert _told(events, revisions) == alone


def _alone_and_together(examples: int, frames: Any, revisions: str = "upstream", at_once: int = 1) -> Any:
    """Those who come late are in a table with the others, or apart from them; numbers are written down now or never."""

    @runs(examples)
    @given(
        stories(frames, revised, opened_again, inserted, advanced, at_once=at_once),
        st.sampled_from([0, 1000]),
        st.booleans(),
        st.sampled_from([0, 1, 16]),
    )
    def told(events: tuple[tuple[str, Any], ...], few: int, apart: bool, files: int) -> None:
        how = {"_LARGE": 0, "_SHARE": 3} if apart else {}
        with (
            kernels_alone(corrections=lambda: Fickle(Random(len(events)))),
            patch.multiple("eddyline.spark.form_table", MOST_JOINED=few, **how),
            patch("eddyline.spark.numbering._FILES", files),
        ):
            the_same(events, revisions)

    return told


def test_windows_and_relations_that_come_and_go_say_what_they_would_say_alone(spark: object) -> None:
    _alone_and_together(40, st.one_of(own_frames, _of_whole_relations, _outer_joins, _sub_queries))()


def test_streams_of_windows_that_come_and_go_say_what_they_would_say_alone(spark: object) -> None:
    _alone_and_together(40, _to_streams)()


def test_look_ups_that_come_and_go_say_what_they_would_say_alone(spark: object) -> None:
    _alone_and_together(25, _look_ups | _two_look_ups)()


def test_queries_that_begin_together_and_go_say_what_they_would_say_alone(spark: object) -> None:
    _alone_and_together(40, _together, at_once=3)()


def test_members_that_keep_slices_say_what_they_would_say_alone_and_upstream(spark: object) -> None:
    _alone_and_together(40, _aggregations | st.builds("ISTREAM({})".format, _aggregations), "downstream")()


def test_members_that_change_their_minds_say_what_they_would_say_alone_and_upstream(spark: object) -> None:
    """Also if another window comes to the class, with which nothing can be kept."""
    _alone_and_together(40, _aggregations | st.builds("ISTREAM({})".format, _aggregations), "auto")()


@runs(4)
@given(stories(_all_frames, st.tuples(st.just("withdraw"), ints), inserted), st.sampled_from([0, 16]))
def test_queries_that_come_and_go_on_spark(spark: object, events: tuple[tuple[str, Any], ...], files: int) -> None:
    """Who goes has answered all that had come: how far Spark would be by then is chance."""
    settled = [step for event in events for step in ((("flush", None), event) if event[0] == "drop" else (event,))]
    with patch("eddyline.spark.numbering._FILES", files):
        the_same(tuple(settled))


@pytest.mark.parametrize("kind", ["RSTREAM", "ISTREAM", "DSTREAM"])
def test_members_with_slides_of_their_own_whose_windows_are_revised(spark: object, kind: str) -> None:
    """What random stories meet seldom: the window before is further back than that of the class, and several members
    take back tuples of one window and say others in their place."""
    frame = f"{kind}(SELECT a, b FROM s [FROM NOW-{{}} TO NOW SLIDE {{}} SEC] WHERE b >= {{}})"
    members = [frame.format(*given) for given in ((5, 2, 0), (5, 2, 1), (7, 5, 0), (4, 3, 0), (7, 5, 2))]
    rows = [[(n, n % 4, 0), (n, 3, 1)] for n in range(8)]
    pushed = [event for some in rows for event in (("push", some), ("flush", None))]
    revised = [event for n in (3, 6, 14, 17) for event in (("revise", (n, 3)), ("flush", None))]
    revised += [("revise", (16, None)), ("flush", None)]
    some_late = [[(a + 9, b, late - 5) for a, b, late in some] for some in rows]
    late = [event for some in some_late for event in (("push", some), ("flush", None))]
    added = [("add", [text]) for text in members]
    with kernels_alone():
        the_same((("push", rows[0]), *added[:3], *pushed, *revised, *added[3:], *late[:8], *revised, *late))
