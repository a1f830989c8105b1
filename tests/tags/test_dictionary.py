"""Types of tags and tags of one meaning: sections 3.2, 4.1 and Table 5."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddyline.algebra.dictionary import Dictionary, shipped
from eddyline.algebra.tag import TYPES

# fmt: off
PRINTED = {
    "objective": [
        "3 Car Accident", "Thunderstorm", "Running", "Emergency", "Panic Attack", "Heat-Then-Measure", "Magnetic Field",
        "Accident , 2 cars , Near Exit 12", "Accident", "Disaster", "Fireworks",
    ],
    "subjective": [
        "Bad Smell", "Nice", "Awful", "Interesting", "Dangerous", "Happy", "Sad", "Nice Weather", "Cool", "Joyful",
    ],
    "physical": ["Broken Light", "Icy Road", "Strong Smell"],
    "acronym": ["ZZZ", "GFC", "911"],
    "junk": ["J", "FJKDSLAD"],
}
BEYOND = {
    "objective": ["事故", "авария", "حادث", "Überfall", "Durchschnitt", "strengths", "Lost Luggage", "A4", "FIRE"],
    "subjective": ["🙂", "🚗", ":(", "self loathing", "SELF-LOATHING", "very nice!", "❤️"],
    "physical": ["ICY", "wet floor"],
    "acronym": ["asap", "A.S.A.P.", "lol", "QRZ"],
    "junk": ["", "   ", "???", "42", "asdf", "xxxx", "a", "sdfkjh"],
}
TABLE_5 = [
    "happy", "sad", "jealous", "self-loathing", "angry", "elated", "content", "lonely", "depressed", "frustrated",
    "aggravated", "exhausted", "grateful", "sleepy", "anxious", "sorry", "excited", "loved", "peaceful", "joyful",
    "tipsy", "affectionate", "cool", "alright", "stressed", "lost", "confused", "outraged", "despaired", "hopeful",
    "sympathetic", "relaxed", "unimpressed",
]
# fmt: on


@pytest.mark.parametrize(("type_", "content"), [(t, c) for d in (PRINTED, BEYOND) for t in d for c in d[t]])
def test_type(type_: str, content: str) -> None:
    assert shipped().classify(content) == type_


@given(st.text())
def test_every_content_has_a_type(content: str) -> None:
    assert shipped().classify(content) in TYPES


def test_there_are_five_groups_of_emotions_and_every_word_of_table_5_is_in_one() -> None:
    assert {"happy", "sad", "neutral", "angry"} < set(shipped().emotions)
    assert len(shipped().emotions) == 5
    assert all(shipped().group_of(word) in shipped().emotions for word in TABLE_5)


def test_no_emotion_is_in_two_groups() -> None:
    groups = list(shipped().emotions.values())
    assert len(frozenset().union(*groups)) == sum(map(len, groups))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Accident", "accident "),
        ("Accident", "Disaster"),
        ("Joyful", "Excited"),
        ("911", "Emergency"),
        ("ZZZ", "sleepy"),
    ],
)
def test_one_meaning(first: str, second: str) -> None:
    assert shipped().same_meaning(first, second)
    assert shipped().same_meaning(second, first)


@pytest.mark.parametrize(("first", "second"), [("Joyful", "Sad"), ("Accident", "Running"), ("Fireworks", "Cool")])
def test_different_meanings(first: str, second: str) -> None:
    assert not shipped().same_meaning(first, second)


def test_a_dictionary_can_be_extended() -> None:
    larger = (
        Dictionary().add_group("curious", ["Curious", "Nosy"]).add_synonyms("Bike", "Bicycle").add_acronym("xy", "Bike")
    )
    assert larger.group_of("nosy") == "curious"
    assert larger.same_meaning("XY", "bicycle")
    assert larger.classify("xy") == "acronym"
    assert larger.add_synonyms("Bike", "Velo").same_meaning("Velo", "Bicycle")
    assert Dictionary().group_of("nosy") is None
