"""The tagger (Figure 7), tag selection, tagged object selection and delayed tags, worked by hand."""

from __future__ import annotations

from collections.abc import Iterator

from tag_streams import (
    MEASURE,
    PATIENTS,
    PID,
    arriving,
    changes,
    column,
    compare,
    contents,
    end,
    insert,
    patients,
    stamped,
    tag,
)

from eddyline.algebra.expression import Column
from eddyline.algebra.tag import TAG_RELATION, TaggedObjectSelection, Tagger, TagPredicate, TagSelection, TagSpec
from eddyline.algebra.tagging import Taggers
from eddyline.algebra.types import STRING
from eddyline.reference.coverage import covered
from eddyline.reference.element import Change, TagElement
from eddyline.reference.tag import delayed_tags, tag_selection, tagged, tagged_object_selection, tagger

HIGH = compare(column("measure"), ">", 80)


def tag_field(name: str) -> Column:
    return Column(name, STRING, TAG_RELATION)


def tagging(*elements: object, continuous: bool = True, **spec: object) -> list[object]:
    node = Tagger(TagSpec("Dangerous", ("pid",), sign="-", **spec), "q1", HIGH, continuous, patients)
    return list(tagger(node, elements))


class TestTagger:
    """ATTACH TAG 'Dangerous' CONTINUOUSLY TO Patients.pid.value WHERE (… measure > 80) WITH TAG_SIGN = '-'"""

    def test_a_tag_in_front_of_every_tuple_that_satisfies_the_condition(self) -> None:
        tuples = [insert(i, i, 7, measure, "x") for i, measure in enumerate((70, 90, 95, 60), 1)]
        result = tagging(*tuples, end(4), by_value=True)
        kinds = [type(element).__name__ for element in result]
        assert kinds == ["Change", "TagElement", "Change", "TagElement", "Change", "Change", "Clock"]
        assert [contents(change.new) for change in changes(result)] == [[], ["Dangerous"], ["Dangerous"], []]
        first, second = (element.tag for element in result if isinstance(element, TagElement))
        assert (first.tagger, first.timestamp, first.sign, first.type) == ("q1", 2, "-", "subjective")
        assert (first.applies_to.tuples, second.applies_to.tuples) == ((2,), (3,))

    def test_a_tuple_has_a_tag_of_its_own_and_no_other_however_long_tags_live(self) -> None:
        tuples = [insert(i, i, 7, measure, "x") for i, measure in enumerate((90, 70, 95, 99), 1)]
        for mode in "OC":
            found = changes(tagging(*tuples, lifespan=3, mode=mode))
            marks = [change.new.row.marks for change in found if change.new is not None]
            assert [[mark.tag.applies_to.tuples for mark in each] for each in marks] == [[(1,)], [], [(3,)], [(4,)]]

    def test_it_tags_those_that_come_while_it_stands(self) -> None:
        """Also when they are revised later; and nobody who came before, whatever becomes of him."""
        taggers = Taggers()
        node = Tagger(TagSpec("Dangerous", ("pid",)), "q1", HIGH, True, patients)
        rows = [insert(i, i, 7, 90, "x") for i in (1, 2, 3)]
        low, high = stamped(2, 7, 60, "x"), stamped(1, 7, 99, "x")

        def arriving() -> Iterator[Change]:
            yield rows[0]
            taggers.add("Patients", node, 1)
            yield rows[1]
            taggers.end("Q1", lambda stream: 2)
            yield rows[2]
            yield Change(1, rows[0].new, high)
            yield Change(2, rows[1].new, low)
            yield Change(2, low, rows[1].new)

        result = changes(tagged(arriving(), "Patients", lambda: taggers.of("Patients")))
        assert [contents(change.new) for change in result] == [[], ["Dangerous"], [], [], [], ["Dangerous"]]

    def test_tags_from_below_pass_and_stay_on_their_tuples(self) -> None:
        below = tag("Running", "measure")
        result = tagging(*arriving(below), insert(1, 1, 7, 90, "x", tags=[below]))
        assert result[0] == arriving(below)[0]
        assert contents(changes(result)[0].new) == ["Running", "Dangerous"]

    def test_once_only(self) -> None:
        tuples = [insert(i, i, 7, measure, "x") for i, measure in enumerate((70, 90, 95), 1)]
        result = tagging(*tuples, continuous=False)
        assert [contents(change.new) for change in changes(result)] == [[], ["Dangerous"], []]

    def test_a_continuous_tag_is_revised_with_its_tuple(self) -> None:
        low, high, higher = (stamped(1, 7, measure, "x") for measure in (70, 90, 95))
        steps = [Change(1, None, low), Change(1, low, high), Change(1, high, higher), Change(1, higher, low)]
        result = tagging(*steps, Change(1, low, None))
        assert [type(element) is TagElement for element in result] == [False, True, False, False, False, False]
        tags = [[v and contents(v) for v in (change.old, change.new)] for change in changes(result)]
        dangerous = ["Dangerous"]
        assert tags == [[None, []], [[], dangerous], [dangerous, dangerous], [dangerous, []], [[], None]]

    def test_a_tuple_that_is_corrected_after_others_have_passed_gets_its_tag(self) -> None:
        low, high = stamped(1, 7, 70, "x"), stamped(1, 7, 90, "x")
        for lifespan in (None, 2):
            result = tagging(Change(1, None, low), insert(2, 9, 7, 95, "x"), Change(1, low, high), lifespan=lifespan)
            assert contents(changes(result)[-1].new) == ["Dangerous"]


