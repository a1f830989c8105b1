"""Causes that are found in the logs, for all revisions of a batch at once, are those that the reference engine finds by
sending each of them through the query alone."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from eddyline.algebra.answer import WindowAnswer
from eddyline.algebra.lineage import BATCH, ROW
from eddyline.algebra.revision_report import OF_QUERY
from laws.streams import EXAMPLES, Data, all_queries, data, one_input, run, texts, time_windows
from laws.test_revise_if import withholding
from laws.test_spark import spark_answers
from laws.without_spark import kernels_alone

several = st.lists(st.one_of(all_queries, one_input(time_windows)), min_size=3, max_size=3)


@st.composite
def much_revised(draw: st.DrawFn) -> Data:
    """Tuples that come in time, and then revisions of them: windows have been answered by then."""
    told = Data()
    for rows, others in ((told.s, {"b": st.integers(0, 2), "w": texts}), (told.r, {"c": texts})):
        ticks = sorted(draw(st.lists(st.integers(0, 14), min_size=5, max_size=7)))
        revised = draw(st.permutations(range(1, len(ticks) + 1)))[: draw(st.integers(0, 3))]
        kinds = [draw(st.sampled_from("=-+")) for _ in revised]
        for tick, kind in [(tick, "") for tick in ticks] + [(draw(st.integers(0, 14)), kind) for kind in kinds]:
            row = {"a": draw(st.integers(0, 2)), "t": tick, **draw(st.fixed_dictionaries(others))}
            ref = {"_op": kind, "_ref": revised.pop()} if kind in ("=", "-") else {}
            rows.append(ref if kind == "-" else {**ref, **row})
    return told


#: what two engines may call by other numbers
_NUMBER = OF_QUERY.index("answer")


def lines(answers: list[Any], asked: int) -> list[tuple[Any, ...]]:
    """What SHOW REVISIONS has said, without the numbers of the answers."""
    (found,) = [a for a in answers if isinstance(a, WindowAnswer) and a.query == f"revisions{asked}"]
    return [(*row[:_NUMBER], *row[_NUMBER + 1 :]) for row in found.rows]


def told(queries: list[str], given_data: Data, batch_rows: int) -> list[tuple[list[Any], list[Any]]]:
    """For each query what the reference engine says of its corrections, and what Spark does.

    Queries have what stands between their name and what they ask, or nothing of it.
    """
    asked = [query if query.startswith("WITH (") else f"AS {query}" for query in queries]
    sql = "".join(f"CREATE QUERY q{n} {query};\n" for n, query in enumerate(asked, 1))
    sql += "FLUSH REVISIONS;\n"
    sql += "".join(f"SHOW REVISIONS OF q{n};\n" for n in range(1, len(queries) + 1))
    right = run(sql, given_data, batch_rows).collected  # type: ignore[attr-defined]
    got, _ = spark_answers(sql, given_data, batch_rows)
    return [(lines(right, n), lines(got, n)) for n in range(1, len(queries) + 1)]


def sure(found: list[Any]) -> Counter[Any]:
    return Counter(row for row in found if row[-1] == ROW)


@settings(max_examples=30 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    several, st.one_of(much_revised(), much_revised(), data()), st.sampled_from([1, 1, 3, 7]), st.sampled_from("129")
)
def test_causes_are_those_of_the_reference_engine(
    queries: list[str], given_data: Data, batch_rows: int, share_from: str
) -> None:
    """Whether queries stand alone or are members of query classes."""
    assume(batch_rows == 1 or not given_data.rejected())  # else the engines do not cut the same batches
    with kernels_alone(), patch.dict(os.environ, EDDYLINE_SHARE_FROM=share_from):
        for query, (right, got) in zip(queries, told(queries, given_data, batch_rows), strict=True):
            where = f"{query}\nin batches of {batch_rows}"
            assert sure(got) == sure(right), where


@settings(max_examples=20 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(withholding, min_size=3, max_size=3), much_revised(), st.sampled_from([1, 1, 3, 7]), st.sampled_from("129")
)
def test_causes_of_what_was_withheld_are_those_of_the_reference_engine(
    queries: list[tuple[str, str]], given_data: Data, batch_rows: int, share_from: str
) -> None:
    """Corrections that add up until they matter, or until they are flushed."""
    assume(batch_rows == 1 or not given_data.rejected())
    asked = [f"WITH (revise_if = '{condition}') AS {query}" for query, condition in queries]
    with kernels_alone(), patch.dict(os.environ, EDDYLINE_SHARE_FROM=share_from):
        for query, (right, got) in zip(asked, told(asked, given_data, batch_rows), strict=True):
            where = f"{query}\nin batches of {batch_rows}"
            assert sure(got) == sure(right), where


def test_these_have_causes() -> None:
    """Engines that tell of none would agree."""
    given_data = Data(
        [{"a": n % 3, "b": n, "t": n} for n in range(12)]
        + [{"_op": "=", "_ref": 5, "a": 1, "b": 0, "t": 4}, {"_op": "-", "_ref": 9}, {"a": 2, "b": 7, "t": 3}]
    )
    queries = ["SELECT a, SUM(b) AS x FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC] GROUP BY a", "SELECT a FROM s WHERE b > 2"]
    with kernels_alone():
        found = told(queries, given_data, 1)
    for right, got in found:
        assert sure(right) == sure(got)
        assert {row[5] for row in got} == {"=", "-", "+"}
        assert BATCH not in {row[-1] for row in got}
