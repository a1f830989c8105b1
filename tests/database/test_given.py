"""What a program gives that cannot be taken: one error that says so, in a traceback too, and nothing has changed."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import eddyline
from eddyline.cli.main import app
from eddyline.errors import EddylineError, InvalidDefinition, TypeMismatch, UnknownColumn, UnknownName
from eddyline.spark.classes import sharing_from
from laws.without_spark import kernels_alone

if TYPE_CHECKING:
    from eddyline import Database


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with kernels_alone():
        database = eddyline.connect(tmp_path / "db", heartbeat=None, clock=lambda: 0)
        database.sql("CREATE STREAM s (k STRING, v INTEGER, t INTEGER) TIMESTAMP BY t")
        yield database
        database.close()


@pytest.mark.parametrize("tick", ["x", 1.5, None, True, float("nan"), 10**18 + 1, -(10**18) - 1, 2**70])
def test_the_clock_moves_to_ticks_alone(db: Database, tick: Any) -> None:
    db.sql("CREATE QUERY q AS SELECT COUNT(*) AS n FROM s [FROM NOW-1 TO NOW SLIDE 2 SEC]")
    for closed in (False, True):
        with pytest.raises(InvalidDefinition, match="what the clock is moved to is"):
            db.advance(tick, closed)
    assert db.clock is None
    db.stream("s").push([("a", 1, 5), ("b", 2, 6)])
    assert db.clock == 6
    db.advance(7)
    assert db.clock == 7


def test_a_clock_that_fails_is_as_it_was(db: Database) -> None:
    """Whoever is behind it: the wall clock is the program's too."""
    ingest: Any = db._core.engine.ingest
    for _ in range(2):
        with pytest.raises(TypeError):
            ingest.advance("x")
        assert ingest.clock.reached is None
    db.advance(10**18)
    with pytest.raises(TypeError):
        ingest.advance("x")
    assert (ingest.clock.reached, ingest.clock.closed) == (10**18, 10**18 - 1)


WRONG: list[tuple[Callable[[Any], Any], type[EddylineError], str]] = [
    (lambda db: db.sql(None), InvalidDefinition, "a statement is a text, not None"),
    (lambda db: db.sql(5), InvalidDefinition, "a statement is a text, not 5"),
    (lambda db: db.query(None), InvalidDefinition, "a name is a text, not None"),
    (lambda db: db.stream(5), InvalidDefinition, "a name is a text, not 5"),
    (lambda db: db.queries(None, {"n": [1]}), InvalidDefinition, "a template is a text, not None"),
    (lambda db: db.queries("SELECT k FROM s WHERE v > :n", {"n": [1]}, 5), InvalidDefinition, "a name is a text"),
    (lambda db: db.queries.drop(None), InvalidDefinition, "a pattern is a text, not None"),
    (lambda db: db.queries.like(5), InvalidDefinition, "a pattern is a text, not 5"),
    (lambda db: db.revisions(3), InvalidDefinition, "the name of a stream or a query is a text, not 3"),
    (lambda db: db.revisions("nothing"), UnknownName, "there is no stream or query nothing"),
    (lambda db: db.revisions(since="x"), InvalidDefinition, "since is a tick, a whole number, not 'x'"),
    (lambda db: db.revisions(limit=-1), InvalidDefinition, "limit is a whole number from 0 on, not -1"),
    (lambda db: db.revisions("s", limit=1.5), InvalidDefinition, "limit is a whole number from 0 on, not 1.5"),
    (lambda db: db.stream("s").effects("x"), InvalidDefinition, "the index of a tuple is a whole number from 1 on"),
    (lambda db: db.stream("s").effects(0), InvalidDefinition, "the index of a tuple is a whole number from 1 on"),
    (lambda db: db.stream("s").delete(None), InvalidDefinition, "tuples are taken back by their indexes, not by None"),
    (lambda db: db.stream("s").push(5), TypeMismatch, "what is pushed to s is no rows: 5"),
    (lambda db: db.stream("s").push(None), TypeMismatch, "what is pushed to s is no rows: None"),
]


def test_what_is_asked_of_a_query_is_about_its_answers(db: Database) -> None:
    query = db.sql("CREATE QUERY q AS SELECT v FROM s; CREATE TABLE u (a INTEGER)")[0]
    for answer in (3, None, "x", (1, 2)):
        with pytest.raises(InvalidDefinition, match="what has causes is an answer that was fetched, not"):
            query.causes(answer)
    with pytest.raises(InvalidDefinition, match="since, a cursor, is a whole number from -1 on, not 'x'"):
        db.query("q", since="x")  # type: ignore[arg-type]
    with pytest.raises(InvalidDefinition, match="u is a table"):
        db.revisions("u")


def test_a_query_with_a_connection_point_is_not_dropped_by_a_pattern(db: Database) -> None:
    db.sql(
        "CREATE QUERY q AS SELECT SUM(v) AS x FROM s [FROM NOW-1 TO NOW SLIDE 2 SEC]; CREATE CONNECTION POINT p ON q"
    )
    with pytest.raises(InvalidDefinition, match="the connection point p is on q") as caught:
        db.queries.drop("%")
    assert "DROP QUERY q CASCADE" in "".join(traceback.format_exception(caught.value))
    assert list(db.queries) == ["q"]


