"""The comparison itself: what it must see, and what it must not mind."""

from __future__ import annotations

import pytest

from golden.compare import operators, same_fold, same_sequence
from golden.fold import BadFold, fold
from golden.notation import Line, read_line


def _lines(text: str) -> list[Line]:
    return [read_line(line.strip()) for line in text.strip().splitlines()]


def test_rows_of_a_window_are_a_bag() -> None:
    assert same_sequence("q1", _lines("5 w1 + (v=1) (v=2)"), _lines("5 w1 + (v=2) (v=1)"), unordered=False) is None
    assert same_sequence("q1", _lines("5 w1 + (v=1)"), _lines("5 w1 + (v=1) (v=1)"), unordered=False)


@pytest.mark.parametrize(("left", "right"), [("v=1", "v=1.0"), ("v=1", "v=true"), ("v=null", "v=0"), ("v=1", "w=1")])
def test_types_and_names_count(left: str, right: str) -> None:
    assert same_sequence("q1", _lines(f"5 #1 + {left}"), _lines(f"5 #1 + {right}"), unordered=False)
    assert same_fold("q1", _lines(f"5 #1 + {left}"), _lines(f"5 #1 + {right}"))


def test_order_of_tuples_counts_unless_unordered() -> None:
    left, right = _lines("5 #1 + v=1\n5 #2 + v=2"), _lines("5 #1 + v=2\n5 #2 + v=1")
    assert same_sequence("q1", left, right, unordered=False)
    assert same_sequence("q1", left, right, unordered=True) is None
    assert same_sequence("q1", left, _lines("5 #1 + v=2\n6 #2 + v=1"), unordered=True)


def test_changes_of_a_relation_at_one_tick_are_a_bag() -> None:
    left, right = _lines("5 + v=1\n5 - v=2\n6 + v=3"), _lines("5 - v=2\n5 + v=1\n6 + v=3")
    assert same_sequence("q1", left, right, unordered=False) is None
    assert same_sequence("q1", left, list(reversed(right)), unordered=False)


def test_revisions_fold_to_the_corrected_answer() -> None:
    revised = _lines("5 w1 + (v=1)\n7 w2 + ()\n5 w1 = (v=1) -> (v=2)")
    assert same_fold("q1", revised, _lines("5 w1 + (v=2)\n7 w2 + ()")) is None
    changed = _lines("3 #1 + v=1\n4 #2 + v=2\n3 #1 = v=1 -> v=5\n4 #2 - v=2")
    assert same_fold("q1", changed, _lines("3 #9 + v=5")) is None
    taken_back = _lines("1 + v=1\n4 - v=1\n1 - v=1\n4 + v=1\n9 + v=2")
    assert same_fold("q1", taken_back, _lines("9 + v=2")) is None


@pytest.mark.parametrize(
    "text",
    [
        "3 #1 - v=1",
        "3 #1 + v=1\n3 #1 + v=1",
        "3 #1 + v=1\n3 #1 = v=2 -> v=3",
        "5 w1 + (v=1)\n5 w1 = (v=9) -> (v=2)",
        "5 w1 - (v=1)",
    ],
)
def test_answers_that_contradict_those_before_them_do_not_fold(text: str) -> None:
    with pytest.raises(BadFold):
        fold(_lines(text))


def test_a_difference_shows_both_sides() -> None:
    shown = same_sequence("q1", _lines("5 #1 + v=1"), _lines("5 #1 + v=2"), unordered=False) or ""
    assert "expected 5      #1    + v=1" in shown
    assert "got      5      #1    + v=2" in shown


def test_parentheses_of_an_algebra_do_not_count() -> None:
    printed = "IStream (\nTimeWindow (TimeScope ((Tick (-300)) (Tick 0)) (Tick 300)) (StreamAcquire ”road” [1,2]))"
    ours = 'IStream(TimeWindow (TimeScope (Tick (-300)) (Tick 0)) (Tick 300) (StreamAcquire "road" [1, 2]))'
    assert operators(printed) == operators(ours)
    assert operators(printed) != operators(ours.replace("300", "301"))
