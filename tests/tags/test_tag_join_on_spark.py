"""Tag joins on Spark are those of the reference engine, whatever comes, is revised, and is cut into batches."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.algebra.answer import StixAnswer, TagAnswer, TupleAnswer
from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from laws.without_spark import kernels_alone
from tags.busy_streams import busy
from tags.test_group_by_tag_on_spark import CODE, FUNCTIONS, OWN
from tags.test_spark_laws import ATTACHED, LAW, STREAMS, lines

QUERIES = [
    "SELECT TAGGED OBJECTS FROM s [3 SEC] JOIN r [3 SEC] ON TAGS",
    "SELECT TAGGED OBJECTS FROM s [RANGE 1 SEC] JOIN r [5 SEC] ON TAGS",
    "SELECT TAGGED OBJECTS FROM s [4 SEC] AS x JOIN s [2 SEC] AS y ON TAGS",
    "SELECT TAGGED OBJECTS FROM (SELECT id, b FROM s WHERE a > 0) AS v [4 SEC] JOIN r [2 SEC] ON TAGS",
]


def sent(engine: type, sql: str, files: dict[str, list[str]], batch_rows: int) -> tuple[Any, Any, list[Any]]:
    """The objects that stand in the end, the stixes and tags that were sent, and everything in its order."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_text("\n".join(content) + "\n", encoding="utf-8")
        objects: dict[int, Any] = {}
        told: Counter[Any] = Counter()
        answers = []
        for answer in engine(STREAMS + sql, Path(folder), batch_rows=batch_rows).answers():
            if answer.query != "q":
                continue
            answers.append(answer)
            if isinstance(answer, TupleAnswer):
                if answer.op == "+":
                    assert answer.index not in objects
                else:
                    old_row = answer.row if answer.old is None else answer.old
                    assert objects.pop(answer.index)[1] == old_row
                if answer.op != "-":
                    objects[answer.index] = answer.tick, answer.row
            elif isinstance(answer, TagAnswer):
                tag = answer.tag
                told[answer.tick, tag.content, tag.sign, tag.type, tag.lifespan, tag.mode, tag.tagger] += 1
            elif isinstance(answer, StixAnswer):
                told[answer.tick, answer.stix] += 1
        return Counter(objects.values()), told, answers


def both(query: str, s: list[str], r: list[str], batch_rows: int) -> tuple[Any, Any]:
    files = {"s.jsonl": s, "r.jsonl": r, "own.py": [CODE]}
    expected = sent(Session, query, files, batch_rows)
    with kernels_alone():
        return expected, sent(SparkRun, query, files, batch_rows)


cuts = st.sampled_from([1, 2, 3, 5, 100])


@settings(LAW)
@given(lines(), lines(), st.sampled_from(QUERIES), st.sampled_from(FUNCTIONS), st.sampled_from(ATTACHED), cuts)
def test_the_objects_are_those_of_the_reference(
    s: list[str], r: list[str], query: str, function: str, attached: str, batch_rows: int
) -> None:
    expected, found = both(f"{OWN} {attached} CREATE QUERY q AS {query} {function};", s, r, batch_rows)
    assert found[0] == expected[0]


def in_order(rows: list[str]) -> list[str]:
    """Without corrections, and with ticks that never go back."""
    kept, latest = [], 0
    for row in map(json.loads, rows):
        if row.get("_op") in ("-", "="):
            continue
        if "t" in row:
            latest = row["t"] = max(latest, row["t"])
        kept.append(json.dumps(row))
    return kept


@settings(LAW)
@given(lines(), lines(), st.sampled_from(QUERIES), st.sampled_from(FUNCTIONS), st.sampled_from(ATTACHED), cuts)
def test_in_order_everything_is_sent_as_the_reference_sends_it(
    s: list[str], r: list[str], query: str, function: str, attached: str, batch_rows: int
) -> None:
    """Stixes, tags and objects, also the order of the objects and their indexes."""
    sql = f"{OWN} {attached} CREATE QUERY q AS {query} {function};"
    expected, found = both(sql, in_order(s), in_order(r), batch_rows)
    assert found[1] == expected[1]
    assert [_place(answer) for answer in found[2]] == [_place(answer) for answer in expected[2]]


def _place(answer: Any) -> Any:
    if isinstance(answer, TupleAnswer):
        return answer.tick, answer.index, answer.op, answer.row
    return (answer.tick, answer.stix) if isinstance(answer, StixAnswer) else (answer.tick, answer.tag.content)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_busy_streams(function: str, seed: int) -> None:
    sql = f"{OWN} CREATE QUERY q AS {QUERIES[seed % 2]} {function};"
    expected, found = both(sql, busy(2 * seed), busy(2 * seed + 1), 7)
    assert len(expected[0]) > 20
    assert found[0] == expected[0]
    expected, found = both(sql, in_order(busy(2 * seed)), in_order(busy(2 * seed + 1)), 7)
    assert [_place(answer) for answer in found[2]] == [_place(answer) for answer in expected[2]]
