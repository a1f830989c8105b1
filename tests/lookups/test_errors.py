"""What is wrong about a table that is asked by key is told where it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from eddyline.errors import EddylineError
from eddyline.session.checking import check

STREAM = "CREATE STREAM s (a INTEGER, b BIGINT, t INTEGER) TIMESTAMP BY t;\n"
FUNCTION = "function 'lookups.service:find'"


def table(options: str, columns: str = "key INTEGER, name STRING, size BIGINT") -> str:
    return f"CREATE TABLE people ({columns}) USING lookup OPTIONS ({options});\n"


def errors(text: str, tmp_path: Path) -> list[tuple[str, str, str]]:
    """What is said, the text that it points at, and the hint."""
    found: list[EddylineError] = check(text, tmp_path)[0]
    pointed = [text[e.position.start : e.position.end] if e.position else "" for e in found]
    return [(e.message, at, e.hint or "") for e, at in zip(found, pointed, strict=True)]


@pytest.mark.parametrize(
    ("options", "message", "at", "hint"),
    [
        ("key 'key'", "people: USING lookup needs a function", "", "file.py:name"),
        (FUNCTION, "people: USING lookup needs a key", "", "key 'key'"),
        (f"{FUNCTION}, key 'kee'", "people has no column kee", "key 'kee'", "did you mean key?"),
        ("function 'find', key 'key'", "'find' does not say which function", "function 'find'", "module:name"),
        ("function 'no.such:find', key 'key'", "no.such cannot be loaded", "function 'no.such:find'", ""),
        ("function 'gone.py:find', key 'key'", "there is no file", "function 'gone.py:find'", ""),
        ("function 'lookups.service:fund', key 'key'", "has no function fund", "'lookups.service:fund'", "find?"),
        (f"{FUNCTION}, key 'key', bach 5", "has no option bach", "bach 5", "did you mean batch?"),
        (f"{FUNCTION}, key 'key', batch 0", "batch is a whole number", "batch 0", ""),
        (f"{FUNCTION}, key 'key', fresh 'soon'", "'soon' is not a length of time", "fresh 'soon'", "5 seconds"),
        (f"{FUNCTION}, key 'key', path 'x.txt'", "of which format x.txt is", "path 'x.txt'", "format 'csv'"),
        (f"{FUNCTION}, key 'key', path 'x', format 'orc'", "cannot be scanned as orc", "format 'orc'", "csv, json"),
    ],
)
def test_definitions(tmp_path: Path, options: str, message: str, at: str, hint: str) -> None:
    ((said, pointed, hinted),) = errors(table(options), tmp_path)
    assert message in said and at in pointed and hint in hinted, (said, pointed, hinted)


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("SELECT name FROM s, people", "people can only be looked up by key", "= people.key"),
        ("SELECT name FROM s, people WHERE a > key", "people can only be looked up by key", "path to scan"),
        ("SELECT name FROM s, people WHERE b = key", "which is INTEGER, not by a value of type BIGINT", "CAST("),
        ("SELECT name FROM people", "people can only be looked up by key", ""),
        ("SELECT name FROM s [RANGE 5 SEC], people WHERE a = key", "people can only be looked up by key", "window"),
        (
            "SELECT name FROM s [RANGE 5 SEC], people WHERE a = key",
            "of one stream without a window; here",
            "answers one",
        ),
        ("SELECT name FROM people", "here all of it would have to be read", "path to scan"),
        ("SELECT name FROM s LEFT JOIN people ON a = key", "cannot have people, which is only looked up", "inner join"),
        (
            "SELECT COUNT(*) FROM (SELECT name FROM s, people WHERE a = key) AS v [FROM NOW-3 TO NOW SLIDE 1 ROWS]",
            "come in no order",
            "window of time",
        ),
        ("INSERT INTO people VALUES (1, 'a', 1)", "people is stored elsewhere (lookup)", "change it there"),
    ],
)
def test_queries(tmp_path: Path, query: str, message: str, hint: str) -> None:
    ((said, pointed, hinted),) = errors(STREAM + table(f"{FUNCTION}, key 'key'") + query + ";", tmp_path)
    assert message in said and pointed and hint in hinted, (said, pointed, hinted)


def test_what_hints_say_is_possible(tmp_path: Path) -> None:
    looked_up = "SELECT a, name FROM s, people WHERE a = key"
    queries = f"SELECT name FROM ({looked_up}) AS v [RANGE 5 SEC]; SELECT name FROM s JOIN people ON a = key;"
    assert errors(STREAM + table(f"{FUNCTION}, key 'key'") + queries, tmp_path) == []


def test_a_key_has_a_type_that_can_be_compared(tmp_path: Path) -> None:
    ((said, pointed, _),) = errors(table(f"{FUNCTION}, key 'key'", "key DOUBLE, name STRING"), tmp_path)
    assert said == "people cannot be asked by key, which is DOUBLE" and "key 'key'" in pointed


def test_what_can_be_scanned_needs_no_key(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("key,name,size\n1,one,1\n")
    scannable = table(f"{FUNCTION}, key 'key', path 'people.csv'")
    queries = "SELECT name FROM s, people WHERE a > key; SELECT name FROM people; SELECT a FROM s [NOW], people;"
    assert errors(STREAM + scannable + queries, tmp_path) == []
