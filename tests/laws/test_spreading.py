"""How work is spread over tasks changes no answer."""

from __future__ import annotations

from itertools import pairwise
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.kernels.together import in_bundles, put_together
from eddyline.spark import kernel_job, spreading
from laws.restless import spread_thin
from laws.streams import EXAMPLES, Data, all_queries, data, one_input, time_windows
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
