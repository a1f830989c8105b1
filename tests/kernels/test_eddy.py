"""The eddy: whatever way tuples take, the same ones come through; and the way is about the best there is.

Time is counted, not measured: an operator takes as long as the test says.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddyline.kernels.eddy.eddies import Eddies
from eddyline.kernels.eddy.eddy import Eddy
from eddyline.kernels.eddy.knowledge import LARGEST_PIECE, SMALLEST_PIECE, Knowledge
from eddyline.kernels.places import Ints

Bools = npt.NDArray[np.bool_]


class World:
    """Tuples of which it is known which operators they pass, and a clock that operators move."""

    def __init__(self, passing: Bools, costs: list[float]) -> None:
        self.passing, self.costs, self.now = passing, costs, 0.0
        self.sizes: list[int] = []
        self.operators = [self._operator(number) for number in range(len(costs))]

    def _operator(self, number: int):  # type: ignore[no-untyped-def]
        def passes(rows: Ints, alone: bool) -> Ints:
            self.now += rows.size * self.costs[number]
            self.sizes.append(rows.size)
            return rows[self.passing[rows, number]]

        return passes

    def eddy(self, knowledge: Knowledge | None = None) -> Eddy:
        known = knowledge or Knowledge(tuple(f"o{i}" for i in range(len(self.costs))))
        return Eddy(self.operators, known, lambda: self.now)

    def run(self, eddy: Eddy) -> Ints:
        return np.concatenate([np.zeros(0, np.int64), *eddy.route(np.arange(len(self.passing)))])

    def cost(self, order: tuple[int, ...], rows: slice = slice(None)) -> float:
        """Of taking this order all the time."""
        left, total = self.passing[rows], 0.0
        for operator in order:
            total += len(left) * self.costs[operator]
            left = left[left[:, operator]]
        return total

    def best(self, rows: slice = slice(None)) -> float:
        return min(self.cost(order, rows) for order in permutations(range(len(self.costs))))

    def worst(self) -> float:
        return max(self.cost(order) for order in permutations(range(len(self.costs))))


def flipping(rows: int, every: int, rates: list[list[float]]) -> Bools:
    """Tuples that pass operators at rates which change every so many tuples."""
    phases = np.arange(rows) // every % len(rates)
    return np.random.default_rng(7).random((rows, len(rates[0]))) < np.array(rates)[phases]


@given(
    st.integers(0, 6000),
    st.lists(st.tuples(st.floats(0, 1), st.floats(1e-7, 1e-3)), min_size=1, max_size=5),
    st.integers(0, 100),
    st.integers(1, 4),
)
def test_what_comes_through_is_what_passes_all(
    rows: int, given_operators: list[tuple[float, float]], seed: int, tasks: int
) -> None:
    rates, costs = zip(*given_operators, strict=True)
    passing = np.random.default_rng(seed).random((rows, len(rates))) < np.array(rates)
    world, known = World(passing, list(costs)), None
    for _ in range(tasks):  # each goes on with what the one before has learned
        eddy = world.eddy(known)
        np.testing.assert_array_equal(world.run(eddy), np.flatnonzero(passing.all(axis=1)))
        known = eddy.report.learned


@pytest.mark.parametrize("rates", [[0.1, 0.9, 0.5], [0.9, 0.9, 0.02], [0.5, 0.5, 0.5]])
@pytest.mark.parametrize("costs", [[1e-6, 1e-6, 1e-6], [1e-5, 1e-6, 2e-6], [1e-6, 4e-5, 3e-6]])
def test_with_steady_rates_it_costs_hardly_more_than_the_best_order(rates: list[float], costs: list[float]) -> None:
    world = World(flipping(300_000, 300_000, [rates]), costs)
    world.run(world.eddy())
    assert world.now < 1.05 * world.best()


@pytest.mark.parametrize("every", [25_000, 50_000, 100_000])
def test_when_rates_flip_it_costs_little_more_than_the_best_order_of_each_phase(every: int) -> None:
    world = World(flipping(400_000, every, [[0.1, 0.9, 0.5], [0.9, 0.1, 0.5]]), [2e-5, 2e-5, 2e-5])
    hindsight = sum(world.best(slice(begin, begin + every)) for begin in range(0, 400_000, every))
    world.run(world.eddy())
    assert world.now < 1.10 * hindsight
    assert world.now < 0.7 * world.worst()


def test_operators_that_drop_the_same_tuples_are_not_both_asked_first() -> None:
    """Each alone drops more than the third, but after one of them the other drops nothing."""
    random = np.random.default_rng(1)
    same, other = random.random(200_000) < 0.3, random.random(200_000) < 0.5
    world = World(np.stack([same, same, other], axis=1), [1e-6, 1e-6, 1e-6])
    eddy = world.eddy()
    world.run(eddy)
    ((order, _),) = eddy.report.orders.most_common(1)
    assert order in {(0, 2, 1), (1, 2, 0)}


def test_an_operator_that_gets_slow_is_asked_later() -> None:
    world = World(flipping(200_000, 200_000, [[0.4, 0.5]]), [1e-6, 1e-6])
    eddy = world.eddy()
    world.run(eddy)
    assert eddy.report.orders.most_common(1)[0][0] == (0, 1)
    world.costs[0] = 1e-4
    later = world.eddy(eddy.report.learned)
    world.run(later)
    assert later.report.orders.most_common(1)[0][0] == (1, 0)


def test_the_knobs_turn_with_the_rate_of_change() -> None:
    """Quiet data share decisions by the ten thousands, for all operators at once; restless ones by few."""
    quiet, restless = (World(flipping(6_000_000, n, [[0.1, 0.9], [0.9, 0.1]]), [2e-5, 2e-5]) for n in (10**7, 10_000))
    pieces, fixed = {}, {}
    for world in (quiet, restless):
        eddy = world.eddy()
        world.run(eddy)
        assert eddy.report.learned is not None
        pieces[world], fixed[world] = 6_000_000 / eddy.report.decisions, eddy.report.learned.fixed
    assert pieces[quiet] > 10 * pieces[restless] and max(quiet.sizes) > LARGEST_PIECE // 2
    assert pieces[restless] < 4 * SMALLEST_PIECE
    assert fixed[quiet] == 2


def test_after_a_surprise_operators_are_chosen_anew_in_the_middle_of_the_way() -> None:
    """The first operator lets everything pass all of a sudden, and of the other two the better one has changed too."""
    rows = 40_000
    passing = flipping(2 * rows, rows, [[0.05, 0.1, 0.9], [1.0, 0.9, 0.1]])
    world = World(passing, [1e-6, 5e-6, 5e-6])
    known = Knowledge(("a", "b", "c"))
    eddy = world.eddy(known)
    list(eddy.route(np.arange(rows)))
    known.fixed = 1
    known.quiet = 64 * rows  # so that all the rest is one piece, which would go the old way to the end
    before = eddy.report.came[1]
    list(eddy.route(np.arange(rows, 2 * rows)))
    assert eddy.report.came[1] - before < 0.3 * rows


def test_a_task_goes_on_with_what_is_known() -> None:
    world = World(flipping(50_000, 50_000, [[0.9, 0.1]]), [1e-6, 1e-6])
    first = Eddies()
    [*first.eddy("both", {"o0": world.operators[0], "o1": world.operators[1]}).route(np.arange(50_000))]
    learned = first.reports["both"].learned
    assert learned is not None and learned.order() == [1, 0]
    second = Eddies({"both": learned})
    sampled = second.eddy("both", {"o0": world.operators[0], "o1": world.operators[1]})
    [*sampled.route(np.arange(1000))]
    assert sampled.report.sampled == 0 and set(sampled.report.orders) == {(1, 0)}
    other = Eddies({"both": learned}).eddy("both", {"o1": world.operators[1], "o2": world.operators[0]})
    [*other.route(np.arange(1000))]
    assert other.report.sampled > 0  # other operators: what is known is about something else
