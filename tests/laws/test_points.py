"""Connection points that come and go mean the same on both engines, however rows are cut into batches."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eddyline.session.session import Session
from eddyline.session.spark_run import SparkRun
from laws.streams import EXAMPLES, folded, set_aside
from laws.without_spark import kernels_alone

#: rows, each with how much later than the one before it comes; a point that comes or goes
_rows = st.lists(st.tuples(st.integers(0, 3), st.integers(-12, 4)), min_size=1, max_size=5)
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("rows"), _rows),
        st.tuples(st.just("rows"), _rows),
        st.tuples(st.just("point"), st.tuples(st.sampled_from("pq"), st.sampled_from([None, 3, 9, 20]))),
        st.tuples(st.just("query point"), st.sampled_from([None, 4, 30])),
    ),
    min_size=2,
    max_size=10,
)


def script(steps: list[Any], retain: int | None, keyed: bool) -> str:
    text = ["CREATE STREAM s (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t"]
    text[0] += (" KEY (k)" if keyed else "") + ("" if retain is None else f" RETAIN {retain}")
    text += [
        "CREATE QUERY plain AS SELECT k, v, t FROM s",
        "CREATE QUERY sums AS SELECT k, SUM(v) AS x, COUNT(*) AS n FROM s [FROM NOW-5 TO NOW SLIDE 3 SEC] GROUP BY k",
    ]
    there: set[str] = set()
    now, number = 20, 0
    for kind, what in steps:
        if kind == "rows":
            values = []
            for k, late in what:
                number += 1
                now = max(now, now + late)
                values.append(f"({k}, {number}, {now + min(0, late)})")
            text.append(f"INSERT INTO s VALUES {', '.join(values)}")
            continue
        name, ticks, on = ("r", what, "sums") if kind == "query point" else (*what, "s")
        if name in there:
            text.append(f"DROP CONNECTION POINT {name}")
        else:
            text.append(f"CREATE CONNECTION POINT {name} ON {on}{'' if ticks is None else f' RETAIN {ticks}'}")
        there ^= {name}
    return ";\n".join([*text, "SHOW CONNECTION POINTS"])


def told(engine: type[Any], text: str, batch_rows: int) -> tuple[Any, ...]:
    rejects: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        run = engine(text, Path(folder), batch_rows=batch_rows, on_reject=rejects.append)
        answers = list(run.answers())
    return *(folded(answers, name) for name in ("plain", "sums", "points1")), set_aside(rejects)


@settings(max_examples=120 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(_steps, st.sampled_from([None, 0, 2, 6]), st.booleans(), st.sampled_from([1, 2, 1000]))
def test_points_mean_the_same(steps: list[Any], retain: int | None, keyed: bool, batch_rows: int) -> None:
    text = script(steps, retain, keyed)
    right = told(Session, text, 1)
    assert told(Session, text, batch_rows) == right, text
    with kernels_alone():
        assert told(SparkRun, text, batch_rows) == right, text


def test_points_make_a_difference() -> None:
    """In the law above, some rows are taken because of a point."""
    steps = [("rows", [(1, 0)]), ("point", ("p", 20)), ("rows", [(1, 4), (1, 4), (1, -8)])]
    with_point, without = (told(Session, script(some, 2, False), 1) for some in (steps, [steps[0], steps[2]]))
    assert (len(with_point[-1]), len(without[-1])) == (0, 1)
