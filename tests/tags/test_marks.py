"""What becomes of tags in projections, joins and aggregates: section 4.2, Figures 4 to 6."""

from __future__ import annotations

from tag_streams import tag

from eddyline.algebra.answer import TagView
from eddyline.reference.element import Mark, Row
from eddyline.reference.marks import group_marks, join_marks, project_marks, stix_of, tag_count, tag_views
from eddyline.reference.stix import stix_text

ON_TUPLE = Mark(tag("whole"), None)
ON_0 = Mark(tag("zero"), frozenset({0}))
ON_01 = Mark(tag("both"), frozenset({0, 1}))


def test_a_projection_moves_tags_to_the_columns_that_use_them() -> None:
    # SELECT b, a + b
    reads = [frozenset({1}), frozenset({0, 1})]
    assert project_marks((ON_TUPLE, ON_0, ON_01), reads) == (ON_TUPLE, ON_0._replace(fields=frozenset({1})), ON_01)


def test_a_projection_drops_a_tag_on_what_is_gone() -> None:
    assert project_marks((ON_TUPLE, ON_0), [frozenset({1})]) == (ON_TUPLE,)


def test_a_join_spreads_a_tag_on_the_tuple_over_its_side() -> None:
    joined = join_marks((ON_TUPLE,), 3, (ON_01,), 3)
    assert joined == (Mark(ON_TUPLE.tag, frozenset({0, 1, 2})), Mark(ON_01.tag, frozenset({3, 4})))


def test_a_tag_of_both_sides_of_a_join_is_one() -> None:
    assert join_marks((ON_0,), 2, (ON_0,), 2) == (Mark(ON_0.tag, frozenset({0, 2})),)


def test_figure_6() -> None:
    """x(a, b, c) and y(a, e, f) join on a, which stays once: the output reads it from both."""
    left, right = Mark(tag("t1"), None), Mark(tag("t2"), None)
    reads = [frozenset({0, 3}), frozenset({1}), frozenset({2}), frozenset({4}), frozenset({5})]
    marks = project_marks(join_marks((left,), 3, (right,), 3), reads)
    assert stix_of(marks, 5) == "(1:1,4-5)2|(1:1-3)1"


def test_figure_5b() -> None:
    assert stix_text([((1, 2, 3), None), ((4,), None)]) == "(4)2|(1-3)1"


def test_a_row_without_tags_has_no_stix() -> None:
    assert stix_of((), 5) is None
    assert stix_of((ON_TUPLE,), 2) == "(1:1-2)1"


def test_an_aggregate_carries_the_tags_of_its_group_once() -> None:
    # GROUP BY a with max(b): columns read a and b
    marks = group_marks([(ON_0, ON_TUPLE), (ON_0, ON_01)], [frozenset({0}), frozenset({1})])
    assert marks == (ON_0, ON_TUPLE, ON_01)


def test_an_aggregate_keeps_a_tag_on_an_attribute_that_it_does_not_show() -> None:
    assert group_marks([(ON_0,)], [frozenset({1})]) == (Mark(ON_0.tag, None),)


def test_views_name_the_columns() -> None:
    views = tag_views((ON_TUPLE, Mark(tag("Fast", sign="-"), frozenset({1, 0}))), ["pid", "max"])
    assert views == (TagView("whole", None, ()), TagView("Fast", "-", ("pid", "max")))


def test_figure_4_counts_signs() -> None:
    """Ten tags on the seller, eight of them positive; one tag counts once however many tuples it is on."""
    seller = [Mark(tag(f"s{i}", sign="+" if i < 8 else "-"), frozenset({0})) for i in range(10)]
    price = [Mark(tag(f"p{i}", sign="-"), frozenset({3})) for i in range(4)]
    neutral = [Mark(tag("n"), None)]
    rows = [Row((145,), (*seller, *price)), Row((145,), (*seller, *neutral))]
    counts = [
        tag_count(rows, sign, field)
        for sign, field in (("+", 0), ("-", 0), ("-", 3), ("-", None), ("", None), (None, None))
    ]
    assert counts == [8, 2, 4, 6, 1, 15]
