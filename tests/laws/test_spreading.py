"""How work is spread over tasks changes no answer."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.kernels.together import in_bundles, put_together
from eddyline.spark import kernel_job, spreading
from laws.restless import spread_thin
from laws.streams import EXAMPLES, Data, all_queries, data, one_input, time_windows
from laws.test_revise_if import agree as agree_on_what_is_shown
from laws.test_revise_if import endless, withholding
from laws.test_sharing import EVERYONE, NOBODY
from laws.test_spark import agree
from laws.without_spark import kernels_alone

_aggregated = one_input(time_windows, st.sampled_from(["SUM(b)", "COUNT(*)", "MAX(b)", "AVG(b)"]))
_joined = st.sampled_from(
    [
        "SELECT l.a, r.b FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] l, s [FROM NOW-1 TO NOW SLIDE 2 SEC] r WHERE l.a = r.a",
        "SELECT l.a, COUNT(*) AS n FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] l, s [FROM NOW-1 TO NOW SLIDE 3 SEC] r "
        "WHERE l.a = r.a GROUP BY l.a",
    ]
)


@settings(max_examples=25 * EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.one_of(_aggregated, _aggregated, _joined, all_queries), min_size=4, max_size=4),
    data(),
    st.sampled_from([1, 3, 7, 1000]),
    st.sampled_from(["upstream", "downstream"]),
)
def test_work_in_many_parts_gives_what_the_reference_gives(
    several: list[str], given_data: Data, batch_rows: int, revisions: str
) -> None:
    with kernels_alone(), spread_thin():
        agree(several, given_data, batch_rows, revisions)


_W, _V = "[FROM NOW-3 TO NOW SLIDE 2 SEC]", "[FROM NOW-1 TO NOW SLIDE 2 SEC]"
_framed = st.sampled_from(
    [
        f"SELECT a, SUM(b) AS x, COUNT(*) AS n FROM s {_W} WHERE {{}} GROUP BY a",
        f"SELECT MAX(b) AS x, AVG(b) AS y FROM s {_W} WHERE {{}}",
        f"SELECT a, b FROM s {_W} WHERE {{}}",
        f"SELECT s.a, r.c FROM s {_W}, r {_V} WHERE s.a = r.a AND s.{{}}",
        "SELECT a + 1 AS x, b FROM s WHERE {}",
    ]
)
_members = st.lists(_framed, min_size=1, max_size=2).flatmap(
    lambda frames: st.lists(
        st.builds(str.format, st.sampled_from(frames), st.integers(-2, 2).map("a > {}".format)), min_size=4, max_size=4
    )
)


@settings(max_examples=12 * EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    _members, data(), st.sampled_from([1, 3, 7, 1000]), st.sampled_from(["upstream", "downstream"]), st.integers(0, 1)
)
def test_members_whose_work_is_in_many_parts_give_what_the_reference_gives(
    several: list[str], given_data: Data, batch_rows: int, revisions: str, by_index: int
) -> None:
    joined = patch("eddyline.spark.form_table.MOST_JOINED", 1000 * (1 - by_index))
    with kernels_alone(), spread_thin(), patch.dict(os.environ, EVERYONE), joined:
        agree(several, given_data, batch_rows, revisions)


@settings(max_examples=8 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(withholding, min_size=3, max_size=3),
    endless,
    st.sampled_from([1, 3, 7]),
    st.sampled_from(["upstream", "downstream"]),
    st.sampled_from([EVERYONE, NOBODY]),
)
def test_what_is_withheld_in_many_parts_is_what_the_reference_withholds(
    several: list[tuple[str, str]], given_data: Data, batch_rows: int, revisions: str, shared: dict[str, str]
) -> None:
    with kernels_alone(), spread_thin(), patch.dict(os.environ, shared):
        agree_on_what_is_shown(several, given_data, batch_rows, revisions)


def _told(rows_of_task: int, revisions: str) -> tuple[dict[str, Any], int]:
    """What members with a condition show of a thousand tuples that are corrected, and in how many parts at most."""
    most = 1

    def counted(*given: Any) -> list[Any]:
        nonlocal most
        parts = spreading.by_windows(*given)
        most = max(most, len(parts))
        return parts

    with (
        kernels_alone(),
        patch.object(spreading, "_GROUPED_ROWS", rows_of_task),
        patch.object(kernel_job, "by_windows", counted),
        patch.dict(os.environ, EVERYONE),
        eddyline.connect() as db,
    ):
        db.sql("CREATE STREAM s (a INTEGER, t BIGINT) TIMESTAMP BY t")
        db.queries(
            "SELECT a % 3 AS k, SUM(a) AS x FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC] WHERE a > :least GROUP BY a % 3",
            pa.table({"least": [0, 2, 4, 7]}),
            name="q",
            revisions=revisions,
            revise_if="abs(new.x - old.x) > 4",
        )
        db.stream("s").push([{"a": t % 10, "t": t} for t in range(1, 1_001)])
        db.flush()
        shown = [_shown(db)]
        for more in (1, 3, 6):
            rows = [{"a": t % 10 + more, "t": t, "_op": "=", "_ref": t} for t in range(7, 990, 13)]
            db.stream("s").push(rows)
            db.flush()
            shown.append(_shown(db))
        db.sql("FLUSH REVISIONS")
        db.flush()
        return {"shown": shown, "true": _shown(db)}, most


def _shown(db: eddyline.Database) -> dict[str, list[dict[str, Any]]]:
    return {name: sorted(db.query(name).current().to_pylist(), key=repr) for name in db.queries}


@pytest.mark.parametrize("revisions", ["upstream", "downstream"])
def test_members_that_withhold_are_work_for_several_tasks(revisions: str) -> None:
    whole, one = _told(10**6, revisions)
    parts, several = _told(200, revisions)
    assert one == 1 and several > 2
    assert parts == whole
    assert len({repr(shown) for shown in whole["shown"]}) > 1, "nothing was ever corrected"
    assert whole["true"] != whole["shown"][-1], "nothing was withheld"


def test_windows_are_work_for_several_tasks() -> None:
    """Each window is answered by one of them, and together they read hardly more than one would."""
    with kernels_alone(), patch.object(spreading, "_GROUPED_ROWS", 200), eddyline.connect() as db:
        db.sql("CREATE STREAM s (a INTEGER, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE QUERY q AS SELECT SUM(a) AS x FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC]")
        db.stream("s").push([{"a": 1, "t": t} for t in range(1, 1_001)])
        with patch.object(kernel_job, "by_windows", wraps=kernel_job.by_windows) as cut:
            db.flush()
            assert cut.called
            stage, view, reads = cut.call_args.args
            parts = spreading.by_windows(stage, view, reads)
            works = kernel_job.works_of(stage, view, None, 1, db._core.storage.root, "somewhere")
        assert len(parts) == 5 and works is not None
        assert len(in_bundles(put_together(works, 2))) == 5, "they would be done by one task all the same"
        stretches = [part.stretch for part in parts]
        assert all(high + 1 == low for (_, high), (low, _) in pairwise(stretches))
        answers = db.query("q").current().to_pylist()
        assert [row["_window"] for row in answers] == list(range(1, len(answers) + 1))
        assert {row["x"] for row in answers if row["_tick"] >= 10} == {10}
        db.stream("s").push([{"a": 3, "t": t, "_op": "=", "_ref": t} for t in (7, 400, 900)])
        db.flush()
        assert sum(row["x"] for row in db.query("q").current().to_pylist()) == sum(row["x"] for row in answers) + 3 * 4
