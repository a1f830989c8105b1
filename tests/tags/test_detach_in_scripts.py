"""Scripts that attach and take back tags: the cut into batches does not matter, and plain queries do not notice."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.algebra.answer import TupleAnswer, WindowAnswer
from eddyline.session import Session

HEAD = """CREATE STREAM s (x INTEGER, y INTEGER, time INTEGER) TIMESTAMP BY time;
CREATE QUERY plain AS SELECT x, y FROM s WHERE x > 0;
CREATE QUERY shown AS SELECT x, y FROM s WHERE x > 0 WITH TAGS;
CREATE QUERY found AS SELECT TAGGED OBJECTS FROM s WHERE TAG = 'A' WITH TAGS;
CREATE QUERY sums AS SELECT y, SUM(x) AS sum, TAG_COUNT() AS n, TAG_SCORE() AS score
  FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY y WITH TAGS;
CREATE QUERY said AS SELECT content, attributes FROM TAGS OF s;
CREATE QUERY cloud AS SELECT content, COUNT(*) AS n FROM TAGS OF s [FROM NOW-5 TO NOW SLIDE 2 SEC] GROUP BY content;
"""
TARGETS = ("s", "s.x", "s.y", "s.x, s.y", "s.y.value")
STATEMENTS = st.one_of(
    st.builds(
        "ATTACH TAG '{}' TO {}{} WITH TAG_SIGN = '{}' AND TAG_LIFESPAN = {} AND TAG_MODE = {};".format,
        st.sampled_from("AB"),
        st.sampled_from(TARGETS),
        st.sampled_from(["", " WHERE x > 1"]),
        st.sampled_from("+-"),
        st.sampled_from(["I", "2 SEC", "1 MIN"]),
        st.sampled_from(["COMBINE", "OVERWRITE"]),
    ),
    st.builds(
        "DETACH TAG '{}' FROM {}{};".format,
        st.sampled_from("ab"),
        st.sampled_from(TARGETS),
        st.sampled_from(["", " WHERE x = 1", " WHERE index < 3"]),
    ),
    st.builds(
        "INSERT INTO s VALUES {};".format,
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 9)), min_size=1, max_size=3).map(
            lambda rows: ", ".join(map(str, rows))
        ),
    ),
    st.sampled_from(["UPDATE s SET x = x + 1 WHERE y = 0;", "DELETE FROM s WHERE x = 2;"]),
)


def folded(script: str, batch_rows: int) -> dict[str, dict[Any, Any]]:
    """What stands at the end, by query: rows by index, windows by number, with their tags."""
    standing: dict[str, dict[Any, Any]] = defaultdict(dict)
    for answer in Session(script, Path(), batch_rows=batch_rows).answers():
        if isinstance(answer, TupleAnswer):
            tags = None if answer.tags is None else sorted(map(repr, answer.tags))
            key, new = answer.index, (answer.tick, answer.row, tags)
        else:
            assert isinstance(answer, WindowAnswer)
            rows = zip(answer.rows, answer.tags or ((),) * len(answer.rows), strict=True)
            key, new = answer.window, (answer.tick, sorted(repr((row, sorted(map(repr, tags)))) for row, tags in rows))
        if answer.op == "-":
            del standing[answer.query][key]
        else:
            assert (key in standing[answer.query]) == (answer.op == "=")
            standing[answer.query][key] = new
    return standing


@settings(max_examples=60, deadline=None)
@given(st.lists(STATEMENTS, max_size=12), st.sampled_from([2, 3, 1000]))
def test_the_cut_into_batches_does_not_matter(statements: list[str], batch_rows: int) -> None:
    script = HEAD + "\n".join(statements)
    one, many = folded(script, 1), folded(script, batch_rows)
    assert many == one
    shown = {index: (tick, row) for index, (tick, row, _) in one["shown"].items()}
    assert shown == {index: (tick, row) for index, (tick, row, _) in one["plain"].items()}
    found = {index for index, (_, _, tags) in one["found"].items() if any("'A'" in tag for tag in tags)}
    assert found == set(one["found"]), "what is found has the tag, also when tags were taken back"
