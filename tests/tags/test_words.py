"""The dictionary with words of one's own, as statements give them."""

from __future__ import annotations

import pytest

from eddyline.algebra.dictionary import ACRONYM, GROUP, SYNONYMS, Words, extended, is_shipped, shipped
from eddyline.algebra.tag import TagFunction
from eddyline.binder.function import declared
from eddyline.binder.statement import StatementBinder
from eddyline.database.definitions import Definitions
from eddyline.errors import DuplicateName, EddylineError, InvalidDefinition, InvalidTag, UnknownName
from eddyline.language import parse_script

WEARY = Words(GROUP, "weary", ("groggy", "knackered"))
ROAD = Words(SYNONYMS, "lorry", ("lorry", "truck"))
BYOB = Words(ACRONYM, "BYOB", ("bring your own bottle",))


def test_words_of_ones_own_decide_types_and_meanings() -> None:
    dictionary = extended((WEARY, ROAD, BYOB))
    assert [dictionary.classify(content) for content in ("Groggy", "Truck", "b.y.o.b.", "Sad")] == [
        "subjective",
        "objective",
        "acronym",
        "subjective",
    ]
    assert dictionary.same_meaning("groggy", "Knackered") and not dictionary.same_meaning("groggy", "sleepy")
    assert dictionary.same_meaning("BYOB", "Bring  your own Bottle")
    assert dictionary.group_of("TRUCK") == "lorry"
    assert shipped().classify("Groggy") == "objective", "the shipped one is as it was"


def test_a_shipped_group_is_extended_by_its_name() -> None:
    dictionary = extended((Words(GROUP, "HAPPY", ("over the moon",)),))
    assert dictionary.group_of("over the moon") == "happy"
    assert dictionary.same_meaning("Over the Moon", "joyful")
    assert len(dictionary.emotions) == len(shipped().emotions)


def test_a_word_in_two_groups_is_named_by_the_users() -> None:
    dictionary = extended((Words(SYNONYMS, "bang", ("bang", "crash")),))
    assert shipped().group_of("crash") == "accident"
    assert dictionary.group_of("crash") == "bang"
    assert dictionary.same_meaning("crash", "accident") and dictionary.same_meaning("crash", "bang")


def test_what_is_shipped() -> None:
    assert is_shipped(Words(GROUP, "Happy", ())) and is_shipped(Words(ACRONYM, "a.s.a.p.", ()))
    assert not is_shipped(WEARY)


def test_a_query_keeps_the_dictionary_that_it_was_created_with() -> None:
    binder = StatementBinder()
    script = """CREATE STREAM s (x INTEGER);
        CREATE QUERY before AS SELECT TAG, COUNT(*) FROM s GROUP BY TAG DICTIONARY;
        CREATE TAG SYNONYMS ('lorry', 'truck');
        CREATE QUERY after AS SELECT TAG, COUNT(*) FROM s GROUP BY TAG DICTIONARY;
        DROP TAG SYNONYMS 'LORRY';"""
    for statement in parse_script(script):
        binder.bind(statement.tree)

    def function(name: str) -> TagFunction:
        query = binder.catalog.query(name)
        assert query is not None
        return next(op.function for op in query.plan.walk() if hasattr(op, "function"))

    assert (function("before").words, function("after").words) == ((), (ROAD,))
    assert binder.catalog.words == {}


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        ("CREATE TAG GROUP g ('x')", "CREATE TAG GROUP G ('y')", DuplicateName),
        ("CREATE TAG SYNONYMS ('a', 'b')", "CREATE TAG SYNONYMS ('A', 'c')", DuplicateName),
        ("CREATE TAG GROUP g ('x')", "DROP TAG GROUP h", UnknownName),
        ("CREATE TAG GROUP g ('x')", "DROP TAG SYNONYMS 'x'", UnknownName),
        ("CREATE TAG GROUP g ('x')", "DROP TAG ACRONYM 'ASAP'", InvalidDefinition),
        ("CREATE TAG GROUP g ('x')", "CREATE TAG GROUP h ('x', ' ')", InvalidTag),
        ("CREATE TAG GROUP g ('x')", "CREATE TAG SYNONYMS ('x', 'X')", InvalidDefinition),
    ],
)
def test_mistakes_leave_nothing_behind_and_have_a_place(first: str, second: str, error: type[EddylineError]) -> None:
    definitions = Definitions(frozenset(), declared)
    definitions.replay(first)
    known = dict(definitions.catalog.words)
    (statement,) = parse_script(second)
    with pytest.raises(error) as caught, definitions.attempt(statement):
        pass
    assert caught.value.position is not None
    assert definitions.catalog.words == known


def test_what_fails_after_binding_is_undone() -> None:
    definitions = Definitions(frozenset(), declared)
    text = "CREATE TAG FUNCTION f(a STRING, b STRING) RETURNS BOOLEAN USING python OPTIONS (path 'f.py')"
    for statement in (*parse_script("CREATE TAG GROUP g ('x')"), *parse_script(text)):
        with pytest.raises(OSError), definitions.attempt(statement):
            raise OSError("the disk is full")
    assert (definitions.catalog.words, definitions.catalog.tag_functions) == ({}, {})
    definitions.replay(text)
    assert [function.name for function in definitions.catalog.all_functions()] == ["f"]
