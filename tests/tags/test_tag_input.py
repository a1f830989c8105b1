"""From a source's `_tag` to a tick-tag."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tag_streams import PATIENTS

from eddyline.algebra.dictionary import shipped
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.tag import Applicability, TickTag
from eddyline.algebra.types import DOUBLE, FLOAT, INTEGER, DataType, decimal
from eddyline.errors import InvalidTag
from eddyline.reference.tag_input import tick_tag

SECOND = 1_000_000


def parsed(content: Any = "Running", tick_micros: int = SECOND, **fields: Any) -> TickTag:
    return tick_tag({"content": content, **fields}, "Patients", PATIENTS, 17, tick_micros, shipped(), 3, 40)


def applied(**fields: Any) -> Applicability:
    return parsed(applies_to=fields).applies_to


def test_the_least_that_a_tag_says() -> None:
    assert parsed() == TickTag("Running", Applicability("Patients"), "Patients", 17, "objective", number=3)


def test_the_paper_s_t2() -> None:
    """*,*,{measure} | Running | + | 30 min | O"""
    running = parsed(sign="+", lifespan="30 min", mode="O", applies_to={"tuples": "*", "attributes": ["measure"]})
    where = Applicability("Patients", attributes=("measure",))
    assert running == TickTag("Running", where, "Patients", 17, "objective", "+", 1800, "O", 3)


def test_the_paper_s_t1() -> None:
    """*,*,{loc.value} | Panic Attack | - | 1 min | O"""
    panic = parsed("Panic Attack", sign="-", lifespan="1 min", applies_to={"stream": "*", "attributes": ["loc.value"]})
    assert panic.applies_to == Applicability("Patients", attributes=("loc",), by_value=True)


@pytest.mark.parametrize(
    ("given", "ticks"),
    [
        (None, None),
        ("I", None),
        ("instant", None),
        (5, 5),
        ("7", 7),
        ("1500 ms", 2),
        ("2 HOURS", 7200),
        ("1day", 86400),
    ],
)
def test_lifespan(given: Any, ticks: int | None) -> None:
    assert parsed(lifespan=given).lifespan == ticks


def test_lifespan_in_milliseconds() -> None:
    assert parsed(lifespan="2 sec", tick_micros=1000).lifespan == 2000


def test_spellings() -> None:
    tag = parsed(mode="combine", sign="−", type="Physical", tagger=" ann ")
    assert (tag.mode, tag.sign, tag.type, tag.tagger) == ("C", "-", "physical", "ann")


def test_applicability() -> None:
    assert applied(tuples=[17]).tuples == (17,)
    assert applied(tuples="1-3, 5").tuples == (1, 2, 3, 5)
    assert applied(tuples=4).tuples == (4,)
    assert applied(next=3).tuples == (41, 42, 43)
    assert applied(next=None).tuples is None
    assert applied(next=1, tuples="*", attributes=["loc"]) == Applicability("Patients", (41,), ("loc",))
    assert applied(attributes="*").whole_tuple
    assert applied(attributes=["MEASURE", "measure"]).attributes == ("measure",)
    assert applied(attributes="measure").attributes == ("measure",)
    assert applied(attributes="m.*").attribute_pattern == "m.*"
    assert applied(attributes=["loc"], value=True) == Applicability("Patients", attributes=("loc",), by_value=True)
    assert applied(attributes=["loc"], value="a.b").values == r"a\.b"
    assert applied(attributes=["measure"], value=72).values == applied(attributes=["measure"], value=72.0).values
    assert re.fullmatch(applied(attributes=["measure"], value=72).values, "72.0")
    assert applied(attributes=["measure"], values="9.").values == "9."
    assert applied(stream="patients") == applied(stream="P.*") == Applicability("Patients")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"content": ""}, "a tag needs a content: a text that is not empty, not ''"),
        ({"content": None}, "a tag needs a content: a text that is not empty, not nothing"),
        ({"contents": "x"}, "a tag has no field contents; did you mean content?"),
        ({"sign": "plus"}, "a tag's sign is '+' or '-', or absent for a neutral tag, not 'plus'"),
        ({"lifespan": "soon"}, "a lifespan is 'I' (instant), a number of ticks, or a time such as '30 min'"),
        ({"lifespan": 0}, "a tag cannot live for 0; an instant tag has the lifespan 'I'"),
        ({"lifespan": "-5 min"}, "a tag cannot live for '-5 min'; an instant tag has the lifespan 'I'"),
        ({"mode": "X"}, "a tag's mode is 'O' (overwrite) or 'C' (combine), not 'X'"),
        ({"type": "nice"}, "a tag's type is objective, subjective, physical, acronym or junk, not 'nice'"),
        ({"tagger": ""}, "a tagger is a name, not ''"),
        ({"applies_to": "all"}, "applies_to is an object with any of stream, tuples, next, attributes,"),
        ({"applies_to": {"tuple": [1]}}, "applies_to has no field tuple; did you mean tuples?"),
        ({"applies_to": {"stream": "Animals"}}, "the tag is for stream Animals, but it stands in Patients"),
        ({"applies_to": {"tuples": "1-x"}}, "applies_to.tuples lists indexes such as [17] or '1-3,5', not '1-x'"),
        ({"applies_to": {"tuples": [0]}}, "no tuples have the indexes 0; the first tuple of a stream has index 1"),
        ({"applies_to": {"tuples": "1-99999999"}}, "applies_to.tuples lists more than 100000 tuples; '*' means all"),
        ({"applies_to": {"next": 0}}, "applies_to.next is a number of tuples from 1 to 100000, not 0"),
        ({"applies_to": {"next": True}}, "applies_to.next is a number of tuples from 1 to 100000, not True"),
        ({"applies_to": {"next": "3"}}, "applies_to.next is a number of tuples from 1 to 100000, not '3'"),
        ({"applies_to": {"next": 3, "tuples": [1]}}, "applies_to has both tuples and next: a tag lists tuples, or"),
        ({"applies_to": {"attributes": ["mesure"]}}, "there is no attribute mesure; did you mean measure?"),
        ({"applies_to": {"attributes": "mesure"}}, "there is no attribute mesure; did you mean measure?"),
        ({"applies_to": {"attributes": "x.*"}}, "no attribute matches 'x.*'; there are pid, measure, loc"),
        (
            {"applies_to": {"attributes": ".*\\.value"}},
            "no attribute matches '.*\\\\.value'; there are pid, measure, loc; for values, list them as in ['pid.",
        ),
        ({"applies_to": {"attributes": "m("}}, "applies_to.attributes: 'm(' is not a regular expression: missing )"),
        ({"applies_to": {"attributes": ["loc.value", "pid"]}}, "a tag is on attributes or on values, not on both"),
        ({"applies_to": {"value": True}}, "a tag on a value must name its attribute: applies_to.attributes is missing"),
        ({"applies_to": {"values": "["}}, "applies_to.values: '[' is not a regular expression"),
    ],
)
def test_what_is_wrong_is_said(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidTag) as raised:
        parsed(**fields)
    assert raised.value.message.startswith(message)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_NAMES = ["content", "sign", "lifespan", "mode", "type", "tagger"]
_WHERE = st.dictionaries(st.sampled_from(["stream", "tuples", "next", "attributes", "value", "values"]), _JSON)


@given(st.dictionaries(st.sampled_from(_NAMES), _JSON), _WHERE | _JSON)
def test_whatever_a_source_sends_is_a_tag_or_is_refused_with_a_reason(fields: dict[str, Any], where: Any) -> None:
    try:
        tick_tag({"content": "x", **fields, "applies_to": where}, "Patients", PATIENTS, 0, SECOND, shipped(), 0, 0)
    except InvalidTag as refused:
        assert refused.message


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a+)+b", "(a|ab|b)*c", "((a?)b?)+", "(?:x{1,5}){3,9}", "((a+){4}){4}", "(?:(\\w+) ?)*!"),
        *("a*a*a*a*a*b", "(a+[ab]*){2}A*b?(a|c)x*a{2,9}c", "(\\w*\\d*){3}!"),
    ],
)
@pytest.mark.parametrize("where", ["values", "attributes", "stream"])
def test_a_pattern_that_may_take_for_ever_is_refused(pattern: str, where: str) -> None:
    with pytest.raises(
        InvalidTag, match=f"{where}: .* repeats what can match in several ways, which may take for ever"
    ):
        applied(**{where: pattern})


@pytest.mark.parametrize(
    "pattern",
    [
        *("a+b*", "(ab)+", "([ab]c)*", "([0-9]{1,3}[.]){3}[0-9]{1,3}", "(x|yz)?", "([0-9]{3}-)+"),
        *("[0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+:[0-9]+", ".*w.*x.*y.*z.*", "\\w+( +\\w+){4}", "a*b*c*d*e*f*"),
    ],
)
def test_a_pattern_that_repeats_what_matches_in_one_way_is_taken(pattern: str) -> None:
    assert applied(values=pattern).values == pattern


@pytest.mark.parametrize(
    ("type_", "given", "texts", "others"),
    [
        (DOUBLE, 72, ["72.0"], ["7.2"]),
        (DOUBLE, 100_000_000, ["1.0E8"], ["1.0E9"]),
        (DOUBLE, 1e-7, ["1.0E-7"], []),
        (DOUBLE, 0, ["0.0", "-0.0"], []),
        (DOUBLE, float("nan"), ["NaN"], []),
        (FLOAT, 16777216.0, ["1.6777216E7"], []),
        (decimal(10, 3), 1.5, ["1.500"], ["1.5001"]),
        (decimal(10, 3), 1.5001, [], ["1.500"]),
        (INTEGER, 1.5, [], ["1", "2"]),
    ],
)
def test_a_number_is_a_value_however_its_column_writes_it(
    type_: DataType, given: float, texts: list[str], others: list[str]
) -> None:
    fields = {"content": "x", "applies_to": {"attributes": ["v"], "value": given}}
    tag = tick_tag(fields, "s", Schema((Field("v", type_),)), 0, SECOND, shipped(), 0, 0)
    pattern = tag.applies_to.values
    assert pattern is not None
    assert all(re.fullmatch(pattern, text) for text in texts)
    assert not any(re.fullmatch(pattern, text) for text in others)
