"""Inputs are merged by the largest tick each has reached so far."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from eddyline.sources import Arrival, Reject, Source, merged


@dataclass
class Listed:
    """A source whose rows are given by their ticks; None is a row without one."""

    name: str
    ticks: list[int | None]

    def rows(self) -> Iterator[Arrival | Reject]:
        for line, tick in enumerate(self.ticks, 1):
            if tick == -99:
                yield Reject(self.name, "file", line, "", "bad")
            else:
                yield Arrival(self.name, line, "+", (), tick)


def order(*inputs: list[int | None]) -> list[tuple[str, int]]:
    sources = [cast(Source, Listed(str(number), ticks)) for number, ticks in enumerate(inputs)]
    return [(row.extent, row.line) for row in merged(sources)]


def test_by_tick_and_then_by_order_of_creation() -> None:
    assert order([1, 3], [1, 2]) == [("0", 1), ("1", 1), ("1", 2), ("0", 2)]


def test_a_late_row_stays_late() -> None:
    # Row 2 of the first input is late: it comes when its input stands at 10, not at 1.
    assert order([10, 1], [5, 10]) == [("1", 1), ("0", 1), ("0", 2), ("1", 2)]


def test_rows_without_a_tick_follow_the_row_before_them() -> None:
    assert order([5, None, -99, 6], [4, 5, 6]) == [
        ("1", 1),
        ("0", 1),
        ("0", 2),
        ("0", 3),
        ("1", 2),
        ("0", 4),
        ("1", 3),
    ]


def test_rows_without_a_tick_at_the_beginning_come_first() -> None:
    assert order([5], [None, 7]) == [("1", 1), ("0", 1), ("1", 2)]


def test_no_inputs_and_empty_inputs() -> None:
    assert order() == []
    assert order([], [1], []) == [("1", 1)]


INPUT = st.lists(st.one_of(st.integers(-3, 9), st.none(), st.just(-99)), max_size=12)


@given(st.lists(INPUT, max_size=4))
def test_the_rule_by_brute_force(inputs: list[list[int | None]]) -> None:
    taken = [0] * len(inputs)
    expected = []

    def reached(number: int) -> float:
        seen = [tick for tick in inputs[number][: taken[number] + 1] if tick is not None and tick != -99]
        return max(seen, default=-math.inf)

    while candidates := [number for number in range(len(inputs)) if taken[number] < len(inputs[number])]:
        number = min(candidates, key=lambda number: (reached(number), number))
        taken[number] += 1
        expected.append((str(number), taken[number]))
    found = order(*inputs)
    assert found == expected
    for number, ticks in enumerate(inputs):
        assert [line for name, line in found if name == str(number)] == list(range(1, len(ticks) + 1))
