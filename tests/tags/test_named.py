"""Tags reach through named queries: to read one is to read its text in parentheses."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from eddyline.algebra.literals import with_literals
from eddyline.algebra.node import Operator
from eddyline.binder.statement import Register, StatementBinder
from eddyline.catalog.catalog import BoundQuery
from eddyline.language import parse_script
from eddyline.session import Session
from eddyline.session.checking import check
from eddyline.session.spark_run import SparkRun
from laws.without_spark import kernels_alone
from tags.test_sharing_laws import tags_in_any_order
from tags.test_spark_laws import run

NAMED = {
    "tuples": "SELECT id, a, b FROM s WHERE a > 0",
    "rows": "ISTREAM(SELECT id, a, b FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC])",
    "groups": "SELECT b, MAX(a) AS a, COUNT(*) AS id FROM s [RANGE 4 SEC] GROUP BY b",
    "objects": "SELECT TAGGED OBJECTS FROM s WHERE TAG = 'Sad'",
}
#: who reads a stream, and who reads anything
OF_STREAMS = [
    "SELECT id, a FROM {} WITH TAGS",
    "SELECT b, SUM(a) AS m FROM {} [FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY b WITH TAGS",
    "SELECT TAG_COUNT() AS n FROM {} [FROM NOW-3 TO NOW SLIDE 2 SEC]",
    "SELECT TAGGED OBJECTS FROM {} WHERE OBJECT = v.a WITH TAGS",
    "SELECT TAG, COUNT(*) AS n FROM {} [FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY TAG",
]
OF_ANYTHING = ["SELECT a FROM {} WITH TAGS", "SELECT id + 1 AS more FROM (SELECT id, b FROM {}) AS w WITH TAGS"]
READERS = [
    *((name, reader) for name in ("tuples", "rows", "objects") for reader in OF_STREAMS),
    *((name, reader) for name in NAMED for reader in OF_ANYTHING),
]
S = [
    '{"_op": "#", "_tag": {"content": "Sad", "lifespan": 8, "applies_to": {"attributes": ["a"]}}}',
    '{"id": 1, "a": 1, "b": "x", "t": 1}',
    '{"_op": "#", "_tag": {"content": "Late", "sign": "+"}}',
    '{"id": 2, "a": 2, "b": "x", "t": 2}',
    '{"id": 3, "a": 0, "b": "y", "t": 4}',
    '{"id": 4, "a": 3, "b": "y", "t": 5}',
    '{"id": 5, "a": 1, "b": null, "t": 11}',
    '{"_op": "=", "_ref": 4, "id": 4, "a": 2, "b": "x", "t": 6}',
]


def bound(text: str) -> BoundQuery:
    binder = StatementBinder()
    steps = [step for statement in parse_script(text) for step in binder.bind(statement.tree)]
    return [step.query for step in steps if isinstance(step, Register)][-1]


def unplaced(plan: Operator) -> Operator:
    """Constants know where they stand in their text."""
    return with_literals(plan, lambda literal: replace(literal, place=None))


@pytest.mark.parametrize(("name", "reader"), READERS)
def test_a_named_query_is_read_as_its_text_is(name: str, reader: str) -> None:
    extents = "CREATE STREAM s (id INTEGER, a INTEGER, b STRING, t INTEGER) TIMESTAMP BY t;"
    read = bound(f"{extents} CREATE QUERY v AS {NAMED[name]}; {reader.format('v')};")
    written = bound(f"{extents} {reader.format(f'({NAMED[name]}) AS v')};")
    assert unplaced(read.plan) == unplaced(written.plan)
    assert read.plan.tagged or "TAG" in reader


def test_with_definitions_too() -> None:
    extents = "CREATE STREAM s (id INTEGER, a INTEGER, t INTEGER) TIMESTAMP BY t;"
    for reader in ("SELECT TAG_COUNT() AS n FROM v [RANGE 3 SEC]", "SELECT TAGGED OBJECTS FROM v WHERE TAG = 'Sad'"):
        defined = bound(f"{extents} WITH v AS (SELECT a FROM s) {reader};")
        named = bound(f"{extents} CREATE QUERY v AS SELECT a FROM s; {reader};")
        assert unplaced(defined.plan) == unplaced(named.plan)


SAD = "SELECT TAGGED OBJECTS FROM v WHERE TAG = 'Sad'"


@pytest.mark.parametrize(
    "nested",
    [
        f"WITH v AS (SELECT a, id FROM s) SELECT a FROM ({SAD}) AS w",
        f"WITH v AS (SELECT a, id FROM s), w AS ({SAD}) SELECT a FROM w",
        f"WITH v AS (SELECT a, id FROM s) (WITH w AS ({SAD}) (SELECT a FROM w))",
    ],
)
def test_definitions_that_are_read_further_inside(nested: str) -> None:
    written = f"SELECT a FROM ({SAD.replace(' v ', ' (SELECT a, id FROM s) AS v ')}) AS w"
    files = {"s.jsonl": S, "r.jsonl": []}
    expected, _ = run(Session, f"CREATE QUERY q AS {written};", files, 2)
    assert "(2,)" in repr(expected["q"])
    with kernels_alone():
        for engine in (Session, SparkRun):
            assert run(engine, f"CREATE QUERY q AS {nested};", files, 2)[0] == expected


@pytest.mark.parametrize(
    ("name", "reader", "shown"),
    [
        ("tuples", OF_STREAMS[0], "'Sad'"),
        ("rows", OF_STREAMS[1], "'Sad'"),
        ("groups", OF_ANYTHING[0], "'Sad'"),
        ("objects", OF_STREAMS[2], "(2,)"),
        ("objects", OF_STREAMS[4], "('Sad', 2)"),
    ],
)
def test_both_engines_show_the_tags(name: str, reader: str, shown: str) -> None:
    sql = f"CREATE QUERY v AS {NAMED[name]}; CREATE QUERY q AS {reader.format('v')};"
    files = {"s.jsonl": S, "r.jsonl": []}
    expected, _ = run(Session, sql, files, 2)
    with kernels_alone(), patch.dict(os.environ, EDDYLINE_SHARE_FROM="1"):
        found, _ = run(SparkRun, sql, files, 2)
    assert tags_in_any_order(found["q"]) == tags_in_any_order(expected["q"])
    assert shown in repr(expected["q"])


def test_what_withholds_corrections_has_no_tags(tmp_path: Path) -> None:
    text = """CREATE STREAM s (id INTEGER, a INTEGER, t INTEGER) TIMESTAMP BY t;
CREATE QUERY v WITH (revise_if = 'abs(new - old) > 2') AS SELECT id, a FROM s;
SELECT id FROM v WITH TAGS;
"""
    (error,) = check(text, tmp_path)[0]
    assert error.position is not None
    assert "v shows only corrections that matter" in error.message and "leave the tags out" in (error.hint or "")
    assert text[error.position.start : error.position.end] == "v"
