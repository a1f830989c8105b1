"""JSON lines, exactly as LANGUAGE.md fixes them."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddyline.algebra.answer import (
    Answer,
    RelationAnswer,
    StixAnswer,
    TagAnswer,
    TagView,
    TextAnswer,
    TupleAnswer,
    WindowAnswer,
)
from eddyline.algebra.tag import Applicability, TickTag
from eddyline.output import JsonLines
from eddyline.output.json_value import json_text


def line(answer: Answer, *columns: str) -> str:
    written: list[str] = []
    output = JsonLines(written.append)
    output.begin(answer.query, columns)
    output.show(answer)
    output.close()
    [text] = written
    assert text.endswith("\n")
    return text[:-1]


RUNNING = TickTag("Running", Applicability("Patients", (17,), ("measure",)), "user", 5, "objective", "+", 1800, "O")


@pytest.mark.parametrize(
    ("answer", "columns", "text"),
    [
        (
            TupleAnswer("q1", 60, 1, "+", (60, 2)),
            ("time", "site"),
            '{"query": "q1", "tick": 60, "index": 1, "op": "+", "row": {"time": 60, "site": 2}}',
        ),
        (
            TupleAnswer("q1", 60, 1, "=", (60, 2), (60, None)),
            ("time", "site"),
            '{"query": "q1", "tick": 60, "index": 1, "op": "=", "old": {"time": 60, "site": null}, '
            '"row": {"time": 60, "site": 2}}',
        ),
        (
            TupleAnswer("q1", 60, 1, "-", (60,)),
            ("time",),
            '{"query": "q1", "tick": 60, "index": 1, "op": "-", "row": {"time": 60}}',
        ),
        (
            TupleAnswer("q1", 60, 1, "+", (60,), tags=(TagView("sick", None, ()),), stix="(1:1)1"),
            ("time",),
            '{"query": "q1", "tick": 60, "index": 1, "op": "+", "row": {"time": 60}, '
            '"tags": [{"content": "sick", "sign": null, "attributes": []}], "stix": "(1:1)1"}',
        ),
        (
            WindowAnswer("q2", 600, 11, "+", ((3,), (4,))),
            ("min_temp",),
            '{"query": "q2", "tick": 600, "window": 11, "op": "+", "rows": [{"min_temp": 3}, {"min_temp": 4}]}',
        ),
        (
            WindowAnswer("q2", 600, 11, "+", ()),
            ("min_temp",),
            '{"query": "q2", "tick": 600, "window": 11, "op": "+", "rows": []}',
        ),
        (
            WindowAnswer("q2", 600, 11, "=", ((3,),), ((4,),), 590),
            ("min_temp",),
            '{"query": "q2", "tick": 600, "window": 11, "op": "=", "old_tick": 590, '
            '"old_rows": [{"min_temp": 4}], "rows": [{"min_temp": 3}]}',
        ),
        (
            WindowAnswer("q2", 600, 11, "-", (), ((4,),)),
            ("min_temp",),
            '{"query": "q2", "tick": 600, "window": 11, "op": "-", "old_rows": [{"min_temp": 4}], "rows": []}',
        ),
        (
            WindowAnswer("q2", 6, 1, "+", ((1,), (2,)), tags=((TagView("a", "+", ("x",)),), ()), stix=("(1:1)1", None)),
            ("x",),
            '{"query": "q2", "tick": 6, "window": 1, "op": "+", "rows": [{"x": 1}, {"x": 2}], '
            '"tags": [[{"content": "a", "sign": "+", "attributes": ["x"]}], []], "stix": ["(1:1)1", null]}',
        ),
        (
            RelationAnswer("q3", 7, "+", (1,), tags=(TagView("sick", "-", ("x",)),)),
            ("x",),
            '{"query": "q3", "tick": 7, "op": "+", "row": {"x": 1}, '
            '"tags": [{"content": "sick", "sign": "-", "attributes": ["x"]}]}',
        ),
        (
            RelationAnswer("q3", 7, "-", (1,)),
            ("x",),
            '{"query": "q3", "tick": 7, "op": "-", "row": {"x": 1}}',
        ),
        (
            TagAnswer("q4", 5, RUNNING),
            (),
            '{"query": "q4", "tick": 5, "op": "#", "tag": {"content": "Running", "sign": "+", "type": "objective", '
            '"lifespan": 1800, "mode": "O", "tagger": "user", "applies_to": {"stream": "Patients", "tuples": [17], '
            '"attributes": ["measure"]}}}',
        ),
        (
            TagAnswer("q4", 5, TickTag("x", Applicability("s", None, None, "m.*", True, "9+"), "s", 5, "junk")),
            (),
            '{"query": "q4", "tick": 5, "op": "#", "tag": {"content": "x", "sign": null, "type": "junk", '
            '"lifespan": "I", "mode": "O", "tagger": "s", "applies_to": {"stream": "s", '
            '"attributes": "m.*", "value": true, "values": "9+"}}}',
        ),
        (StixAnswer("q5", 5, "(4)2|(1-3)1"), (), '{"query": "q5", "tick": 5, "op": "#", "stix": "(4)2|(1-3)1"}'),
        (TextAnswer("q6", "a\n  b"), (), '{"query": "q6", "text": "a\\n  b"}'),
    ],
)
def test_answers(answer: Answer, columns: tuple[str, ...], text: str) -> None:
    assert line(answer, *columns) == text
    json.loads(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (10**30, "1" + "0" * 30),
        (0.1, "0.1"),
        (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'),
        (Decimal("1.50"), "1.50"),
        (Decimal("1E+3"), "1000"),
        (Decimal("NaN"), '"NaN"'),
        (datetime(2003, 6, 6, 18, 50, 20), '"2003-06-06 18:50:20"'),
        (datetime(2003, 6, 6, 18, 50, 20, 5), '"2003-06-06 18:50:20.000005"'),
        (date(2003, 6, 6), '"2003-06-06"'),
        (timedelta(days=-1, hours=1, microseconds=500_000), "\"INTERVAL '-0 22:59:59.5' DAY TO SECOND\""),
        ((1, (None, "é")), '[1, [null, "é"]]'),
        ({"a": 1}, '{"a": 1}'),
        ("\ud800x", '"\ufffdx"'),
        ("a\u2028b\x85c", '"a\\u2028b\\u0085c"'),
    ],
)
def test_values(value: Any, text: str) -> None:
    assert json_text(value) == text
    json.loads(text)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters()), st.decimals(), st.datetimes()
)


@given(st.recursive(SCALARS, lambda inner: st.lists(inner).map(tuple), max_leaves=10))
def test_every_value_is_one_line_of_json_in_utf8(value: Any) -> None:
    text = line(TupleAnswer("q", 1, 1, "+", (value,)), "x")
    assert len(text.splitlines()) == 1
    json.loads(text.encode(), parse_constant=pytest.fail)
