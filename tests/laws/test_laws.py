"""Laws that the papers imply, each as a property of random streams."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.algebra.answer import TupleAnswer, WindowAnswer
from eddyline.session import Session
from laws.streams import EXAMPLES, Data, data, folded, one_input, run, time_windows, unnumbered, windows


@settings(max_examples=60 * EXAMPLES, deadline=None)
@given(one_input(windows), data(), st.sampled_from([1, 3]))
def test_inserts_minus_deletes_give_back_the_window(query: str, given_data: Data, batch_rows: int) -> None:
    """Figure 8: adding what ISTREAM and taking away what DSTREAM says, up to the last window, is that window."""
    session = run(f"{query}; ISTREAM({query}); DSTREAM({query})", given_data, batch_rows)
    result, inserted, deleted = (folded(session.collected, name) for name in ("q1", "q2", "q3"))
    bag: Counter[tuple[Any, ...]] = Counter()
    for (_, row), times in inserted["tuples"].items():
        bag[row] += times
    for (_, row), times in deleted["tuples"].items():
        bag[row] -= times
    last = max(result["windows"], default=None)
    rows = result["windows"][last][1] if last is not None else Counter()
    assert {row: n for row, n in bag.items() if n} == dict(rows)


@settings(max_examples=60 * EXAMPLES, deadline=None)
@given(st.integers(0, 6), st.integers(0, 3), st.integers(1, 5), data())
def test_members_of_a_time_window_are_within_its_bounds(a: int, b: int, slide: int, given_data: Data) -> None:
    """Section 4: both ends inclusive; nothing outside, and nothing inside left out."""
    first, last = max(a, b), min(a, b)
    query = f"SELECT t FROM s [FROM NOW-{first} TO NOW-{last} SLIDE {slide} SEC]".replace("NOW-0", "NOW")
    standing = Counter(t.tick for t in given_data.standing("s"))
    for tick, rows in folded(run(query, given_data).collected)["windows"].values():
        assert tick % slide == 0
        inside = {t: n for t, n in standing.items() if tick - first <= t <= tick - last}
        assert {row[0]: n for row, n in rows.items()} == inside


@settings(max_examples=60 * EXAMPLES, deadline=None)
@given(data(revisions=False), time_windows)
def test_nothing_is_revised_when_nothing_is_late(given_data: Data, window: str) -> None:
    """Data in order needs no correction: every window is said once and stays."""
    session = run(
        f"SELECT a, COUNT(*) AS n FROM s {window} GROUP BY a; SELECT s.a FROM s, d WHERE s.a = d.a", given_data
    )
    assert {answer.op for answer in session.collected} <= {"+"}


TAGS = st.lists(
    st.fixed_dictionaries(
        {
            "content": st.sampled_from(["Running", "Happy", "Joyful", "Icy Road"]),
            "sign": st.sampled_from(["+", "-", None]),
            "lifespan": st.sampled_from(["I", "5 sec", "30 sec"]),
            "mode": st.sampled_from(["O", "C"]),
            "tagger": st.sampled_from(["u1", "u2"]),
            "applies_to": st.sampled_from([{}, {"attributes": ["a"]}, {"attributes": ["b"], "value": True}]),
        }
    ),
    max_size=4,
)
TAG_AWARE = [
    "SELECT a, b FROM s WHERE a > 0",
    "SELECT a, COUNT(*) AS n FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC] GROUP BY a",
    "SELECT s.a, c FROM s [RANGE 5 SEC], r [RANGE 3 SEC] WHERE s.a = r.a",
    "SELECT s.a, c FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC], r [FROM NOW-1 TO NOW SLIDE 1 ROWS] WHERE s.a <= r.a",
    "SELECT DISTINCT a FROM s [ROWS 2]",
    "SELECT s.a, name FROM s, d WHERE s.a = d.a",
    "ISTREAM(SELECT a, b FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC])",
]


def tagged(given_data: Data, tags: list[dict[str, Any]], chosen: st.DataObject) -> Data:
    """The same rows with tick-tags anywhere between them."""
    rows = list(given_data.s)
    for tag in tags:
        rows.insert(chosen.draw(st.integers(0, len(rows))), {"_op": "#", "_tag": tag})
    return replace(given_data, s=rows)


def with_tags(query: str) -> str:
    return query.removesuffix(")") + " WITH TAGS)" if query.startswith("ISTREAM") else query + " WITH TAGS"


@settings(max_examples=80 * EXAMPLES, deadline=None)
@given(data(), TAGS, st.sampled_from(TAG_AWARE), st.sampled_from([1, 3]), st.data())
def test_with_tags_removed_it_is_the_plain_query(
    given_data: Data, tags: list[dict[str, Any]], query: str, batch_rows: int, chosen: st.DataObject
) -> None:
    """Stream Tag Framework, section 4.2: tags ride on the data and never change it."""
    aware = folded(run(with_tags(query), tagged(given_data, tags, chosen), batch_rows).collected)
    plain = folded(run(query, given_data, batch_rows).collected)
    assert aware["tuples"] == plain["tuples"] and aware["relation"] == plain["relation"]
    # tags are rows too, so the batches are cut elsewhere, and with them the order of creation
    assert unnumbered(aware) == unnumbered(plain)


@settings(max_examples=40 * EXAMPLES, deadline=None)
@given(data())
def test_a_query_created_after_the_data_says_the_same(given_data: Data) -> None:
    """A later query first answers over all that has passed: it folds to what an earlier one has said."""
    query = "SELECT a, SUM(b) AS x FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC] GROUP BY a"
    session = run(f"{query}; INSERT INTO s VALUES (1, 2, 9, 'x'); {query}", given_data)
    assert folded(session.collected, "q1") == folded(session.collected, "q2")


@settings(max_examples=40 * EXAMPLES, deadline=None)
@given(data(), st.sampled_from(["a = 1", "b IS NULL", "index = 2", "t > 3"]), st.booleans())
def test_sql_corrections_are_corrections_of_the_input(given_data: Data, where: str, deleting: bool) -> None:
    """UPDATE and DELETE fold to the answer over input that has the corrections in it, as far back as it is retained."""
    query = "SELECT a, SUM(b) AS x, COUNT(*) AS n FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC] GROUP BY a"
    statement = f"DELETE FROM s WHERE {where}" if deleting else f"UPDATE s SET b = a + 10 WHERE {where}"
    corrected = folded(run(f"{query}; {statement}", given_data).collected)
    tests: dict[str, Any] = {
        "a = 1": lambda t: t.values[0] == 1,
        "b IS NULL": lambda t: t.values[1] is None,
        "index = 2": lambda t: t.index == 2,
        "t > 3": lambda t: t.tick > 3,
    }
    story = given_data.story("s")
    hit = [t for t in given_data.standing("s") if t.tick >= story.horizon and tests[where](t)]
    if deleting:
        more = [{"_op": "-", "_ref": t.index} for t in hit]
    else:
        rows = [dict(zip("abtw", t.values, strict=True)) for t in hit]
        more = [
            {**row, "b": None if row["a"] is None else row["a"] + 10, "_op": "=", "_ref": t.index}
            for t, row in zip(hit, rows, strict=True)
        ]
    assert corrected == folded(run(query, replace(given_data, s=given_data.s + more)).collected)


def test_a_long_stream_in_order_stays_lazy(tmp_path: Path) -> None:
    """Answers come while the input is still being read, not at its end."""
    rows = "\n".join(json.dumps({"a": i, "b": i, "t": i}) for i in range(2_000))
    (tmp_path / "s.jsonl").write_text(rows)
    session = Session(
        "CREATE STREAM s (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t USING json OPTIONS (path 's.jsonl');"
        "SELECT a FROM s WHERE a % 100 = 0; SELECT COUNT(*) AS n FROM s [FROM NOW-9 TO NOW SLIDE 100 SEC]",
        tmp_path,
        on_progress=(seen := []).append,  # type: ignore[var-annotated]
    )
    answers = session.answers()
    first = next(answers)
    assert isinstance(first, TupleAnswer) and not seen
    rest = list(answers)
    assert sum(isinstance(answer, WindowAnswer) for answer in rest) == 20
    assert seen[-1].rows == 2_000 and seen[-1].answers == 40


@settings(max_examples=60 * EXAMPLES, deadline=None)
@given(data(), st.sampled_from(["EQUALITY", "DICTIONARY", "COOCCURRENCE(1)"]), st.sampled_from([1, 2, 1000]))
def test_a_tag_join_over_revised_input_is_that_over_corrected_input(
    given_data: Data, function: str, batch_rows: int
) -> None:
    """Tags that stand before everything and live long cover the same tuples in whatever order these come."""
    query = f"SELECT TAGGED OBJECTS FROM s [3 SEC] JOIN r [2 SEC] ON TAGS {function}"
    tags = {
        name: [
            {"_op": "#", "t": 0, "_tag": {"content": content, "lifespan": "100 sec", "mode": "C", "applies_to": where}}
            for content, where in (("Happy", {"attributes": ["a"]}), (other, {}))
        ]
        for name, other in (("s", "Joyful"), ("r", "Sad"))
    }
    revised = replace(given_data, s=tags["s"] + given_data.s, r=tags["r"] + given_data.r)
    in_order = {name: rows + _corrected(given_data, name) for name, rows in tags.items()}
    corrected = replace(given_data, **in_order, retain=(None, None))
    wanted = folded(run(query, corrected).collected)["tuples"]
    assert folded(run(query, revised, batch_rows).collected)["tuples"] == wanted


def _corrected(given_data: Data, name: str) -> list[dict[str, Any]]:
    """The tuples that stand in the end, as if they had come in order and right at once."""
    tuples = sorted(given_data.standing(name), key=lambda t: (t.tick, t.index))
    return [dict(zip("abtw" if name == "s" else "act", t.values, strict=True)) for t in tuples]
