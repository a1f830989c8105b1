"""Queries with and without tags in one class say what each says alone, and what the reference engine says."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.algebra.answer import TupleAnswer, WindowAnswer
from eddyline.log.upkeep import Pace
from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from laws.restless import Fickle
from laws.streams import EXAMPLES
from laws.without_spark import kernels_alone
from tags.test_detach_laws import statements
from tags.test_spark_laws import ATTACHED, LAW, Folded, lines, run

EVERYONE = {"EDDYLINE_SHARE_FROM": "1"}
#: in each, a place for a condition and one for WITH TAGS
_WINDOW = "[FROM NOW-3 TO NOW SLIDE 2 SEC]"
FRAMES = [
    "SELECT id, a, b FROM s WHERE {}{}",
    "SELECT id, a + 1 AS c, b FROM s WHERE {}{}",
    f"SELECT id, b FROM s {_WINDOW} WHERE {{}}{{}}",
    f"SELECT id, b FROM s {_WINDOW} WHERE {{}} ORDER BY id DESC LIMIT 2{{}}",
    "SELECT id, a FROM s [FROM NOW-2 TO NOW SLIDE 1 ROWS] WHERE {}{}",
    "SELECT id, a FROM s [RANGE 3 SEC] WHERE {}{}",
    "SELECT id, a FROM s [ROWS 2] WHERE {}{}",
    "SELECT id, a FROM s [RANGE BY '3 seconds' SLIDE BY '2 seconds' START AT 1] WHERE {}{}",
    "ISTREAM(SELECT id, a, b FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC] WHERE {}{})",
    "DSTREAM(SELECT id, b FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC] WHERE {}{})",
    "RSTREAM(SELECT id, a FROM s [FROM NOW-2 TO NOW SLIDE 3 SEC] WHERE {}{})",
    "ISTREAM(SELECT id, a FROM s [RANGE 3 SEC] WHERE {}{})",
    "SELECT id, a FROM s WHERE {} for (t = ST; t < ST + 12; t += 3) {{ WindowIs(s, t - 4, t); }}{}",
    f"SELECT x.id, y.id AS other, x.b FROM s {_WINDOW} AS x, r {_WINDOW} AS y WHERE x.a = y.a AND x.{{}}{{}}",
    f"SELECT x.id, y.b FROM s {_WINDOW} AS x LEFT JOIN r {_WINDOW} AS y ON x.a = y.a WHERE x.{{}}{{}}",
    f"SELECT id, c FROM (SELECT id, a AS c, b FROM s WHERE {{}}) AS v {_WINDOW}{{}}",
    "SELECT id FROM (RSTREAM(SELECT id, a FROM s [FROM NOW-2 TO NOW SLIDE 2 SEC])) [RANGE 2 SEC] AS v WHERE {}{}",
    "SELECT TAGGED OBJECTS FROM s WHERE TAG_SIGN = '+' AND {}{}",
    "SELECT TAGGED OBJECTS FROM s WHERE OBJECT = s.a AND {}{}",
    f"SELECT b, SUM(a) AS m FROM s {_WINDOW} WHERE {{}} GROUP BY b{{}}",
    f"SELECT b, SUM(a) AS m FROM s {_WINDOW} WHERE {{}} GROUP BY b HAVING COUNT(*) > 1{{}}",
    "SELECT COUNT(*) AS n, MAX(id) AS m FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC] WHERE {}{}",
    f"SELECT DISTINCT a FROM s {_WINDOW} WHERE {{}}{{}}",
    f"SELECT b, TAG_COUNT('+', a) AS p, COUNT(*) AS n FROM s {_WINDOW} WHERE {{}} GROUP BY b{{}}",
    f"SELECT TAG_COUNT() AS p, TAG_SCORE(a) AS q FROM s {_WINDOW} WHERE {{}}{{}}",
    "SELECT a, MAX(id) AS m FROM s [RANGE 3 SEC] WHERE {} GROUP BY a{}",
    "SELECT COUNT(*) AS n FROM s [RANGE 3 SEC] WHERE {}{}",
]
_CONDITIONS = st.builds("a {} {}".format, st.sampled_from([">=", "=", "<"]), st.integers(0, 3))
_TAGS = st.sampled_from(["", " WITH TAGS"])


def members(frames: list[str]) -> Any:
    """Queries of one shape or two, some of which show tags."""
    return st.lists(st.sampled_from(frames), min_size=1, max_size=2).flatmap(
        lambda some: st.lists(st.builds(str.format, st.sampled_from(some), _CONDITIONS, _TAGS), min_size=4, max_size=4)
    )


def tags_in_any_order(found: Any) -> Any:
    """What a query comes to; the tags of a group have no order of their own."""
    if found is None:
        return None
    tuples, windows, relation, _ = found

    def shown(tags: Any) -> Any:
        return None if tags is None else tuple(sorted(tags, key=repr))

    by_window = {
        number: (tick, {(row, shown(tags), stix): n for (row, tags, stix), n in bag.items()})
        for number, (tick, bag) in windows.items()
    }
    return tuples, by_window, {(tick, row, shown(tags)): n for (tick, row, tags), n in relation.items()}


def agree(several: list[str], said: str, s: list[str], r: list[str], batch_rows: int, few: int) -> None:
    queries = " ".join(f"CREATE QUERY q{number} AS {text};" for number, text in enumerate(several))
    sql, files = f"{queries} {said}", {"s.jsonl": s, "r.jsonl": r}
    expected, rejects = run(Session, sql, files, batch_rows)
    with kernels_alone(), patch.dict(os.environ, EVERYONE), patch("eddyline.spark.form_table.MOST_JOINED", few):
        found, set_aside = run(SparkRun, sql, files, batch_rows)
    assert set_aside == rejects
    for name in (f"q{number}" for number in range(len(several))):
        assert tags_in_any_order(found.get(name)) == tags_in_any_order(expected.get(name)), name


_CUTS, _FEW = st.sampled_from([1, 3, 100]), st.sampled_from([0, 9])


@settings(LAW, max_examples=40 * EXAMPLES)
@given(members(FRAMES), st.sampled_from(ATTACHED), lines(), lines(), _CUTS, _FEW)
def test_members_say_what_the_reference_says(
    several: list[str], attached: str, s: list[str], r: list[str], batch_rows: int, few: int
) -> None:
    """Found by indexes, or compared one by one if there are no more than `few`."""
    agree(several, attached, s, r, batch_rows, few)


@settings(LAW, max_examples=40 * EXAMPLES)
@given(members(FRAMES), statements(), lines(), lines(), _CUTS, _FEW)
def test_tags_that_are_taken_back_reach_who_shows_them(
    several: list[str], said: str, s: list[str], r: list[str], batch_rows: int, few: int
) -> None:
    agree(several, said, s, r, batch_rows, few)


# -- queries that come and go -----------------------------------------------------------------------------------------

BUSY = Pace(batches=2, behind=1, neighbours=2, small=100_000, grace=0.0, aside=False)
NOBODY = {"EDDYLINE_SHARE_FROM": "1000000"}
_PUSHED = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["x", "y", None]), st.integers(-4, 2)), min_size=1, max_size=4
)
_TAG = st.tuples(st.sampled_from(["s", "s.a", "s.b"]), st.sampled_from(["Sad", "Joyful"]))


def stories(frames: list[str]) -> Any:
    """Queries of one shape or two, with tags and without, come and go while tags and rows do."""

    def story(some: list[str]) -> Any:
        queries = st.lists(st.builds(str.format, st.sampled_from(some), _CONDITIONS, _TAGS), min_size=1, max_size=2)
        add, push = st.tuples(st.just("add"), queries), st.tuples(st.just("push"), _PUSHED)
        others = [
            push,
            st.tuples(st.just("drop"), st.integers(0, 20)),
            st.tuples(st.just("flush"), st.none()),
            st.tuples(st.just("attach"), _TAG),
            st.tuples(st.just("attach"), _TAG),
            st.tuples(st.just("detach"), _TAG),
            st.tuples(st.just("revise"), st.tuples(st.integers(1, 20), st.none() | st.integers(0, 3))),
            st.tuples(st.just("restart"), st.none()),
            st.tuples(st.just("advance"), st.booleans()),
        ]
        any_other = st.sampled_from(others).flatmap(lambda event: event)
        return st.lists(st.tuples(any_other, push, add, any_other, push, any_other), min_size=2, max_size=5).map(
            lambda parts: [event for part in parts for event in part]
        )

    return st.lists(st.sampled_from(frames), min_size=1, max_size=2).flatmap(story)


def told(events: list[tuple[str, Any]], revisions: str) -> dict[str, Any]:
    """What a database has answered in the end, by query: the tuples one by one, and what all of it comes to."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp())
        stack.callback(shutil.rmtree, folder, ignore_errors=True)

        def opened() -> Any:
            return eddyline.connect(folder, heartbeat=None, clock=lambda: 0, pace=BUSY)

        db = opened()
        stack.callback(lambda: db.close())
        for stream in ("s", "r"):
            db.sql(f"CREATE STREAM {stream} (id INTEGER, a INTEGER, b STRING, t INTEGER) TIMESTAMP BY t")
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
                rows = [(came + at, a, b, max(0, now + late)) for at, (a, b, late) in enumerate(what, 1)]
                now, came = now + 2, came + len(rows)
                db.stream("s").push(rows)
                db.stream("r").push(rows)
            elif kind == "attach":
                on, word = what
                db.sql(f"ATTACH TAG '{word}' TO {on} WITH TAG_LIFESPAN = 4 SEC TAG_MODE = COMBINE")
            elif kind == "detach":
                on, word = what
                db.sql(f"DETACH TAG '{word}' FROM {on}")
            elif kind == "revise" and what[0] <= came and what[0] not in gone:
                if what[1] is None:
                    db.stream("s").delete(what[0])
                    gone.add(what[0])
                else:
                    db.stream("s").update(what[0], id=what[0], a=what[1], b="z", t=now - 3)
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
        return {name: _of([answer for answer in answers if answer.query == name]) for name in names}


