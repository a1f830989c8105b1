"""Which tags cover which tuples: semantics section 6, worked by hand."""

from __future__ import annotations

import pytest
from tag_streams import LOC, MEASURE, PATIENTS, PID, arriving, changes, contents, end, insert, stamped, tag

from eddyline.algebra.tag import TagSpec, TickTag
from eddyline.reference.coverage import Attach, Coverage, covered
from eddyline.reference.element import Change, Mark, TagElement


def coverage_of(*tags: TickTag, **options: int | None) -> Coverage:
    coverage = Coverage(PATIENTS, "Patients", **options)
    for element in arriving(*tags):
        coverage.arrive(element)
    return coverage


def seen(coverage: Coverage, index: int, tick: int, *values: object) -> list[str]:
    return [mark.tag.content for mark in coverage.mark(index, stamped(tick, *(values or (1, 70, "home")))).marks]


class TestLifespan:
    def test_a_timed_tag_covers_as_many_ticks_as_it_lives(self) -> None:
        running = coverage_of(tag("Running", at=10, lifespan=3))
        assert [seen(running, i, tick) for i, tick in enumerate((9, 10, 12, 13), 1)] == [
            [],
            ["Running"],
            ["Running"],
            [],
        ]

    def test_an_instant_tag_covers_the_next_tuple(self) -> None:
        coverage = coverage_of(tag("Blip"))
        assert [seen(coverage, 1, 5), seen(coverage, 2, 5)] == [["Blip"], []]

    def test_an_instant_tag_covers_all_listed_tuples(self) -> None:
        coverage = coverage_of(tag("Blip", tuples=(2, 4)))
        assert [seen(coverage, i, i) for i in range(1, 6)] == [[], ["Blip"], [], ["Blip"], []]

    def test_a_late_tuple_gets_the_tags_of_its_own_tick(self) -> None:
        coverage = coverage_of(tag("Running", at=10, lifespan=20))
        assert [seen(coverage, 1, 25), seen(coverage, 2, 12), seen(coverage, 3, 8)] == [["Running"], ["Running"], []]

    def test_a_tuple_later_than_the_end_of_a_tag_finds_it_only_if_it_was_kept(self) -> None:
        forgetful, patient = (coverage_of(tag("Running", at=10, lifespan=5), lateness=n) for n in (0, None))
        for coverage in (forgetful, patient):
            seen(coverage, 1, 30)
        assert (seen(forgetful, 2, 12), seen(patient, 2, 12)) == ([], ["Running"])


class TestObjects:
    def test_attributes_by_name_and_by_pattern(self) -> None:
        coverage = coverage_of(tag("A", "MEASURE", mode="C"), tag("B", attribute_pattern="p.*|loc", mode="C"))
        marks = coverage.mark(1, stamped(0, 1, 70, "home")).marks
        assert [mark.fields for mark in marks] == [{MEASURE}, {PID, LOC}]

    def test_a_tag_on_a_value_follows_the_value_of_the_first_tuple(self) -> None:
        """The paper's t1: a panic attack at the current location."""
        coverage = coverage_of(tag("Panic Attack", "loc", by_value=True, lifespan=60))
        places = ("home", "work", "home")
        assert [seen(coverage, i, i, 1, 70, place) for i, place in enumerate(places)] == [
            ["Panic Attack"],
            [],
            ["Panic Attack"],
        ]

    def test_null_and_nan_are_values_that_can_be_followed(self) -> None:
        for value in (None, float("nan")):
            coverage = coverage_of(tag("?", "loc", by_value=True, lifespan=60))
            assert [seen(coverage, 1, 0, 1, 70, value), seen(coverage, 2, 0, 1, 70, value)] == [["?"], ["?"]]

    def test_values_by_pattern(self) -> None:
        coverage = coverage_of(tag("High", "measure", values="1[0-9][0-9]", lifespan=60))
        assert [seen(coverage, i, 0, 1, value, "x") for i, value in enumerate((99, 150, 1500, None))] == [
            [],
            ["High"],
            [],
            [],
        ]

    def test_an_instant_tag_waits_for_the_value(self) -> None:
        coverage = coverage_of(tag("High", "measure", values="1[0-9]+"))
        assert [seen(coverage, i, 0, 1, value, "x") for i, value in enumerate((99, 150, 150))] == [[], ["High"], []]

    def test_a_pattern_of_values_on_the_tuple_asks_for_any_of_its_values(self) -> None:
        coverage = coverage_of(tag("Home", values="home", lifespan=60))
        assert [seen(coverage, 1, 0, 1, 70, "home"), seen(coverage, 2, 0, 1, 70, "work")] == [["Home"], []]


