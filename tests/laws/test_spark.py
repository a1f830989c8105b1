"""Spark agrees with the reference engine: random queries over late, withdrawn and corrected data, in random batches.

Several queries share each run: they stand side by side on one streaming query, and a run costs the same for one as for
many.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eddyline.session.spark_run import SparkRun
from eddyline.sources import Reject
from laws.streams import (
    EXAMPLES,
    WHOLE,
    Data,
    all_queries,
    data,
    folded,
    join,
    one_input,
    row_windows,
    run,
    set_aside,
    unnumbered,
    with_table,
)
from laws.values import one_nan
from laws.without_spark import kernels_alone


@st.composite
def restless_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of which the latest, or the first, go again and again: and with them windows that others bring back."""
    rows: list[dict[str, Any]] = []
    standing: list[int] = []
    now, inserted = 5, 0
    for kind in draw(st.lists(st.sampled_from("++++---=<"), min_size=4, max_size=14)):
        now += draw(st.integers(0, 2))
        row = {"a": draw(st.sampled_from([0, 1])), "b": draw(st.integers(0, 2)), "w": "x", "t": now}
        if kind == "+" or not standing:
            inserted += 1
            standing.append(inserted)
            rows.append(row)
        elif kind == "=":
            rows.append({"_op": "=", "_ref": standing[-1], **row, "t": max(0, now - draw(st.sampled_from([0, 3, 9])))})
        else:
            rows.append({"_op": "-", "_ref": standing.pop(0 if kind == "<" else -1)})
    return rows


def spark_answers(sql: str, given_data: Data, batch_rows: int) -> tuple[list[object], list[tuple[str, int, str]]]:
    """The answers, and what was set aside."""
    rejects: list[Reject] = []
    with tempfile.TemporaryDirectory() as folder:
        given_data.write(Path(folder))
        run = SparkRun(given_data.schema + sql, Path(folder), batch_rows=batch_rows, on_reject=rejects.append)
        answers = one_nan(run.answers())
        assert run._engine.executor.refused == {}  # nothing here overflows, so whatever is given to the kernel runs
        return answers, set_aside(rejects)


def runs(examples: int, abreast: int = 8, given_data: Any = None) -> Any:
    """So many random runs, each of some queries side by side."""
    allowed = settings(
        max_examples=examples * EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    return lambda test: allowed(
        given(
            st.lists(all_queries, min_size=abreast, max_size=abreast),
            data() if given_data is None else given_data,
            st.sampled_from([3, 7, 1000]),
        )(test)
    )


@runs(60, abreast=4)
def test_kernels_alone_fold_to_what_the_reference_folds_to(
    several: list[str], given_data: Data, batch_rows: int
) -> None:
    with kernels_alone():
        agree(several, given_data, batch_rows, numbered=True)


@settings(
    max_examples=12 * EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    st.lists(
        st.one_of(one_input(row_windows), with_table(row_windows), join(row_windows, row_windows)),
        min_size=3,
        max_size=3,
    ),
    restless_rows(),
    st.sampled_from([1, 1, 2, 4]),
    st.sampled_from(["1", "1000"]),
)
def test_windows_of_rows_that_go_and_come_again_have_their_numbers(
    several: list[str], s: list[dict[str, Any]], batch_rows: int, share_from: str
) -> None:
    """Alone, and as members of query classes."""
    with kernels_alone(), patch.dict(os.environ, EDDYLINE_SHARE_FROM=share_from):
        others = [{**row, "c": row["w"]} for row in s if "a" in row]
        agree([*several, *several[:1]], Data(s, others), batch_rows, numbered=True)


@runs(20)
def test_kernels_fold_to_what_the_reference_folds_to(
    spark: object, several: list[str], given_data: Data, batch_rows: int
) -> None:
    agree(several, given_data, batch_rows)


@runs(8, given_data=data(numbers=WHOLE))
def test_sparks_own_plans_fold_to_what_the_reference_folds_to(
    spark: object, several: list[str], given_data: Data, batch_rows: int
) -> None:
    with patch.dict(os.environ, EDDYLINE_KERNELS="off"):
        agree(several, given_data, batch_rows)


def agree(
    several: list[str],
    given_data: Data,
    batch_rows: int,
    revisions: str = "upstream",
    plain: Callable[[list[Any]], list[Any]] = lambda answers: answers,
    before: str = "",
    numbered: bool = False,
) -> None:
    """`plain`: what is left of answers without what may differ; `before`: statements that come first; `numbered`:
    whether windows must have the same numbers."""
    how = f"WITH (revisions = '{revisions}')"
    sql = before + "".join(f"CREATE QUERY q{number} {how} AS {query};\n" for number, query in enumerate(several, 1))
    session = run(sql, given_data, batch_rows)
    wanted = session.collected
    answers, rejects = spark_answers(sql, given_data, batch_rows)
    assert rejects == session.rejects
    for number, query in enumerate(several, 1):
        name = f"q{number}"
        expected, got = folded(plain(wanted), name), folded(plain(answers), name)
        where = f"{query}\nin batches of {batch_rows}"
        assert got["tuples"] == expected["tuples"], where
        assert got["relation"] == expected["relation"], where
        if numbered and not (rejects and batch_rows > 1):  # then the engines do not cut the same batches
            assert got["windows"] == expected["windows"], where
        else:
            assert unnumbered(got) == unnumbered(expected), where