def _of(answers: list[Any]) -> Any:
    folded = Folded()
    for answer in answers:
        folded.add(answer)
        if isinstance(answer, WindowAnswer) and answer.op == "=" and answer.tags is None:
            moved = answer.old_tick is not None
            assert moved or Counter(answer.rows) != Counter(answer.old_rows or ()), "a correction that corrects nothing"
    return [answer for answer in answers if isinstance(answer, TupleAnswer)], tags_in_any_order(folded.left())


def the_same(events: list[tuple[str, Any]], revisions: str, few: int, apart: bool) -> None:
    how = {"_LARGE": 0, "_SHARE": 3} if apart else {}
    with (
        kernels_alone(corrections=lambda: Fickle(Random(len(events)))),
        patch.multiple("eddyline.spark.form_table", MOST_JOINED=few, **how),
    ):
        with patch.dict(os.environ, NOBODY):
            alone = told(events, "upstream")
        with patch.dict(os.environ, EVERYONE):
            assert told(events, revisions) == alone


_SLICED = [frame for frame in FRAMES if "SUM(" in frame or "COUNT(" in frame or "MAX(" in frame]


#: a story is told twice, batch by batch
STORIES = settings(LAW, max_examples=15 * EXAMPLES)


@settings(STORIES)
@given(stories(FRAMES), _FEW, st.booleans())
def test_members_that_come_and_go_say_what_they_would_say_alone(
    events: list[tuple[str, Any]], few: int, apart: bool
) -> None:
    the_same(events, "upstream", few, apart)


@settings(STORIES)
@given(stories(_SLICED), _FEW, st.booleans(), st.sampled_from(["auto", "auto", "downstream"]))
def test_members_that_keep_slices_say_what_they_would_say_alone(
    events: list[tuple[str, Any]], few: int, apart: bool, revisions: str
) -> None:
    """Slices are kept while nobody shows tags, and made anew when nobody does any more."""
    the_same(events, revisions, few, apart)
