"""Nothing but a proper error or a plan comes out, whatever the text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.algebra.notation import notation
from eddyline.binder.statement import StatementBinder
from eddyline.errors import EddylineError
from eddyline.language import parse_script, to_sql
from eddyline.rules import optimize
from golden.script_file import read_script
from laws.streams import EXAMPLES, SCHEMA, queries

SCRIPTS = [read_script(path).sql for path in sorted((Path(__file__).parent.parent / "scripts").rglob("*.script"))]

WORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "OFFSET", "DISTINCT", "AS", "JOIN", "LEFT"),
    *("ON", "USING", "WITH", "TAGS", "TAGGED", "OBJECTS", "TAG", "ISTREAM", "RSTREAM", "DSTREAM", "CREATE", "STREAM"),
    *("SENSED", "TABLE", "QUERY", "DROP", "EXPLAIN", "ALGEBRA", "INSERT", "INTO", "VALUES", "UPDATE", "SET", "DELETE"),
    *("ATTACH", "TO", "CONTINUOUSLY", "NOW", "SLIDE", "RANGE", "ROWS", "PARTITION", "UNBOUNDED", "SCAN", "START", "AT"),
    *("SITES", "EVERY", "MIN", "SEC", "ROW", "for", "WindowIs", "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS"),
    *("NULL", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST", "COUNT", "SUM", "MIN", "wtime", "tag_count", "EQUALITY"),
    *("DETACH", "SYNONYMS", "ACRONYM", "OF", "tag_score", "GROUP", "FUNCTION"),
    *("JACCARD", "s", "r", "d", "a", "b", "c", "t", "name", "x", "ST", "TICK", "OBJECT", "TAGSIGN", "TAG_LIFESPAN"),
    *("INTEGER", "STRING", "TIMESTAMP", "csv", "OPTIONS", "path", "RETAIN", "INTERVAL"),
    *("CONNECTION", "POINT", "POINTS", "SHOW", "CASCADE"),
)
SYMBOLS = (*"()[]{}.,;:*+-/%=<>!|'\"`&@#$?\\~^", "==", "<=", "<=>", "::", "->", "--", "/*", "*/", "||", "++", "\n")
VALUES = (
    *("0", "1", "5", "1.5", "1e3", "'x'", "''", "99999999999999999999", "'5 seconds'", "0x1F", "1L"),
    *("é", "\u2212\u2212", "\x00"),
)
tokens = st.lists(st.sampled_from(WORDS + SYMBOLS + VALUES), max_size=25).map(" ".join)


def assert_only_our_errors(text: str) -> None:
    """Parse, print, bind, optimise and explain a script; only our own errors may come out, each with a place in it."""
    errors: list[EddylineError] = []
    statements = parse_script(text, errors)
    binder = StatementBinder()
    for statement in parse_script(SCHEMA):
        binder.bind(statement.tree)
    for statement in statements:
        to_sql(statement.tree)
        try:
            binder.bind(statement.tree)
        except EddylineError as error:
            assert error.code != "INVALID_ALGEBRA", f"a bug of ours reached the user: {error.message}"
            errors.append(error)
    for query in binder.catalog.queries.values():
        notation(optimize(query.plan).plan)
    for error in errors:
        assert error.message and error.code != "INTERNAL"
        assert "Traceback" not in error.render(text)
        if error.position is not None:
            line, column = error.position.line_and_column(text)
            assert line >= 1 and column >= 1


@settings(max_examples=1_000 * EXAMPLES, deadline=None)
@given(tokens)
def test_random_tokens(text: str) -> None:
    assert_only_our_errors(text)


@settings(max_examples=400 * EXAMPLES, deadline=None)
@given(st.text(max_size=60))
def test_random_text(text: str) -> None:
    assert_only_our_errors(text)


@settings(max_examples=400 * EXAMPLES, deadline=None)
@given(st.sampled_from(SCRIPTS), st.integers(0, 2**32))
def test_mutated_scripts(script: str, seed: int) -> None:
    """Real scripts with words deleted, doubled, swapped or replaced."""
    chance = random.Random(seed)
    words = script.split(" ")
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(words))
        kind = chance.randrange(4)
        if kind == 0:
            del words[place]
        elif kind == 1:
            words.insert(place, words[place])
        elif kind == 2:
            words[place] = chance.choice(WORDS + SYMBOLS + VALUES)
        else:
            other = chance.randrange(len(words))
            words[place], words[other] = words[other], words[place]
        if not words:
            return
    assert_only_our_errors(" ".join(words))


@settings(max_examples=200 * EXAMPLES, deadline=None)
@given(queries, st.integers(0, 2**32))
def test_queries_cut_anywhere(sql: str, seed: int) -> None:
    chance = random.Random(seed)
    cut = chance.randrange(len(sql) + 1)
    assert_only_our_errors(sql[:cut])
    assert_only_our_errors(sql[:cut] + chance.choice(WORDS + SYMBOLS) + sql[cut:])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 5_000 + "1" + ")" * 5_000 + " FROM s",
        "SELECT " + " + ".join(["1"] * 3_000) + " FROM s",
        "SELECT a FROM s WHERE " + " AND ".join(["a > 1"] * 3_000),
        "SELECT " + "NOT " * 3_000 + "TRUE FROM s",
        "SELECT " + "- " * 3_000 + "1 FROM s",
        "SELECT " + "a." * 2_000 + "a FROM s",
        "SELECT " + "CASE WHEN " * 1_000 + "1",
        "SELECT * FROM " + "(SELECT * FROM " * 300 + "s" + ")" * 300,
        "'" * 3,
        "\ufeffSELECT a FROM s",
        "SELECT a FROM s WHERE a = ‘x’",
    ],
    ids=lambda text: text[:20],
)
def test_monsters(text: str) -> None:
    assert_only_our_errors(text)