@pytest.mark.parametrize(
    "text, message, marked",
    [
        ("SHOW CONNECTION POINTS OF nothing", "expected LIKE 'pattern', which chooses points by their own names", "OF"),
        ("CREATE CONNECTION POINT p ON s RETAIN -1", "nothing can be retained for a negative time", "-"),
        ("CREATE CONNECTION POINT p ON s RETAIN 0", "a connection point that retains nothing is none", "0"),
        ("CREATE CONNECTION POINT p ON nothing", "there is no stream or query nothing", "nothing"),
        ("CREATE CONNECTION POINT p RETAIN 5", "expected ON", "RETAIN"),
        ("DROP CONNECTION POINT p", "there is no connection point p", "p"),
        ("FLUSH REVISIONS OF s", "s is no query: nothing is withheld of it", "s"),
        ("FLUSH REVISIONS OF nothing", "there is no query nothing", "nothing"),
        ("SHOW REVISIONS OF s LIMIT -1", "expected how many at most", "-"),
        ("SHOW REVISIONS OF s SINCE 1.5", "expected a whole number", "1.5"),
    ],
)
def test_statements_about_corrections(db: Database, text: str, message: str, marked: str) -> None:
    with pytest.raises(EddylineError) as caught:
        db.sql(text)
    error = caught.value
    assert message in error.message
    assert error.position is not None and text[error.position.start : error.position.end] == marked


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_no_text_and_no_rows(db: Database, number: int) -> None:
    call, error, message = WRONG[number]
    with pytest.raises(error, match=message):
        call(db)
    assert (db.streams, len(db.queries), db.clock) == (("s",), 0, None)


# -- tracebacks -------------------------------------------------------------------------------------------------------


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error))


def test_a_traceback_shows_the_place_and_the_hint(db: Database) -> None:
    with pytest.raises(UnknownColumn) as raised:
        db.sql("SHOW QUERIES;\nSELECT\n  kk FROM s")
    below = "\n --> line 3, column 3\n3 |   kk FROM s\n  |   ^^\nhint: "
    assert shown(raised.value).startswith(f"eddyline.errors.UnknownColumn: {raised.value.message}{below}")
    with pytest.raises(UnknownColumn) as raised:
        db.queries("SELECT k FROM s\nWHERE vv > :n", {"n": [1]})
    assert "\n --> line 2, column 7\n2 | WHERE vv > :n\n  |       ^^\n" in shown(raised.value)
    db.sql("CREATE QUERY large AS SELECT k FROM s")
    with pytest.raises(UnknownName) as unknown:
        db.query("larg")
    assert shown(unknown.value).endswith("there is no query larg\nhint: did you mean large?\n")


def test_it_does_so_once() -> None:
    error = InvalidDefinition("no", hint="yes")
    for _ in range(2):
        error.note("some text")
    assert shown(error) == "eddyline.errors.InvalidDefinition: no\nhint: yes\n"
    plain = InvalidDefinition("no")
    plain.note("some text")
    assert shown(plain) == "eddyline.errors.InvalidDefinition: no\n"


# -- from outside -----------------------------------------------------------------------------------------------------


def test_the_environment_says_a_number_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDDYLINE_SHARE_FROM", raising=False)
    assert (sharing_from(None), sharing_from(7)) == (2, 7)
    for said, meant in (("", 2), ("5", 5), (" 1 ", 1)):
        monkeypatch.setenv("EDDYLINE_SHARE_FROM", said)
        assert sharing_from(None) == meant
    for wrong in ("abc", "1.5", "-1", "²"):
        monkeypatch.setenv("EDDYLINE_SHARE_FROM", wrong)
        with pytest.raises(InvalidDefinition, match=f"EDDYLINE_SHARE_FROM is '{wrong}', which is no whole number"):
            sharing_from(None)


def fails_at_two(x: pa.Array) -> pa.Array:
    if 2 in x.to_pylist():
        raise ValueError("two")
    return x


def test_results_tell_why_a_query_has_stopped(tmp_path: Path) -> None:
    with kernels_alone(), eddyline.connect(tmp_path, heartbeat=None) as db:
        db.sql("CREATE STREAM s (k STRING, v INTEGER, t INTEGER) TIMESTAMP BY t")
        db.function("f", fails_at_two, returns="INTEGER", arguments=["INTEGER"])
        db.sql("CREATE QUERY bad AS SELECT f(v) AS x FROM s; CREATE QUERY good AS SELECT k FROM s")
        for v in (1, 2, 3):
            db.stream("s").push([("a", v, v)])
            db.flush()
    said = "warning: the query bad has stopped: the function f failed: ValueError: two"
    bad = CliRunner().invoke(app, ["results", "bad", "--db", str(tmp_path), "--format", "jsonl"])
    assert (bad.exit_code, bad.stdout.count("\n")) == (0, 1)
    assert bad.stderr.splitlines()[0] == said
    good = CliRunner().invoke(app, ["results", "good", "--db", str(tmp_path), "--format", "jsonl"])
    assert good.stdout.count("\n") == 3 and "stopped" not in good.stderr
