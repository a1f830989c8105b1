"""Statements that are alike but for their constants: without parsing and binding they must mean what these find."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eddyline
from eddyline import testing
from eddyline.binder.statement import Register, StatementBinder
from eddyline.catalog.catalog import BoundQuery
from eddyline.database.alike import Alike
from eddyline.errors import DuplicateName, EddylineError, SourceMissing, SyntaxProblem, UnknownColumn
from eddyline.language import parse_piece, parse_script, pieces, to_sql
from eddyline.spark.shapes import shared_shape
from laws.without_spark import kernels_alone

STREAM = (
    "CREATE STREAM s (x INTEGER, l BIGINT, d DOUBLE, c DECIMAL(6, 2), st STRING, day DATE, t INTEGER) TIMESTAMP BY t"
)
FRAMES = (
    "SELECT x, st FROM s WHERE x > {} AND st = {}",
    "SELECT x FROM s WHERE x BETWEEN {} AND {} OR d < -{}",
    "SELECT x + {} AS more FROM s WHERE l = {}",
    "SELECT x FROM s WHERE c > {} AND st IN ({}, {}, 'b')",
    "SELECT x FROM s WHERE st LIKE {} AND NOT d >= -{}",
    "SELECT x FROM s WHERE day > DATE {} AND x <> {}",
    "SELECT x FROM s WHERE x + {} > {} * l AND x > {}",
    "SELECT st, COUNT(*) AS n FROM s [FROM NOW-{} TO NOW SLIDE 5 SEC] WHERE x > {} GROUP BY st HAVING COUNT(*) > {}",
    "SELECT x > {} AS b, SUM(d) AS m FROM s [FROM NOW-9 TO NOW SLIDE {} SEC] WHERE x > {} GROUP BY x > {}",
    "SELECT x + {} AS k, COUNT(*) AS n FROM s [FROM NOW-9 TO NOW SLIDE 2 SEC] GROUP BY x + {} HAVING x + {} > {}",
    "SELECT x FROM (SELECT x, l + {} AS m FROM s WHERE x > {}) AS i WHERE m > {} AND x < {}",
)
numbers = st.one_of(
    st.integers(0, 12).map(str),
    st.sampled_from(["2147483647", "2147483648", "2147483649", "9223372036854775808", "99999999999999999999", "007"]),
    st.sampled_from(["1.5", "1.50", "0.0", "00.25", "12345.678", "0.001"]),
)
strings = st.sampled_from(["'a'", "'b'", "''", "'it''s'", "'2024-02-30'", "'2024-02-28'", "'2024-1-1'", "'%x_'", "'7'"])
constants = st.lists(st.one_of(numbers, strings), min_size=4, max_size=4)


def bound(text: str) -> BoundQuery | None:
    """The query as it is when nothing is known of others; None if it is wrong."""
    binder = StatementBinder()
    try:
        *_, step = [s for statement in parse_script(f"{STREAM};{text}") for s in binder.bind(statement.tree)]
    except EddylineError:
        return None
    assert isinstance(step, Register)
    return step.query


def contents(query: BoundQuery) -> list[Any]:
    return [getattr(query, part.name) for part in fields(BoundQuery)]


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(FRAMES), constants, st.lists(constants, min_size=1, max_size=6))
def test_what_is_derived_is_what_binding_gives(frame: str, first: list[str], others: list[list[str]]) -> None:
    alike = Alike()
    for at, given_constants in enumerate([first, first, *others]):
        text = f"CREATE QUERY q{at} AS {frame.format(*given_constants)}"
        (piece,) = pieces(text)
        wanted, found = bound(text), alike.find(piece)
        if found is not None:
            assert wanted is not None
            assert contents(found) == contents(wanted)
            assert repr(shared_shape(found)) == repr(shared_shape(wanted))
        elif wanted is not None:
            query = _bound_piece(text)
            alike.learn(piece, query)
            assert shared_shape(query) is None or alike.find(piece) is not None


def _bound_piece(text: str) -> BoundQuery:
    """Bound with the places that it has in its own text."""
    binder = StatementBinder()
    binder.bind(parse_script(STREAM)[0].tree)
    (piece,) = pieces(text)
    (step,) = binder.bind(parse_piece(piece, text)[0].tree)
    assert isinstance(step, Register)
    return step.query


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x > 1 AND st = 'a'", "x > 200 AND st = 'bcd'"),
        ("c > 1.25 AND d < -7", "c > 9.75 AND d < -8"),
        ("day > DATE '2024-01-01'", "day > DATE '2025-12-31'"),
        ("l = 5 AND x BETWEEN 1 AND 9", "l = 77 AND x BETWEEN 3 AND 4"),
    ],
)
def test_the_second_is_not_bound(one: str, other: str) -> None:
    alike = Alike()
    texts = [f"CREATE QUERY q AS SELECT x FROM s WHERE {where}" for where in (one, other)]
    (first,), (second,) = map(pieces, texts)
    alike.learn(first, _bound_piece(texts[0]))
    found = alike.find(second)
    wanted = bound(texts[1])
    assert found is not None and wanted is not None and contents(found) == contents(wanted)


@pytest.mark.parametrize("where", ["x > 2147483648", "x > 1.5", "x > 'a'", "x > 0", "x >= 2", "x > 2 AND x > 2"])
def test_another_type_or_form_is_bound_anew(where: str) -> None:
    alike = Alike()
    text = "CREATE QUERY q AS SELECT x FROM s WHERE x > 1"
    alike.learn(next(pieces(text)), _bound_piece(text))
    assert alike.find(next(pieces(f"CREATE QUERY r AS SELECT x FROM s WHERE {where}"))) is None


def test_what_is_learnt_again_is_not_counted_twice() -> None:
    alike = Alike()
    first = "CREATE QUERY q AS SELECT st FROM s WHERE l > 1"
    again = "CREATE QUERY q AS SELECT x FROM s WHERE x > 1"
    with patch("eddyline.database.alike._MOST", 3):
        for text in (first, *[again] * 9):
            alike.learn(next(pieces(text)), _bound_piece(text))
        assert alike.find(next(pieces(first))) is not None
        for low in ("d > 1", "d < 1"):
            text = f"CREATE QUERY q AS SELECT x FROM s WHERE {low}"
            alike.learn(next(pieces(text)), _bound_piece(text))
        assert alike.find(next(pieces(first))) is None  # there are too many now


SCRIPT = """-- it's a script; CREATE QUERY no AS SELECT x FROM nowhere;
CREATE STREAM s (x INTEGER, st STRING, t INTEGER) TIMESTAMP BY t; /* ; */
CREATE QUERY a AS SELECT x FROM s WHERE x > 1 AND st = 'a;b';
CREATE QUERY b AS SELECT x FROM s WHERE x > 2 AND st = 'it''s';
CREATE QUERY "c d" AS SELECT x FROM s; CREATE QUERY e AS SELECT x FROM s WHERE x > 3 AND st = 'e'
"""


def test_pieces_hold_the_statements_of_the_script() -> None:
    whole = [(to_sql(statement.tree), statement.position) for statement in parse_script(SCRIPT)]
    parts = [statement for piece in pieces(SCRIPT) for statement in parse_piece(piece, SCRIPT)]
    assert [(to_sql(statement.tree), statement.position) for statement in parts] == whole
    assert [piece.name for piece in pieces(SCRIPT)] == [None, "a", "b", None, "e"]


@given(st.lists(st.sampled_from([*SCRIPT.split(" "), "(", ")", "'", "{", "FOR", "--", "\n", ";", '"']), max_size=12))
@settings(max_examples=300, deadline=None)
def test_pieces_of_any_text_are_read_like_the_whole(words: list[str]) -> None:
    text = " ".join(words)
    outcomes = []
    for read in (parse_script, lambda script: [s for p in pieces(script) for s in parse_piece(p, script)]):
        try:
            outcomes.append([(to_sql(statement.tree), statement.position) for statement in read(text)])
        except SyntaxProblem:
            outcomes.append([("wrong", None)])
    assert outcomes[0] == outcomes[1]


# -- databases --------------------------------------------------------------------------------------------------------


@pytest.fixture
def db(spark: object) -> Any:
    with kernels_alone(), testing.database() as opened:
        opened.sql("CREATE STREAM s (x INTEGER, st STRING, t INTEGER) TIMESTAMP BY t")
        yield opened


def above(name: str, low: int) -> str:
    return f"CREATE QUERY {name} AS SELECT x FROM s WHERE x > {low}"


def test_a_script_of_many_says_what_each_would(db: Any) -> None:
    handles = db.sql(";\n".join(above(f"q{n}", n) for n in range(1, 50)))
    db.stream("s").push([(7, "", 1), (20, "", 2)])
    db.flush()
    for low, handle in enumerate(handles, 1):
        assert [answer.row for answer in handle.fetch()] == [(x,) for x in (7, 20) if x > low]


def test_what_is_wrong_in_the_middle_is_told_and_what_came_before_stands(db: Any) -> None:
    text = ";\n".join([*(above(f"q{n}", n + 1) for n in range(9)), above("q3", 5), above("late", 8)])
    with pytest.raises(DuplicateName) as told:
        db.sql(text)
    assert text[told.value.position.start : told.value.position.end] == "q3"
    assert told.value.position.start > text.index("q8")
    assert sorted(db.queries) == [f"q{n}" for n in range(9)]
    text = ";\n".join(
        [above("r1", 5), above("r2", 6), "CREATE QUERY r3 AS SELECT x FROM s WHERE y > 5", above("r4", 6)]
    )
    with pytest.raises(UnknownColumn) as unknown:
        db.sql(text)
    assert text[unknown.value.position.start : unknown.value.position.end] == "y"
    assert {"r1", "r2"} <= set(db.queries) and "r4" not in db.queries
    with pytest.raises(SyntaxProblem) as unread:  # a text that cannot be read changes nothing
        db.sql(f"{above('n1', 5)}; {above('n2', 6)}; CREATE QUERY n3 AS SELECT FROM WHERE")
    assert unread.value.position.start > 80 and "n1" not in db.queries


def test_a_query_that_reads_another_is_bound_anew_when_that_has_gone(db: Any) -> None:
    reading = "CREATE QUERY r{n} AS SELECT x FROM base WHERE x > {n}"
    db.sql("CREATE QUERY base AS SELECT x FROM s WHERE x > 3")
    db.sql(";".join(reading.format(n=n) for n in range(1, 5)))
    db.sql("DROP QUERY base")
    with pytest.raises(EddylineError, match="base"):
        db.sql(reading.format(n=9))
    db.sql("CREATE QUERY base AS SELECT x FROM s WHERE x < 50")
    late = db.sql(reading.format(n=45))
    db.stream("s").push([(46, "", 1), (51, "", 2)])
    db.flush()
    assert [answer.row for answer in late.fetch()] == [(46,)]


def test_constants_of_a_query_that_is_read_are_not_those_of_the_reader(db: Any) -> None:
    """Although they are equal and stand at the same place, each in its text."""
    reader = "CREATE QUERY r{n} AS SELECT x FROM base WHERE t > {low}"
    base = "CREATE QUERY base AS SELECT x, t FROM s WHERE x > 5"
    own = reader.format(n=1, low=5)
    width = max(len(base), len(own))
    own, base = (f"{text[:-1].ljust(width)}5" for text in (own, base))
    assert own[width] == base[width] == "5"
    db.sql(base)
    first = db.sql(own)
    second, third = (db.sql(f"{reader.format(n=n, low='')}".ljust(width) + str(n)) for n in (7, 8))
    db.stream("s").push([(6, "", 9), (8, "", 8), (9, "", 6), (5, "", 9)])
    db.flush()
    told = [sorted(answer.row for answer in handle.fetch()) for handle in (first, second, third)]
    assert told == [[(6,), (8,), (9,)], [(6,), (8,)], [(6,)]]


def test_a_member_that_was_derived_can_be_read_by_others_and_dropped(db: Any) -> None:
    db.sql(";".join(above(f"q{n}", n) for n in range(1, 9)))
    over = db.sql("CREATE QUERY over AS SELECT x + 1 AS y FROM q7 WHERE x < 100")
    assert "s.x>7" in db.sql("EXPLAIN ALGEBRA q7")
    db.sql("DROP QUERY q6")
    db.stream("s").push([(7, "", 1), (8, "", 2), (101, "", 3)])
    db.flush()
    assert [answer.row for answer in over.fetch()] == [(9,)]
    assert [answer.row for answer in db.query("q5").fetch()] == [(7,), (8,), (101,)]


def test_queries_come_from_a_file(db: Any, tmp_path: Path) -> None:
    file = tmp_path / "alerts.sql"
    file.write_text(";\r\n".join(above(f"q{n}", n) for n in range(1, 30)), encoding="utf-8-sig")
    assert [handle.name for handle in db.sql(file)] == [f"q{n}" for n in range(1, 30)]
    file.write_text(f"{above('r1', 1)};\n{above('r2', 2)};\nCREATE QUERY r3 AS SELECT y FROM s")
    with pytest.raises(UnknownColumn) as told:
        db.sql(file)
    assert f"{file}: line 3, column 27" in told.value.__notes__[0]
    assert {"r1", "r2"} <= set(db.queries)
    with pytest.raises(SourceMissing, match=r"nowhere\.sql"):
        db.sql(tmp_path / "nowhere.sql")


def test_all_come_back_when_the_database_is_opened_again(spark: object, tmp_path: Path) -> None:
    with patch.dict(os.environ, EDDYLINE_SHARE_FROM="2"), kernels_alone():
        with eddyline.connect(str(tmp_path)) as db:
            db.sql("CREATE STREAM s (x INTEGER, st STRING, t INTEGER) TIMESTAMP BY t")
            db.sql(";".join([*(above(f"q{n}", n) for n in range(1, 9)), "DROP QUERY q4", above("q4", 30)]))
            names = list(db.queries)
        assert len(list((tmp_path / "catalog").glob("*.json"))) < 8  # not a file for each
        with eddyline.connect(str(tmp_path)) as db:
            assert list(db.queries) == names
            db.sql(above("more", 6))
            db.stream("s").push([(6, "", 1), (40, "", 2)])
            db.flush()
            told = {name: [answer.row[0] for answer in db.query(name).fetch()] for name in db.queries}
    assert told == {name: [x for x in (6, 40) if x > low] for name, low in [
        *((f"q{n}", n) for n in range(1, 9) if n != 4), ("q4", 30), ("more", 6)]}  # fmt: skip


def test_a_class_of_any_numbers_comes_back_as_it_was(spark: object, tmp_path: Path) -> None:
    """A number that came back as a cast was no constant any more: its condition was taken for that of all members."""
    numbers = {"5L": 5, "-5L": -5, "-9223372036854775808L": -(2**63), "7S": 7, "-7S": -7, "9Y": 9}
    with patch.dict(os.environ, EDDYLINE_SHARE_FROM="2"), kernels_alone():
        with eddyline.connect(str(tmp_path)) as db:
            db.sql("CREATE STREAM s (l BIGINT, t INTEGER) TIMESTAMP BY t")
            queries = [f"CREATE QUERY q{at} AS SELECT l FROM s WHERE l NOT IN ({n})" for at, n in enumerate(numbers)]
            db.sql(";".join(queries))
        with eddyline.connect(str(tmp_path)) as db:
            db.stream("s").push([*((value, at) for at, value in enumerate(numbers.values())), (None, 9)])
            db.flush()
            told = [sorted(answer.row[0] for answer in db.query(f"q{at}").fetch()) for at in range(len(numbers))]
    assert told == [sorted(set(numbers.values()) - {value}) for value in numbers.values()]


def test_showing_forgets_nothing(db: Any) -> None:
    db.sql(";".join(above(f"q{n}", n) for n in range(3)))
    (piece,) = pieces(above("later", 7))
    for text in ("SHOW FUNCTIONS", "SHOW QUERIES"):
        assert db._core.alike.find(piece) is not None
        db.sql(text)
    assert db._core.alike.find(piece) is not None
    db.function("f", lambda x: x, returns="DOUBLE", arguments=["DOUBLE"])
    assert db._core.alike.find(piece) is None
    db.sql(above("q3", 3))
    db.sql("DROP FUNCTION f")
    assert db._core.alike.find(piece) is None
