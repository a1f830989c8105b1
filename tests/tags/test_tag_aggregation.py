"""Aggregates by tag (section 4.1, Figure 5(e)), worked by hand."""

from __future__ import annotations

from pathlib import Path

from tag_streams import MEASURE, aggregate, changes, contents, end, fold, insert, patients, stamped, tag

from eddyline.algebra.tag import TagAggregation, TagFunction, TickTag, WindowTagAggregation
from eddyline.algebra.window import RangeWindow
from eddyline.reference.element import Change, Clock, Row, TagElement, Window, WindowChange
from eddyline.reference.tag_aggregation import tag_aggregation, window_tag_aggregation
from eddyline.session import Session

COLUMNS = (aggregate("count"), aggregate("sum", "measure"))
#: the end of a batch
STEP = Clock(None, None)


def by_tag(
    *elements: object, function: str = "equality", threshold: float = 0.0, untagged: bool = False
) -> list[object]:
    """What is answered if each tuple is a batch by itself."""
    steps = (part for element in elements for part in ((element, STEP) if isinstance(element, Change) else (element,)))
    return at_once(*steps, function=function, threshold=threshold, untagged=untagged)


def at_once(
    *elements: object, function: str = "equality", threshold: float = 0.0, untagged: bool = False
) -> list[object]:
    node = TagAggregation(TagFunction(function, threshold), COLUMNS, untagged, patients)
    return [element for element in tag_aggregation(node, elements) if element != STEP]


def measured(index: int, measure: int, *contents: str) -> Change:
    tags = [tag(content, at=index, by=f"tagger {number}") for number, content in enumerate(contents)]
    return insert(index, index, 1, measure, "x", tags=tags)


def answers(elements: list[object]) -> list[tuple[int, str, tuple[object, ...]]]:
    def shown(change: Change) -> tuple[int, str, tuple[object, ...]]:
        op = "+" if change.old is None else "-" if change.new is None else "="
        return change.index, op, (change.new or change.old).row.values

    return [shown(change) for change in changes(elements)]


def test_the_first_answer_of_a_group_is_inserted_and_the_later_ones_replace_it() -> None:
    result = by_tag(measured(1, 10, "Running"), measured(2, 5, "Resting"), measured(3, 20, "RUNNING"), end(3))
    assert answers(result) == [(1, "+", ("Running", 1, 10)), (2, "+", ("Resting", 1, 5)), (1, "=", ("Running", 2, 30))]
    assert changes(result)[2].new.tick == 3
    assert result[-1] == end(3)


def test_a_batch_is_one_step() -> None:
    first, second, third = measured(1, 10, "Running"), measured(2, 5, "Resting"), measured(3, 20, "RUNNING")
    result = at_once(first, second, third, STEP)
    assert answers(result) == [(1, "+", ("Running", 2, 30)), (2, "+", ("Resting", 1, 5))]
    gone = Change(1, first.new, None)
    assert answers(at_once(first, gone, second, STEP)) == [(1, "+", ("Resting", 1, 5))], "it never had a number"


def test_an_answer_stands_behind_the_tags_of_its_group_and_carries_them() -> None:
    running = tag("Running", "measure", lifespan=9)
    result = by_tag(*(insert(i, i, 1, 10, "x", tags=[running]) for i in (1, 2)))
    assert [type(element) for element in result] == [TagElement, Change, Change]
    mark = changes(result)[1].new.row.marks[0]
    assert (mark.tag, mark.fields) == (running, {2}), "measure is in the third column, sum(measure)"


def test_untagged_tuples_are_ignored_or_a_group_behind_an_empty_tag() -> None:
    elements = [measured(1, 10), measured(2, 20, "Running")]
    assert answers(by_tag(*elements)) == [(1, "+", ("Running", 1, 20))]
    result = by_tag(*elements, untagged=True)
    assert answers(result) == [(1, "+", ("", 1, 10)), (2, "+", ("Running", 1, 20))]
    assert isinstance(result[0], TagElement)
    assert result[0].tag.content == ""
    assert changes(result)[0].new.row.marks == ()


def test_dictionary_groups_have_their_name() -> None:
    result = by_tag(
        measured(1, 10, "Joyful"), measured(2, 20, "Excited"), measured(3, 1, "Odd One"), function="dictionary"
    )
    assert [row.values for _, row in fold(result).values()] == [("happy", 2, 30), ("Odd One", 1, 1)]


