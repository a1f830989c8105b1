"""Queries of different shapes that compute the same slices together say what each says by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eddyline.kernels.leaves import Leaves
from eddyline.kernels.together import Together, in_bundles
from eddyline.log.storage import Storage
from laws.streams import EXAMPLES, Data, aggregates, data, predicates
from laws.test_spark import agree
from laws.without_spark import kernels_alone

_windows = st.sampled_from(
    [
        "[FROM NOW-5 TO NOW SLIDE 2 SEC]",
        "[FROM NOW-3 TO NOW SLIDE 4 SEC]",
        "[FROM NOW-6 TO NOW-2 SLIDE 3 SEC]",
        "[RANGE BY '4 seconds' SLIDE BY '2 seconds']",
    ]
)


@st.composite
def _alike(draw: st.DrawFn) -> list[str]:
    """Queries over one to three windows with one or two conditions, which differ in all else."""
    windows = draw(st.lists(_windows, min_size=1, max_size=3))
    wheres = draw(st.lists(predicates, min_size=1, max_size=2))
    queries = []
    for _ in range(6):
        source = f"s {draw(st.sampled_from(windows))} WHERE {draw(st.sampled_from(wheres))}"
        # a text beside a number is left to Spark
        first, second = draw(aggregates), draw(aggregates.filter(lambda aggregate: "(w)" not in aggregate))
        query = draw(
            st.sampled_from(
                [
                    f"SELECT {first} AS x, {second} AS y FROM {source}",
                    f"SELECT a, {first} AS x FROM {source} GROUP BY a",
                    f"SELECT a, {first} AS x FROM {source} GROUP BY a HAVING {second} > 1",
                    f"SELECT a, {first} AS x, {second} AS y FROM {source} GROUP BY a ORDER BY x LIMIT 1",
                ]
            )
        )
        queries.append(draw(st.sampled_from([query, query, f"RSTREAM({query})", f"ISTREAM({query})"])))
    return queries


@settings(
    max_examples=40 * EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(_alike(), data(), st.sampled_from([3, 7, 1000]), st.sampled_from([0.1, 1]))
def test_slices_of_several_shapes(
    several: list[str], given_data: Data, batch_rows: int, rows_of_a_slice: float
) -> None:
    with (
        kernels_alone(),
        patch("eddyline.spark.kernel_job._FEW_ROWS", -1),
        patch("eddyline.kernels.together._ROWS_OF_A_SLICE", rows_of_a_slice),
    ):
        agree(several, given_data, batch_rows)


def _run(*queries: str) -> list[str]:
    """The tables that works have shared, each as often as it was asked for."""
    asked: list[str] = []
    has = Leaves.has

    def seen(leaves: Leaves, shared: Together, storage: Storage) -> bool:
        found = has(leaves, shared, storage)
        asked.extend([shared.table] if found else [])
        return found

    rows: list[dict[str, Any]] = [{"a": tick % 3, "b": tick, "t": tick} for tick in range(20)]
    with kernels_alone(), patch("eddyline.spark.kernel_job._FEW_ROWS", -1), patch.object(Leaves, "has", seen):
        agree(list(queries), Data(rows), 1000)
    return asked


WINDOW = "s [FROM NOW-5 TO NOW SLIDE 2 SEC]"


def test_what_differs_in_aggregates_alone_is_shared() -> None:
    asked = _run(
        f"SELECT a, MAX(b) AS x FROM {WINDOW} WHERE b > 2 GROUP BY a",
        f"SELECT a, SUM(b) AS x, COUNT(*) AS y FROM {WINDOW} WHERE b > 2 GROUP BY a HAVING SUM(b) > 9",
        f"ISTREAM(SELECT MIN(b) AS x, a FROM {WINDOW} WHERE b > 2 GROUP BY a)",
    )
    assert len(asked) == 3 and len(set(asked)) == 1


def test_windows_of_other_lengths_and_slides_share_finer_slices() -> None:
    windows = {"MAX": "NOW-5 TO NOW SLIDE 2", "SUM": "NOW-7 TO NOW SLIDE 4", "MIN": "NOW-9 TO NOW-2 SLIDE 3"}
    queries = [f"SELECT a, {what}(b) AS x FROM s [FROM {w} SEC] GROUP BY a" for what, w in windows.items()]
    with patch("eddyline.kernels.together._ROWS_OF_A_SLICE", 0.1):
        asked = _run(*queries)
    assert len(asked) == 3 and len(set(asked)) == 1
    with patch("eddyline.kernels.together._ROWS_OF_A_SLICE", 1000):
        assert not _run(*queries)  # such slices would be as many as tuples


def test_on_spark_they_are_done_in_one_task(spark: object) -> None:
    rows: list[dict[str, Any]] = [{"a": tick % 3, "b": tick, "t": tick} for tick in range(20)]
    queries = [f"SELECT a, {what}(b) AS x FROM {WINDOW} WHERE b > 2 GROUP BY a" for what in ("MAX", "SUM", "COUNT")]
    with (
        patch("eddyline.spark.kernel_job._FEW_ROWS", -1),
        patch("eddyline.spark.kernel_job.in_bundles", wraps=in_bundles) as bundled,
    ):
        agree([*queries, "SELECT a FROM s WHERE b > 3"], Data(rows), 1000)
    assert [3, 1] in [[len(bundle) for bundle in in_bundles(*call.args)] for call in bundled.call_args_list]


def test_what_asks_for_other_tuples_or_keys_is_not() -> None:
    assert not _run(
        f"SELECT a, MAX(b) AS x FROM {WINDOW} WHERE b > 2 GROUP BY a",
        f"SELECT a, MAX(b) AS x, MIN(b) AS y FROM {WINDOW} WHERE b > 3 GROUP BY a",
        f"SELECT b, MAX(a) AS x FROM {WINDOW} WHERE b > 2 GROUP BY b",
        f"SELECT MAX(b) AS x, 1 AS y FROM {WINDOW} WHERE b > 2",
    )


def test_who_cannot_be_computed_with_the_others_is_computed_alone() -> None:
    """Whoever makes the shared table may meet what only another one cannot bear, an overflow for instance."""
    rows: list[dict[str, Any]] = [{"a": 1, "b": tick, "t": tick} for tick in range(20)]
    queries = [f"SELECT MAX(b) AS x FROM {WINDOW}", f"SELECT MIN(b) AS x, COUNT(*) AS n FROM {WINDOW}"]
    has = Leaves.has

    def broken(leaves: Leaves, shared: Together, storage: Storage) -> bool:
        return has(leaves, replace(shared, creation="SELECT error('overflow')"), storage)

    with kernels_alone(), patch("eddyline.spark.kernel_job._FEW_ROWS", -1), patch.object(Leaves, "has", broken):
        agree(queries, Data(rows), 1000)
