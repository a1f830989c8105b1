"""Laws of tick-tags that hold for every stream."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from tag_streams import MEASURE, PATIENTS, changes, column, compare, contents, insert, patients, stamped, tag

from eddyline.algebra.tag import Tagger, TagSpec, TickTag
from eddyline.reference.coverage import Coverage, covered, with_marks
from eddyline.reference.element import Change, Mark, TagElement
from eddyline.reference.marks import project_marks
from eddyline.reference.tag import delayed_tags, tagger

ATTRIBUTES = st.sampled_from([(), ("pid",), ("measure",), ("measure", "loc")])
TAGS = st.builds(
    lambda content, attributes, at, by, **fields: tag(content, *attributes, at=at, by=by, **fields),
    st.sampled_from(["Running", "Sad", "GFC"]),
    ATTRIBUTES,
    at=st.integers(0, 20),
    by=st.sampled_from(["ann", "bob"]),
    lifespan=st.none() | st.integers(1, 8),
    mode=st.sampled_from("OC"),
    tuples=st.none() | st.lists(st.integers(1, 12), min_size=1, max_size=3).map(tuple),
    by_value=st.booleans(),
)
TUPLES = st.tuples(st.integers(0, 20), st.integers(1, 3), st.integers(60, 100), st.sampled_from(["home", "work"]))


@st.composite
def streams(draw: st.DrawFn) -> list[Change | TagElement]:
    """Tuples, late ones too, with tags in between; then some revisions."""
    elements: list[Change | TagElement] = []
    standing: list[Change] = []
    for number, item in enumerate(draw(st.lists(TAGS | TUPLES, max_size=25))):
        if isinstance(item, TickTag):
            numbered = TickTag(**{**item.__dict__, "number": number})
            elements.append(TagElement(item.timestamp, numbered))
        else:
            standing.append(insert(len(standing) + 1, *item))
            elements.append(standing[-1])
    for change in standing:
        if draw(st.integers(0, 3)) == 0:
            new = draw(st.none() | TUPLES.map(lambda values: stamped(*values)))
            elements.append(Change(change.index, change.new, new))
    return elements


def plain(elements: Iterable[object]) -> list[Change]:
    return [Change(c.index, with_marks(c.old, ()), with_marks(c.new, ())) for c in changes(elements)]


@given(streams())
def test_without_tags_the_stream_is_the_plain_one(elements: list[Change | TagElement]) -> None:
    high = Tagger(TagSpec("High"), "q1", compare(column("measure"), ">", 80), True, patients)
    assert plain(covered(elements, PATIENTS, "Patients")) == changes(elements)
    assert plain(tagger(high, covered(elements, PATIENTS, "Patients"))) == changes(elements)


@given(streams())
def test_old_versions_are_those_that_were_given(elements: list[Change | TagElement]) -> None:
    standing: dict[int, object] = {}
    high = Tagger(TagSpec("High", lifespan=4), "q1", compare(column("measure"), ">", 80), True, patients)
    for change in changes(tagger(high, covered(elements, PATIENTS, "Patients"))):
        assert standing.pop(change.index, None) == change.old
        if change.new is not None:
            standing[change.index] = change.new


@given(streams())
def test_overwriting_never_touches_other_taggers(elements: list[Change | TagElement]) -> None:
    """What ann's tags are on does not depend on what bob says."""

    def of_ann(stream: Iterable[Change | TagElement]) -> list[tuple[Mark, ...]]:
        result = changes(covered(stream, PATIENTS, "Patients"))
        return [tuple(mark for mark in c.new.row.marks if mark.tag.tagger == "ann") for c in result if c.new]

    alone = [e for e in elements if isinstance(e, Change) or e.tag.tagger == "ann"]
    assert of_ann(elements) == of_ann(alone)


@given(streams())
def test_on_one_object_an_overwriting_tag_is_the_first_of_its_tagger(elements: list[Change | TagElement]) -> None:
    for change in changes(covered(elements, PATIENTS, "Patients")):
        for place, mark in enumerate(change.new.row.marks if change.new else ()):
            if mark.tag.mode == "O":
                earlier = [m for m in change.new.row.marks[:place] if m.tag.tagger == mark.tag.tagger]
                assert not any(m.fields == mark.fields or (m.fields or set()) & (mark.fields or set()) for m in earlier)


@given(st.integers(-5, 5), st.integers(1, 6))
def test_a_timed_tag_covers_exactly_the_ticks_of_its_life(timestamp: int, lifespan: int) -> None:
    coverage = Coverage(PATIENTS, "Patients")
    coverage.arrive(TagElement(timestamp, tag("Running", at=timestamp, lifespan=lifespan)))
    ticks = range(-10, 15)
    covering = [tick for i, tick in enumerate(ticks) if coverage.mark(i, stamped(tick, 1, 70, "x")).marks]
    assert covering == list(range(timestamp, timestamp + lifespan))


@given(st.lists(st.integers(1, 5), max_size=40))
def test_expired_tags_do_not_pile_up(lifespans: list[int]) -> None:
    coverage = Coverage(PATIENTS, "Patients")
    for tick, lifespan in enumerate(lifespans):
        coverage.arrive(TagElement(tick, tag("Running", at=tick, lifespan=lifespan, mode="C", number=tick)))
        coverage.mark(tick + 1, stamped(tick, 1, 70, "x"))
        assert len(coverage) <= 5, "no more tags than can live at once"


@given(streams())
def test_used_up_tags_do_not_pile_up(elements: list[Change | TagElement]) -> None:
    coverage = Coverage(PATIENTS, "Patients")
    for element in elements:
        if isinstance(element, TagElement):
            coverage.arrive(element)
        elif element.old is None:
            coverage.mark(element.index, element.new)
    coverage.mark(100, stamped(100, 1, 70, "home"))
    assert len(coverage) == 0


@given(streams())
def test_each_delayed_tag_stands_right_in_front_of_its_first_tuple(elements: list[Change | TagElement]) -> None:
    passed, pending = set(), []
    for element in delayed_tags(e for e in covered(elements, PATIENTS, "Patients") if _is_kept(e)):
        if isinstance(element, TagElement):
            pending.append(element.tag)
            continue
        carried = {mark.tag for mark in element.new.row.marks} if element.new else set()
        assert set(pending) == carried - passed
        passed |= carried
        pending = []
    assert not pending


def _is_kept(element: object) -> bool:
    return not isinstance(element, Change) or element.new is None or element.new.row.values[MEASURE] > 80


@given(streams(), st.lists(st.frozensets(st.integers(0, 2)), max_size=4))
def test_a_projected_tag_is_on_a_column_that_reads_what_it_was_on(
    elements: list[Change | TagElement], reads: list[frozenset[int]]
) -> None:
    for change in changes(covered(elements, PATIENTS, "Patients")):
        marks = change.new.row.marks if change.new else ()
        before = {mark.tag: mark.fields for mark in marks}
        for after in project_marks(marks, reads):
            if after.fields is None:
                assert before[after.tag] is None
            else:
                assert all(reads[field] & before[after.tag] for field in after.fields)


@given(streams())
def test_a_revision_keeps_the_tags_of_its_tuple(elements: list[Change | TagElement]) -> None:
    for change in changes(covered(elements, PATIENTS, "Patients")):
        if change.old is not None and change.new is not None:
            assert contents(change.old) == contents(change.new)
