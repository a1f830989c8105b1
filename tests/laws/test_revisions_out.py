"""Corrections of every kind of query: what both engines say folds to the same, and neither says more than it must."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laws.more_queries import aggregations_on_spark, kinds, over_queries
from laws.said import END_OF_BATCH, SessionByBatch, SparkByBatch, check_minimal
from laws.streams import EXAMPLES, WHOLE, Data, all_queries, data, folded, unnumbered
from laws.test_laws import TAG_AWARE, TAGS, tagged, with_tags
from laws.values import one_nan
from laws.without_spark import kernels_alone

_CUTS = st.sampled_from([1, 2, 3, 7, 1000])
_SHAPES = st.lists(st.one_of(kinds, kinds, all_queries), min_size=3, max_size=3)


def runs(examples: int) -> Any:
    return settings(
        max_examples=examples * EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def said(kind: Any, sql: str, given_data: Data, batch_rows: int) -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        given_data.write(Path(folder))
        return one_nan(kind(given_data.schema + sql, Path(folder), batch_rows=batch_rows).answers())


def agree(several: dict[str, str], given_data: Data, batch_rows: int) -> None:
    sql = "".join(f"CREATE QUERY {name} AS {query};\n" for name, query in several.items())
    wanted, got = (said(kind, sql, given_data, batch_rows) for kind in (SessionByBatch, SparkByBatch))
    for name, query in several.items():
        where = f"{query}\nin batches of {batch_rows}"
        one_window = "[" in query and " ROWS" not in query  # of rows, several windows may be at one tick
        for answers in (wanted, got):
            try:
                check_minimal(answers, name, one_window)
            except AssertionError as problem:
                raise AssertionError(f"{'Spark' if answers is got else 'reference'}: {where}") from problem
        expected, found = (folded([a for a in answers if a is not END_OF_BATCH], name) for answers in (wanted, got))
        assert found["tuples"] == expected["tuples"], where
        assert found["relation"] == expected["relation"], where
        assert unnumbered(found) == unnumbered(expected), where


@runs(60)
@given(_SHAPES, data(), _CUTS)
def test_every_kind_of_query_says_what_is_due_and_no_more(
    several: list[str], given_data: Data, batch_rows: int
) -> None:
    with kernels_alone():
        agree({f"n{number}": query for number, query in enumerate(several)}, given_data, batch_rows)


@runs(40)
@given(over_queries, data(), _CUTS)
def test_queries_over_queries_are_corrected_in_turn(pair: tuple[str, str], given_data: Data, batch_rows: int) -> None:
    with kernels_alone():
        agree({"base": pair[0], "over": pair[1]}, given_data, batch_rows)


@runs(60)
@given(data(), TAGS, st.sampled_from(TAG_AWARE), st.data())
def test_tag_aware_queries_say_no_more_than_they_must(
    given_data: Data, tags: list[dict[str, Any]], query: str, chosen: st.DataObject
) -> None:
    """On the reference engine, which alone knows tags. A row whose tags alone are different now is said again."""
    rows = tagged(given_data, tags, chosen)
    check_minimal(said(SessionByBatch, with_tags(query), rows, 1), "q1", "[FROM NOW" in query and "ROWS" not in query)


@runs(2)
@given(st.lists(aggregations_on_spark, min_size=3, max_size=3), data(numbers=WHOLE), _CUTS)
def test_aggregates_that_kernels_do_not_know(
    spark: object, several: list[str], given_data: Data, batch_rows: int
) -> None:
    agree({f"n{number}": query for number, query in enumerate(several)}, given_data, batch_rows)


@runs(2)
@given(_SHAPES, over_queries, data(numbers=WHOLE), _CUTS)
def test_the_same_on_sparks_own_plans(
    spark: object, several: list[str], pair: tuple[str, str], given_data: Data, batch_rows: int
) -> None:
    queries = {f"n{number}": query for number, query in enumerate(several)} | {"base": pair[0], "over": pair[1]}
    with patch.dict(os.environ, EDDYLINE_KERNELS="off"):
        agree(queries, given_data, batch_rows)
