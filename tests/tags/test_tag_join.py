"""The tag join over windows (Figures 5(b) and 8), worked by hand."""

from __future__ import annotations

from collections.abc import Iterable

from tag_streams import animals, arriving, changes, fold, patients, stamped, tag

from eddyline.algebra.tag import TagFunction, TagJoin, TickTag
from eddyline.reference.element import Change, Clock, TagElement
from eddyline.reference.stix import StixElement
from eddyline.reference.tag_join import tag_join

NULLS = (None, None, None)


def tuple_(index: int, tick: int, name: str, *tags: TickTag) -> Change:
    return Change(index, None, stamped(tick, index, tick, name, tags=tags))


def joined(
    left: Iterable[Change], right: Iterable[Change], function: str = "equality", **options: float
) -> list[object]:
    """Everything in one batch, after which all ticks are closed."""
    return batches([(left, right)], function, **options)


def batches(
    steps: list[tuple[Iterable[Change], Iterable[Change]]], function: str = "equality", left_range: int = 10,
    right_range: int = 10, threshold: float = 0.0,
) -> list[object]:  # fmt: skip
    node = TagJoin(TagFunction(function, threshold), left_range, right_range, patients, animals)
    clock = Clock(1000, 1000)
    sides = [[element for step in steps for element in (*step[side], clock)] for side in (0, 1)]
    return [element for element in tag_join(node, *map(iter, sides)) if not isinstance(element, Clock)]


def shown(elements: Iterable[object]) -> list[str]:
    """Stixes, `#` and the content of tags, `+`, `-` or `=` and the name of tuples."""
    lines = []
    for element in elements:
        if isinstance(element, StixElement):
            lines.append(element.text)
        elif isinstance(element, TagElement):
            lines.append("#" + element.tag.content)
        elif isinstance(element, Change):
            op = "+" if element.old is None else "-" if element.new is None else "="
            values = (element.new or element.old).row.values
            lines.append(op + (values[2] or values[5]))
    return lines


T1, T2 = tag("Accident", lifespan=100), tag("accident", lifespan=100, by="bob")


class TestFigure5b:
    """o1-o3 carry t1 on one side, o4 carries t2 on the other; o4 comes last and finds them all."""

    LEFT = (tuple_(1, 1, "o1", T1), tuple_(2, 2, "o2", T1), tuple_(3, 3, "o3", T1))
    RIGHT = (tuple_(1, 4, "o4", T2),)

    def test_stix_tags_and_objects(self) -> None:
        result = joined(self.LEFT, self.RIGHT)
        assert shown(result) == ["(4)2|(1-3)1", "#Accident", "#accident", "+o1", "+o2", "+o3", "+o4"]

    def test_objects_have_nulls_for_the_other_side_and_a_running_index(self) -> None:
        result = changes(joined(self.LEFT, self.RIGHT))
        assert [change.index for change in result] == [1, 2, 3, 4]
        assert result[0].new.row.values == (1, 1, "o1", *NULLS)
        assert result[3].new.row.values == (*NULLS, 1, 4, "o4")
        assert [change.new.row.marks[0].tag for change in result] == [T1, T1, T1, T2]
        assert {change.new.tick for change in result} == {4}

    def test_every_arrival_probes_again(self) -> None:
        result = joined(self.LEFT, [*self.RIGHT, tuple_(2, 5, "o5", T2)])
        assert shown(result)[7:] == ["(4-5)2|(1-3)1", "#Accident", "#accident", "+o1", "+o2", "+o3", "+o4", "+o5"]

    def test_the_side_that_comes_last_does_not_matter(self) -> None:
        result = joined([tuple_(1, 4, "o4", T2)], [tuple_(1, 1, "o1", T1)])
        assert shown(result) == ["(2)2|(1)1", "#accident", "#Accident", "+o4", "+o1"]


def test_tuples_leave_the_windows() -> None:
    left = [tuple_(1, 1, "gone", T1), tuple_(2, 5, "in", T1)]
    assert shown(joined(left, [tuple_(1, 9, "b", T2)], left_range=4)) == [
        "(2)2|(1)1",
        "#Accident",
        "#accident",
        "+in",
        "+b",
    ]
    assert joined(left, [tuple_(1, 10, "b", T2)], left_range=4) == []


def test_only_the_tags_of_the_tuple_that_arrives_probe() -> None:
    other = tag("Fire", lifespan=100)
    left = [tuple_(1, 1, "a", other), tuple_(2, 3, "b", T1)]
    right = [tuple_(1, 2, "c", tag("Fire", by="bob"))]
    assert shown(joined(left, right)) == ["(2)2|(1)1", "#Fire", "#Fire", "+a", "+c"], "b does not bring Fire again"


def test_tags_that_do_not_match_send_nothing() -> None:
    assert joined([tuple_(1, 1, "a", T1)], [tuple_(1, 2, "b", tag("Fire")), tuple_(2, 3, "c")]) == []


