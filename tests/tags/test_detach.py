"""Tags that are taken back: what is left is what would be there had they never been attached."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from tag_streams import LOC, MEASURE, PATIENTS, PID, arriving, changes, contents, fold, insert, patients, stamped, tag

from eddyline.algebra.tag import TagHistory, TagSpec, TickTag
from eddyline.reference.coverage import Attach, covered
from eddyline.reference.detach import Detach
from eddyline.reference.element import Change, Row, TagElement
from eddyline.reference.tag_history import tag_history

CONTENTS, TAGGERS = ["A", "a", "B"], ["user", "ann"]
ON = st.sampled_from([(), ("pid",), ("measure", "loc"), ("loc",)])
TAKEN_FROM = st.sampled_from([None, frozenset({PID}), frozenset({MEASURE, LOC}), frozenset({LOC})])


@st.composite
def streams(draw: st.DrawFn) -> list[Change | TagElement]:
    """Tags that are combined, and tuples that come, are replaced and deleted."""
    elements: list[Change | TagElement] = []
    there: dict[int, Change] = {}
    for number in range(draw(st.integers(0, 14))):
        tick = draw(st.integers(0, 9))
        what = draw(st.sampled_from(["tag", "tag", "insert", "insert", "replace", "delete"]))
        if what == "tag":
            life = draw(st.sampled_from([None, 3, 20]))
            by_value = draw(st.booleans())
            on = draw(ON)
            made = tag(
                draw(st.sampled_from(CONTENTS)),
                *on,
                at=tick,
                by=draw(st.sampled_from(TAGGERS)),
                lifespan=life,
                by_value=by_value and bool(on),
                mode="C",
                number=number,
            )
            elements += arriving(made)
        elif what == "insert" or not there:
            change = insert(len(elements) + 1, tick, draw(st.integers(0, 3)), 70, "x")
            there[change.index] = change
            elements.append(change)
        else:
            index = draw(st.sampled_from(sorted(there)))
            old = there.pop(index).new
            new = None if what == "delete" else stamped(tick, draw(st.integers(0, 3)), 71, "y")
            elements.append(Change(index, old, new))
            if new is not None:
                there[index] = elements[-1]  # type: ignore[assignment]
    return elements


def over(elements: Sequence[object]) -> dict[int, tuple[int, Row]]:
    return fold(covered(iter(elements), PATIENTS, "Patients", lateness=None))  # type: ignore[arg-type]


def without(row: Row, detach: Detach) -> list[tuple[TickTag, frozenset[int] | None]]:
    """The marks of a tuple as they must be when a tag is taken back."""
    left = []
    for mark in row.marks:
        same = mark.tag.content.lower() == detach.content.lower() and mark.tag.tagger == detach.tagger
        if not same or mark.tag.applies_to.by_value != detach.by_value:
            left.append((mark.tag, mark.fields))
        elif mark.fields is None or detach.fields is None:
            if (mark.fields is None) != (detach.fields is None):
                left.append((mark.tag, mark.fields))
        elif mark.fields - detach.fields:
            left.append((mark.tag, mark.fields - detach.fields))
    return left


@given(streams(), st.sampled_from(CONTENTS), TAKEN_FROM, st.booleans())
def test_at_the_end_every_tuple_has_what_it_had_but_for_what_is_taken_back(
    elements: list[Change | TagElement], content: str, fields: frozenset[int] | None, by_value: bool
) -> None:
    detach = Detach(content, "user", fields, by_value and fields is not None)
    before, after = over(elements), over([*elements, detach])
    assert {index: list(map(tuple, row.marks)) for index, (_, row) in after.items()} == {
        index: without(row, detach) for index, (_, row) in before.items()
    }


@given(streams(), st.integers(0, 14), st.sampled_from(CONTENTS))
def test_taking_back_a_tag_on_rows_early_or_late_is_the_same_as_not_attaching_it(
    elements: list[Change | TagElement], at: int, content: str
) -> None:
    """A tag that is combined changes no other, so the rest must be as it would be without."""
    detach = Detach(content, "user", None)

    def is_taken_back(element: Change | TagElement) -> bool:
        return isinstance(element, TagElement) and (
            element.tag.content.lower() == content.lower()
            and element.tag.tagger == "user"
            and element.tag.applies_to.whole_tuple
        )

    never = [element for place, element in enumerate(elements) if place >= at or not is_taken_back(element)]
    assert over([*elements[:at], detach, *elements[at:]]) == over(never)


@given(streams(), st.integers(0, 14), st.integers(0, 3))
def test_under_a_condition_only_tuples_that_satisfy_it_lose_the_tag(
    elements: list[Change | TagElement], at: int, pid: int
) -> None:
    timed = [
        element
        for element in elements
        if (isinstance(element, TagElement) and element.tag.lifespan is not None)
        or (isinstance(element, Change) and element.old is None)
    ]
    detach = Detach("A", "user", None, condition=lambda row: row[PID] == pid)
    plain, conditional = over(timed), over([*timed[:at], detach, *timed[at:]])
    later = {element.tag for element in timed[at:] if isinstance(element, TagElement)}
    for index, (_, row) in plain.items():
        wanted = [
            (mark.tag, mark.fields)
            for mark in row.marks
            if row.values[PID] != pid or mark.tag in later or (mark.tag, mark.fields) in without(row, detach)
        ]
        assert list(map(tuple, conditional[index][1].marks)) == wanted


def test_what_was_overwritten_does_not_come_back() -> None:
    first, second = tag("A", by="user", lifespan=9), tag("B", by="user", at=1, lifespan=9)
    elements = [*arriving(first, second), insert(1, 1, 1, 70, "x"), Detach("B", "user", None), insert(2, 2, 1, 70, "x")]
    assert [contents(version) for version in over(elements).values()] == [[], []]


def test_tuples_before_the_horizon_stay_as_they_are() -> None:
    elements = [
        *arriving(tag("A", by="user", lifespan=9)),
        insert(1, 1, 1, 70, "x"),
        insert(2, 5, 1, 70, "x"),
        Detach("A", "user", None, horizon=5),
    ]
    assert [contents(version) for version in over(elements).values()] == [["A"], []]


def test_an_attachment_that_waits_is_taken_back_from_some_attributes_or_tuples() -> None:
    attach = Attach(TagSpec("A", ("pid", "loc"), lifespan=9), "user", lambda row: row[MEASURE] > 50)
    some = Detach("A", "user", frozenset({PID}))
    not_here = Detach("A", "user", frozenset({LOC}), condition=lambda row: row[LOC] == "x")
    elements = [attach, some, not_here, insert(1, 1, 1, 70, "x"), insert(2, 2, 1, 70, "y"), insert(3, 3, 1, 70, "x")]
    marks = [[mark.fields for mark in row.marks] for _, row in over(elements).values()]
    assert marks == [[], [frozenset({LOC})], []]


def test_the_history_forgets_what_is_taken_back() -> None:
    on_both = tag("A", "pid", "loc", by="user", at=1)
    elements = [
        *arriving(on_both, tag("B", by="user", at=2), tag("B", by="ann", at=3)),
        Detach("a", "user", frozenset({PID})),
        Detach("b", "user", None),
        Detach("a", "user", frozenset({LOC}), condition=lambda row: True),
    ]
    found = changes(tag_history(TagHistory("t", patients), elements))
    standing = fold(found)
    assert [(tick, row.values[0], row.values[3], row.values[7]) for tick, row in standing.values()] == [
        (3, "B", "ann", None),
        (1, "A", "user", ("loc",)),
    ]