def test_a_tuple_of_several_groups_goes_to_the_closest() -> None:
    start = [measured(1, 1, "sad"), measured(2, 2, "happy")]
    two_against_one = measured(3, 10, "sad", "joyful", "excited")
    result = by_tag(*start, two_against_one, function="dictionary")
    assert answers(result)[-1] == (2, "=", ("happy", 2, 12))
    assert contents(changes(result)[-1].new) == ["happy", "joyful", "excited"], "sad is no tag of this group"
    tie = by_tag(*start, measured(3, 10, "happy", "sad"), function="dictionary")
    assert answers(tie)[-1] == (1, "=", ("sad", 2, 11)), "the oldest of equals"


def test_tags_on_the_same_objects_form_one_group() -> None:
    elements = [measured(1, 1, "Fireworks", "Cool"), measured(2, 2, "Cool"), measured(3, 4, "Rain")]
    assert [row.values for _, row in fold(by_tag(*elements, function="jaccard", threshold=0.5)).values()] == [
        ("Fireworks", 2, 3),
        ("Rain", 1, 4),
    ]
    apart = by_tag(*elements, function="jaccard", threshold=0.6)
    assert [row.values[0] for _, row in fold(apart).values()] == ["Fireworks", "Cool", "Rain"]
    assert len(fold(by_tag(*elements, function="cooccurrence", threshold=1))) == 2
    assert len(fold(by_tag(*elements, function="cooccurrence", threshold=2))) == 3


class TestRevisions:
    FIRST, SECOND, OTHER = measured(1, 10, "Running"), measured(2, 20, "running"), measured(3, 5, "Resting")

    def after(self, *revisions: Change) -> list[tuple[int, str, tuple[object, ...]]]:
        result = by_tag(self.FIRST, self.SECOND, self.OTHER, *revisions)
        fold(result)  # checks that every old version is the one that stood
        return answers(result)[3:]

    def test_a_deletion_revises_the_answer(self) -> None:
        assert self.after(Change(2, self.SECOND.new, None)) == [(1, "=", ("Running", 1, 10))]

    def test_without_its_founder_a_group_has_the_name_of_the_next(self) -> None:
        assert self.after(Change(1, self.FIRST.new, None)) == [(1, "=", ("running", 1, 20))]

    def test_an_empty_group_is_withdrawn_and_founded_anew_under_a_new_index(self) -> None:
        gone = Change(3, self.OTHER.new, None)
        assert self.after(gone) == [(2, "-", ("Resting", 1, 5))]
        assert self.after(gone, measured(4, 6, "Resting"))[1:] == [(3, "+", ("Resting", 1, 6))]

    def test_a_replacement_revises_the_answer(self) -> None:
        new = stamped(1, 1, 11, "x", tags=[self.FIRST.new.row.marks[0].tag])
        assert self.after(Change(1, self.FIRST.new, new)) == [(1, "=", ("Running", 2, 31))]


def test_a_group_by_tag_counts_all_tags_of_its_rows() -> None:
    sql = """CREATE STREAM s (a INTEGER, t INTEGER) TIMESTAMP BY t;
      ATTACH TAG 'Sad' TO s WHERE a < 3 WITH TAG_SIGN = '-' AND TAG_LIFESPAN = 9 SEC;
      ATTACH TAG 'Nice' TO s.a WHERE a = 2 WITH TAG_SIGN = '+' AND TAG_MODE = COMBINE;
      SELECT TAG, COUNT(*) AS n, TAG_COUNT() AS tags, TAG_COUNT('+', a) AS plus, TAG_SCORE() AS score
      FROM s GROUP BY TAG;
      INSERT INTO s VALUES (1, 1), (2, 2), (3, 3);"""
    last = list(Session(sql, Path()).answers())[-1]
    assert (last.op, last.row) == ("=", ("Sad", 2, 2, 1, 0.0))


def test_each_window_has_its_own_groups() -> None:
    def row(measure: int, *tags: TickTag) -> Row:
        return stamped(0, 1, measure, "x", tags=tags).row

    node = WindowTagAggregation(TagFunction("equality"), COLUMNS, True, RangeWindow(patients, 10))
    running = tag("Running", lifespan=9)
    old = Window(5, (5,), (row(1, running), row(2, running), row(3)))
    new = Window(5, (5,), (row(1, running), row(2, running)))
    first, second = window_tag_aggregation(node, iter([WindowChange(5, None, old), WindowChange(5, old, new)]))
    assert [each.values for each in first.new.rows] == [("Running", 2, 3), ("", 1, 3)]
    assert (second.old, [each.values for each in second.new.rows]) == (first.new, [("Running", 2, 3)])
    assert first.new.rows[0].marks[0].tag == running
    assert MEASURE == 1
