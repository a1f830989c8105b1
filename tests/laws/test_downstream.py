"""Answers that are corrected from what was added up before are those that the tuples themselves give."""

from __future__ import annotations

import os
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laws.streams import EXAMPLES, Data, all_queries, data, hop_windows, one_input, time_windows
from laws.test_spark import agree
from laws.without_spark import kernels_alone

aggregations = one_input(st.one_of(time_windows, hop_windows)).filter(
    lambda query: "GROUP BY" in query or "AS x" in query
)
several = st.lists(
    st.one_of(
        aggregations,
        aggregations,
        aggregations,
        st.builds("{}({})".format, st.sampled_from(["RSTREAM", "ISTREAM", "DSTREAM"]), aggregations),
        all_queries,
    ),
    min_size=4,
    max_size=4,
)


def downstream(examples: int) -> Any:
    allowed = settings(
        max_examples=examples * EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    return lambda test: allowed(given(several, data(), st.sampled_from([1, 3, 7, 1000]))(test))


@downstream(150)
def test_kernels_alone_correct_downstream(several: list[str], given_data: Data, batch_rows: int) -> None:
    with kernels_alone():
        agree(several, given_data, batch_rows, revisions="downstream")


@downstream(10)
def test_kernels_correct_downstream(spark: object, several: list[str], given_data: Data, batch_rows: int) -> None:
    agree(several, given_data, batch_rows, revisions="downstream")


@downstream(4)
def test_sparks_own_plans_correct_downstream(
    spark: object, several: list[str], given_data: Data, batch_rows: int
) -> None:
    with patch.dict(os.environ, EDDYLINE_KERNELS="off"):
        agree(several, given_data, batch_rows, revisions="downstream")
