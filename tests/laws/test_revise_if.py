"""Corrections that are withheld: what is shown is never further from the truth than the condition allows."""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.algebra.answer import TupleAnswer, WindowAnswer
from eddyline.binder.statement import StatementBinder
from eddyline.errors import EddylineError
from eddyline.language import parse_script
from laws.restless import Restless, late_lanes
from laws.streams import (
    EXAMPLES,
    SCHEMA,
    Data,
    all_queries,
    converted,
    cql_windows,
    data,
    folded,
    one_input,
    run,
    stream_queries,
    unnumbered,
    windows,
)
from laws.test_sharing import BUSY
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
withholding = st.tuples(asked, conditions).filter(lambda pair: _can_be(*pair))


def laws(examples: int, abreast: int) -> Any:
    allowed = settings(max_examples=examples * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    several = st.lists(withholding, min_size=abreast, max_size=abreast)
    ways = st.sampled_from(["upstream", "downstream"])
    return lambda test: allowed(given(several, data(), st.sampled_from([1, 3, 7, 1000]), ways)(test))


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
            if given_data.retain == (None, None):
                assert got["tuples"] == expected["tuples"], where
                assert unnumbered(got) == unnumbered(expected), where
    for said in (wanted, answers):
        for number, (query, condition) in enumerate(several):
            shown, true = folded(said, f"w{number}"), folded(said, f"t{number}")
            assert shown["tuples"] == true["tuples"], (query, condition)
            assert unnumbered(shown) == unnumbered(true), (query, condition)


@laws(60, abreast=3)
def test_kernels_alone_show_what_the_reference_shows(
    several: list[tuple[str, str]], given_data: Data, batch_rows: int, revisions: str
) -> None:
    with kernels_alone():
        agree(several, given_data, batch_rows, revisions)