class TestTagSelection:
    """Table 3, Q1: WHERE OBJECT = Patients.measure AND TAGSIGN = '-'"""

    Q1 = TagSelection(TagPredicate(compare(tag_field("TAG_SIGN"), "=", "-"), ("measure",)), patients)

    def test_q1(self) -> None:
        wanted, by_pattern = tag("Fast", "measure", sign="-"), tag("Odd", attribute_pattern="m.*", sign="-")
        others = [
            tag("Good", "measure", sign="+"),
            tag("Far", "loc", sign="-"),
            tag("Sick", sign="-"),
            tag("?", "measure"),
        ]
        elements = [*arriving(wanted, *others, by_pattern), insert(1, 1, 1, 70, "x"), end(1)]
        assert list(tag_selection(self.Q1, elements)) == [*arriving(wanted, by_pattern), end(1)]

    def test_without_a_predicate_all_tags_even_before_any_tuple(self) -> None:
        elements = [*arriving(tag("A"), tag("B", "loc")), end(1)]
        assert list(tag_selection(TagSelection(TagPredicate(), patients), elements)) == elements


class TestTaggedObjectSelection:
    """Table 3, Q2: WHERE TAG = 'Emergency'"""

    EMERGENCY = compare(tag_field("TAG"), "=", "Emergency")

    def selected(self, *elements: object, with_tags: bool = False, attributes: tuple[str, ...] = ()) -> list[object]:
        node = TaggedObjectSelection(TagPredicate(self.EMERGENCY, attributes), with_tags, patients)
        return list(tagged_object_selection(node, covered(elements, PATIENTS, "Patients")))

    def test_q2_without_and_with_tags(self) -> None:
        emergency, other = tag("Emergency", "measure", tuples=(2,)), tag("Running", lifespan=9, by="bob")
        elements = [*arriving(other, emergency), *(insert(i, i, 1, 70, "x") for i in (1, 2, 3)), end(3)]
        assert self.selected(*elements) == [insert(2, 2, 1, 70, "x"), end(3)]
        tagged = insert(2, 2, 1, 70, "x", tags=[other, emergency])
        assert self.selected(*elements, with_tags=True) == [*arriving(other, emergency), tagged, end(3)]

    def test_the_object_may_be_named(self) -> None:
        elements = [*arriving(tag("Emergency", "loc")), insert(1, 1, 1, 70, "x")]
        assert self.selected(*elements, attributes=("LOC",)) == [insert(1, 1, 1, 70, "x")]
        assert self.selected(*elements, attributes=("measure",)) == []

    def test_revisions_follow_the_tagged_tuple(self) -> None:
        old, new = stamped(1, 1, 70, "x"), stamped(1, 1, 75, "x")
        steps = [Change(1, None, old), Change(1, old, new), Change(1, new, None)]
        assert self.selected(*arriving(tag("Emergency")), *steps) == steps


class TestDelayedTags:
    def test_a_tag_waits_for_the_first_tuple_that_carries_it(self) -> None:
        """Section 4.2, "Selection": here the tuples of `lost` were filtered out."""
        lost, kept = tag("Lost", tuples=(1,)), tag("Kept", lifespan=9)
        carrying = [insert(3, 3, 1, 90, "x", tags=[kept]), insert(4, 4, 1, 90, "x", tags=[kept])]
        result = list(delayed_tags([*arriving(lost, kept), insert(2, 2, 1, 90, "x"), *carrying, end(4)]))
        assert result == [insert(2, 2, 1, 90, "x"), *arriving(kept), *carrying, end(4)]

    def test_a_replacement_that_passes_now_brings_its_tag(self) -> None:
        kept = tag("Kept")
        late = insert(1, 1, 1, 90, "x", tags=[kept])
        result = list(delayed_tags([*arriving(kept), insert(2, 2, 1, 90, "x"), late]))
        assert result == [insert(2, 2, 1, 90, "x"), *arriving(kept), late]


def test_positions_of_the_schema_are_as_the_tests_say() -> None:
    assert (PATIENTS.names[PID], PATIENTS.names[MEASURE]) == ("pid", "measure")