class TestMode:
    def test_overwrite_takes_the_object_from_the_same_tagger(self) -> None:
        coverage = coverage_of(tag("Running", "measure", lifespan=60), tag("Resting", "measure", lifespan=10))
        assert seen(coverage, 1, 5) == ["Resting"]
        assert seen(coverage, 2, 20) == [], "what was overwritten does not come back"

    def test_combine_adds(self) -> None:
        coverage = coverage_of(tag("Running", "measure", lifespan=60), tag("Tired", "measure", lifespan=60, mode="C"))
        assert seen(coverage, 1, 5) == ["Running", "Tired"]

    def test_other_taggers_are_never_touched(self) -> None:
        coverage = coverage_of(tag("Running", lifespan=60, by="ann"), tag("Fast", lifespan=60, by="bob"))
        assert seen(coverage, 1, 5) == ["Running", "Fast"]

    def test_the_tuple_and_its_attributes_are_different_objects(self) -> None:
        coverage = coverage_of(tag("Running", lifespan=60), tag("High", "measure", lifespan=60))
        assert seen(coverage, 1, 5) == ["Running", "High"]

    def test_a_tag_that_loses_one_attribute_keeps_the_others(self) -> None:
        coverage = coverage_of(tag("A", "measure", "loc", lifespan=60), tag("B", "measure", lifespan=60))
        assert [mark.fields for mark in coverage.mark(1, stamped(5, 1, 70, "home")).marks] == [{LOC}, {MEASURE}]

    def test_a_tag_on_listed_tuples_overwrites_there_alone(self) -> None:
        coverage = coverage_of(tag("Running", lifespan=60), tag("Fell", tuples=(2,)))
        assert [seen(coverage, i, i) for i in (1, 2, 3)] == [["Running"], ["Fell"], ["Running"]]

    def test_a_tag_on_a_value_overwrites_where_the_value_is(self) -> None:
        here = tag("Here", "loc", by_value=True, lifespan=60)
        coverage = coverage_of(tag("Somewhere", "loc", lifespan=60), here)
        assert [seen(coverage, i, i, 1, 70, place) for i, place in enumerate(("a", "b", "a"))] == [
            ["Here"],
            ["Somewhere"],
            ["Here"],
        ]


class TestCollection:
    def test_used_and_expired_tags_are_collected(self) -> None:
        coverage = coverage_of(tag("I"), tag("listed", tuples=(1, 2), by="bob"), tag("timed", lifespan=3, by="eve"))
        sizes = []
        for index in range(1, 4):
            coverage.mark(index, stamped(index, 1, 70, "home"))
            sizes.append(len(coverage))
        assert sizes == [2, 1, 0]

    def test_a_tag_on_tuples_that_have_passed_is_collected(self) -> None:
        coverage = coverage_of()
        coverage.mark(5, stamped(0, 1, 70, "home"))
        coverage.arrive(TagElement(0, tag("Too late", tuples=(3, 4))))
        assert seen(coverage, 6, 0) == []
        assert len(coverage) == 0

    def test_a_tag_that_is_over_when_it_comes_overwrites_nothing(self) -> None:
        coverage = coverage_of(tag("Running", lifespan=60))
        seen(coverage, 1, 30)
        coverage.arrive(TagElement(10, tag("Resting", at=10, lifespan=5)))
        assert seen(coverage, 2, 31) == ["Running"]

    def test_a_tag_on_no_attribute_is_not_kept(self) -> None:
        assert len(coverage_of(tag("?", attribute_pattern="nothing", lifespan=9))) == 0


class TestAttach:
    def attached(self, *elements: object, condition: object = None, **spec: object) -> list[object]:
        attach = Attach(TagSpec("Running", **spec), "user", condition)
        return list(covered([attach, *elements], PATIENTS, "Patients"))

    def test_it_stands_in_front_of_the_first_tuple(self) -> None:
        element, change = self.attached(insert(1, 7, 1, 70, "home"), attributes=("measure",), sign="+")
        assert isinstance(element, TagElement)
        made = element.tag
        assert (element.tick, made.timestamp, made.tagger, made.sign, made.type) == (7, 7, "user", "+", "objective")
        assert change == Change(1, None, stamped(7, 1, 70, "home", tags=[made]))

    def test_with_a_condition_it_waits_and_covers_only_what_satisfies_it(self) -> None:
        tuples = [insert(i, i, 1, measure, "home") for i, measure in enumerate((70, 90, 70, 95, 99), 1)]
        result = self.attached(*tuples, condition=lambda values: values[MEASURE] > 80, lifespan=3)
        assert [contents(change.new) for change in changes(result)] == [[], ["Running"], [], ["Running"], []]
        assert [type(element) for element in result].index(TagElement) == 1
        assert result[1].tag.timestamp == 2

    def test_an_instant_one_with_a_condition_names_its_tuple(self) -> None:
        result = self.attached(insert(1, 1, 1, 90, "home"), condition=lambda values: True)
        assert result[0].tag.applies_to.tuples == (1,)


class TestRevisions:
    @pytest.fixture
    def result(self) -> list[object]:
        first, second = stamped(1, 1, 70, "home"), stamped(2, 1, 75, "home")
        elements = [
            *arriving(tag("Running", "measure")),
            Change(1, None, first),
            end(1),
            Change(1, first, second),
            Change(1, second, None),
            Change(1, None, second),
        ]
        return list(covered(elements, PATIENTS, "Patients"))

    def test_a_replacement_keeps_the_tags_and_a_deletion_takes_them_along(self, result: list[object]) -> None:
        mark = Mark(tag("Running", "measure"), frozenset({MEASURE}))
        versions = [
            (change.old and change.old.row.marks, change.new and change.new.row.marks) for change in changes(result)
        ]
        assert versions[:3] == [(None, (mark,)), ((mark,), (mark,)), ((mark,), None)]

    def test_a_deletion_frees_the_memory(self, result: list[object]) -> None:
        assert changes(result)[3].new.row.marks == ()

    def test_tags_and_clocks_pass(self, result: list[object]) -> None:
        assert result[0] == arriving(tag("Running", "measure"))[0]
        assert result[2] == end(1)