def test_emotions_join_by_group() -> None:
    """Section 6.1, Query 3: Joyful and Excited are both happy."""
    left, right = [tuple_(1, 1, "a", tag("Joyful"))], [tuple_(1, 2, "b", tag("Excited")), tuple_(2, 3, "c", tag("Sad"))]
    assert shown(joined(left, right, "dictionary")) == ["(2)2|(1)1", "#Joyful", "#Excited", "+a", "+b"]


def test_fireworks_are_cool_if_all_fireworks_are_tagged_so() -> None:
    """Section 4.1: JC(Fireworks, Cool) is 2 / 3 with the object that is Cool alone."""
    fireworks, cool = tag("Fireworks", by="bob"), tag("Cool")
    left = [tuple_(1, 1, "a", fireworks, cool), tuple_(2, 2, "b", fireworks, cool)]
    right = [tuple_(1, 3, "c", tag("Cool", by="eve"))]
    pairs = {threshold: shown(joined(left, right, "jaccard", threshold=threshold)) for threshold in (0.6, 0.7)}
    assert [line for line in pairs[0.6] if line == "#Fireworks"] == ["#Fireworks"]
    assert "#Fireworks" not in pairs[0.7]
    assert "#Fireworks" in shown(joined(left, right, "cooccurrence", threshold=2))
    assert "#Fireworks" not in shown(joined(left, right, "cooccurrence", threshold=3))


class TestOrder:
    LEFT = (tuple_(1, 1, "a", T1), tuple_(2, 2, "c", T1))
    RIGHT = (tuple_(1, 1, "b", T2), tuple_(2, 2, "d", T2))

    def test_the_cut_into_batches_makes_no_difference(self) -> None:
        node = TagJoin(TagFunction("equality"), 10, 10, patients, animals)
        first, second, last = Clock(1, 0), Clock(2, 1), Clock(2, 2)
        left = [self.LEFT[0], first, first, self.LEFT[1], second, second, last]
        right = [first, self.RIGHT[0], first, second, self.RIGHT[1], second, last]
        result = [element for element in tag_join(node, iter(left), iter(right)) if not isinstance(element, Clock)]
        assert result == joined(self.LEFT, self.RIGHT)

    def test_nothing_is_joined_before_its_tick_is_closed(self) -> None:
        node = TagJoin(TagFunction("equality"), 10, 10, patients, animals)
        left, right = [self.LEFT[0], Clock(1, 0)], [self.RIGHT[0], Clock(1, 0)]
        assert list(tag_join(node, iter(left), iter(right))) == [Clock(1, 0)]


class TestRevisions:
    LEFT = (tuple_(1, 1, "a", T1), tuple_(2, 2, "b", T1))
    RIGHT = (tuple_(1, 3, "c", T2),)

    def after(self, *left: Change, right: tuple[Change, ...] = ()) -> tuple[list[str], list[object]]:
        everything = batches([(self.LEFT, self.RIGHT), (left, right)])
        sent = len(batches([(self.LEFT, self.RIGHT)]))
        return shown(everything[sent:]), everything

    def test_a_deleted_object_is_withdrawn(self) -> None:
        lines, everything = self.after(Change(1, self.LEFT[0].new, None))
        assert lines == ["-a"]
        assert [row.values[2] or row.values[5] for _, row in fold(everything).values()] == ["b", "c"]

    def test_a_match_without_objects_on_one_side_is_withdrawn(self) -> None:
        lines, _ = self.after(*(Change(each.index, each.new, None) for each in self.LEFT))
        assert lines == ["-a", "-b", "-c"]

    def test_what_a_deleted_tuple_has_found_is_withdrawn(self) -> None:
        lines, everything = self.after(right=(Change(1, self.RIGHT[0].new, None),))
        assert lines == ["-a", "-b", "-c"]
        assert fold(everything) == {}

    def test_a_replaced_object_is_replaced(self) -> None:
        lines, _ = self.after(Change(1, self.LEFT[0].new, stamped(1, 1, 1, "A", tags=[T1])))
        assert lines == ["=A"]

    def test_an_object_that_moves_into_a_window_is_sent_with_its_match(self) -> None:
        early = tuple_(1, -20, "a", T1)
        elements = batches([([early, self.LEFT[1]], self.RIGHT), ([Change(1, early.new, self.LEFT[0].new)], [])])
        assert shown(elements)[5:] == ["-b", "-c", "(3)2|(1-2)1", "#Accident", "#accident", "+a", "+b", "+c"]

    def test_the_result_is_that_of_the_corrected_input(self) -> None:
        _, revised = self.after(Change(1, self.LEFT[0].new, None))
        corrected = joined(self.LEFT[1:], self.RIGHT)
        assert sorted(map(repr, fold(revised).values())) == sorted(map(repr, fold(corrected).values()))


def test_tags_of_the_input_are_sent_with_their_matches_only() -> None:
    elements = [*arriving(T1), tuple_(1, 1, "a", T1), Clock(9, 9)]
    node = TagJoin(TagFunction("equality"), 1, 1, patients, animals)
    assert list(tag_join(node, iter(elements), iter([Clock(9, 9)]))) == [Clock(9, 9)]
