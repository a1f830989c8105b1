"""Classes of different shapes that share one grouped filter say what each says by itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddyline.kernels import leaves as leaves_module
from eddyline.kernels.matching import Reading
from eddyline.kernels.one_filter import OneFilter, Shared, found_together
from eddyline.log.storage import Storage
from laws.streams import Data, data
from laws.test_sharing import EVERYONE, advanced, asked, one_stream, opened_again, predicates, revised, runs, stories
from laws.test_sharing import the_same as the_same_as_alone
from laws.test_spark import agree
from laws.without_spark import kernels_alone


@contextmanager
def _filters(**how: Any) -> Iterator[list[bool]]:
    """Every member is found by an index. Gives, for each time that works could share a filter, whether they did."""
    shared: list[bool] = []

    def seen(
        one: OneFilter, reading: Reading, connection: duckdb.DuckDBPyConnection, storage: Storage
    ) -> Shared | None:
        found = found_together(one, reading, connection, storage)
        shared.append(found is not None)
        return found

    with ExitStack() as stack:
        stack.enter_context(kernels_alone())
        stack.enter_context(patch.dict(os.environ, EVERYONE))
        stack.enter_context(patch("eddyline.spark.form_table.MOST_JOINED", 0))
        stack.enter_context(patch.object(leaves_module, "found_together", seen))
        stack.enter_context(patch.multiple("eddyline.kernels.one_filter", _KEPT=2, **how))
        yield shared


@runs(50)
@given(
    st.lists(st.builds(asked, one_stream, predicates), min_size=4, max_size=8),
    data(),
    st.sampled_from([3, 7, 1000]),
    st.sampled_from([0.0, 0.5]),
)
def test_shapes_that_share_a_filter(several: list[str], given_data: Data, batch_rows: int, share: float) -> None:
    with _filters(_WANTED_SHARE=share):
        agree(several, given_data, batch_rows)


def test_shapes_that_come_and_go(spark: object) -> None:
    """Members of one class, or all of it, come and go while the others stay; tuples are revised and come late."""

    @runs(20)
    @given(stories(one_stream, revised, opened_again, advanced, least=3, most=5), st.booleans())
    def told(events: tuple[tuple[str, Any], ...], apart: bool) -> None:
        large, part = (0, 3) if apart else (1_000, 1 / 16)
        with _filters(_WANTED_SHARE=0.0), patch.multiple("eddyline.spark.form_table", _LARGE=large, _SHARE=part):
            the_same_as_alone(events)

    told()


WINDOW = "s [FROM NOW-5 TO NOW SLIDE 2 SEC]"
SELECTIONS = ("SELECT a FROM s WHERE b > {}", "SELECT b + 1 AS c, a FROM s WHERE b BETWEEN {} AND 12")
SHAPES = (
    *SELECTIONS,
    f"SELECT a, b FROM {WINDOW} WHERE b > {{}}",
    f"SELECT a, MAX(b) AS x FROM {WINDOW} WHERE b < {{}} AND a = 1 GROUP BY a",
    "SELECT COUNT(*) AS n FROM s [FROM NOW-3 TO NOW SLIDE 1 SEC] WHERE b > {} OR a = 2",
)
ROWS = Data([{"a": tick % 3, "b": tick, "t": tick} for tick in range(20)])


def _queries(*shapes: str) -> list[str]:
    return [shape.format(constant) for shape in shapes for constant in (2, 5, 11)]


def test_selections_and_windows_over_the_same_segments_share_a_filter() -> None:
    with _filters() as shared:
        agree(_queries(*SHAPES), ROWS, 1000)
    assert shared == [True]


def test_one_condition_of_several_outputs_is_looked_up_once() -> None:
    with _filters() as shared, patch("eddyline.kernels.grouped.filter.Alternative.find", autospec=True) as find:
        find.return_value = True
        with pytest.raises(AssertionError):  # nothing is found
            agree(_queries("SELECT a FROM s WHERE b > {}", "SELECT b FROM s WHERE b > {}"), ROWS, 1000)
    assert shared == [True] and find.call_count == 1


def test_where_windows_reach_back_they_share_theirs_and_selections_theirs() -> None:
    with _filters() as shared:
        agree(_queries(*SHAPES), ROWS, 10)
    assert shared == [True, True, True]


@pytest.mark.parametrize("how", [{"_KEPT_PAIRS": 3}, {"_MEMBER_COST": 1e9}, {"_WANTED_SHARE": 2.0}])
def test_where_it_does_not_pay_each_looks_for_itself(how: dict[str, float]) -> None:
    with _filters(**how) as shared:
        agree(_queries(*SHAPES), ROWS, 1000)
    assert shared and not any(shared)


def test_what_one_cannot_compute_does_not_hinder_the_others() -> None:
    broken = patch("eddyline.kernels.one_filter._Columns.statement", lambda *given: "SELECT error('')")
    with _filters() as shared, broken:
        agree(_queries(*SHAPES), ROWS, 1000)
    assert shared == [False]
