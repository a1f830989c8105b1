"""Several joins within limits for all: the best division, found among all of them; and what they have in common."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.planner.bjtree import find_bjtree
from eddyline.planner.cost import Costs, Limits, Model, Resources
from eddyline.planner.division import divide
from eddyline.planner.finder import find_jtrees
from eddyline.planner.front import front_of
from eddyline.planner.graph import Input, JoinGraph, Predicate
from eddyline.planner.member import Division, Member, used_by
from eddyline.planner.mjoin import find_mjoin
from eddyline.planner.tree import JTree, mjoin_of, tree_of, with_state
from planner.brute import cpu as brute_cpu
from planner.brute import state_and_rate

_COSTS = Costs(1e-4, 1e-4, 1e-3)


def _line(sizes: tuple[float, ...], selectivities: tuple[float, ...]) -> Model:
    inputs = tuple(Input(f"i{at}", size / 10, size) for at, size in enumerate(sizes))
    edges = tuple(Predicate(frozenset({at, at + 1}), part) for at, part in enumerate(selectivities))
    return Model(JoinGraph(inputs, edges), _COSTS)


_lines = st.builds(
    _line,
    st.tuples(*[st.sampled_from([20.0, 100.0, 300.0])] * 4),
    st.tuples(*[st.sampled_from([0.001, 0.01, 0.1])] * 3),
)


def _all(model: Model) -> list[JTree]:
    return [plan.tree for plan in find_jtrees(model, Limits(), every=True)]


@settings(max_examples=25, deadline=None)
@given(st.lists(_lines, min_size=2, max_size=2), st.floats(0.001, 1.2), st.sampled_from([0.9, 1.01, 1.2, 2.0]))
def test_the_best_of_all_combinations_is_found(models: list[Model], memory: float, processor: float) -> None:
    """Joins that have nothing in common: against every tree of one beside every tree of the other."""
    joins = [Member(f"q{at}", model) for at, model in enumerate(models)]
    every = [[model.of(tree) for tree in _all(model)] for model in models]
    sums = [one + other for one, other in product(*every)]
    low, high = (choose(one.memory for one in sums) for choose in (min, max))
    least = min(one.cpu for one in sums)
    limits = Limits(least * processor, low + memory * (high - low))
    fitting = [one.cpu for one in sums if limits.allow(one)]
    found = divide(joins, limits)
    assert (found.missing is None) == bool(fitting)
    if fitting:
        assert found.division.used.cpu == pytest.approx(min(fitting))
        assert limits.allow(found.division.used, 1e-6)
    elif found.missing is not None:
        assert limits.strain(found.division.used) == pytest.approx(min(map(limits.strain, sums)))
        for limit, helped in (
            (found.missing.cpu_limit, lambda value: replace(limits, cpu=value)),
            (found.missing.memory_limit, lambda value: replace(limits, memory=value)),
        ):
            assert limit is None or any(helped(limit).allow(one, 1e-6) for one in sums)


def _key(mask: int) -> Hashable:
    return mask


@settings(max_examples=25, deadline=None)
@given(_lines, st.data())
def test_what_two_joins_keep_is_counted_once(model: Model, data: st.DataObject) -> None:
    """By hand: all inputs and states that any of both keeps, and the nodes that make them."""
    trees = [data.draw(st.sampled_from(_all(model))) for _ in range(2)]
    joins = [Member("p", model, key=_key), Member("q", model, key=_key)]
    used = used_by(joins, trees).used
    first = trees[0]
    kept = {first.mask, *first.states()} - {first.mask}
    memory = sum(one.size * one.width for one in model.graph.inputs)
    memory += sum(model.graph.state(state) for state in kept)
    extra = [state for state in _needed(trees[1], kept) if state not in kept]
    memory += sum(model.graph.state(state) for state in extra)
    assert used.memory == pytest.approx(memory)
    upkeep = {mask: model.graph.rate(mask) * _COSTS.upkeep for mask in (1, 2, 4, 8, *kept, *extra)}
    nodes = [*(one for one in first.nodes()), *(one for one in trees[1].nodes() if one.mask in extra), trees[1]]
    probing = sum(model.node(one.parts).cpu - sum(model.upkeep(part) for part in one.parts) for one in nodes)
    assert used.cpu == pytest.approx(probing + sum(upkeep.values()))


def test_what_nobody_makes_is_not_free() -> None:
    """The second join reads what the first one makes of three inputs at once, and stores nothing below that."""
    model = _line((100.0,) * 4, (0.01,) * 3)
    trees = [tree_of(((0, 1, 2), 3)), tree_of((((0, 1), 2), 3)), tree_of(((0, 1), 2, 3))]
    used = used_by([Member(name, model, key=_key) for name in "pqr"], trees)
    assert [part.memory for part in used.parts] == [
        pytest.approx(400.0 + model.graph.state(0b111)),
        0.0,
        pytest.approx(model.graph.state(0b11)),
    ]


def _needed(tree: JTree, kept: set[int]) -> list[int]:
    """The states of a tree that are made for it: nothing below what others keep."""
    found = []
    for child in tree.children:
        if child.children and child.mask not in kept:
            found += [child.mask, *_needed(child, kept)]
    return found


@settings(max_examples=25, deadline=None)
@given(_lines, st.floats(0, 1))
def test_two_joins_of_the_same_inputs_take_no_more_than_one_and_the_root_of_another(
    model: Model, memory: float
) -> None:
    """Whatever the limits are: the second one costs what its root does, at most."""
    plans = find_jtrees(model, Limits())
    low, high = plans[-1].memory, max(plan.memory for plan in plans)
    limits = Limits(memory=low + memory * (high - low) + 1)
    alone = divide([Member("p", model, key=_key)], limits).division
    both = divide([Member(name, model, key=_key) for name in "pq"], limits)
    assert both.missing is None
    root = model.node(alone.trees[0].parts)
    upkeep = sum(model.upkeep(part) for part in alone.trees[0].parts)
    assert both.division.used.cpu <= (alone.used.cpu + root.cpu - upkeep) * (1 + 1e-9)
    assert both.division.used.memory <= limits.memory * (1 + 1e-9)


def test_free_states_are_used_although_they_would_not_pay() -> None:
    """With what another keeps in mind, JTree-Finder takes a tree that it would not take alone."""
    model = _line((300.0, 300.0, 20.0), (0.1, 0.001))
    alone, beside = (find_jtrees(one, Limits())[0].tree for one in (model, model.sharing(frozenset({0b11}))))
    assert alone.states() != [0b11] and beside.states() == [0b11]
    assert model.sharing(frozenset({0b11})).of(beside).memory == 20.0, "the inputs of the state are kept, too"


def test_own_limits_hold_for_one_join() -> None:
    model = _line((100.0, 100.0, 300.0), (0.01, 0.1))
    inputs = sum(one.size for one in model.graph.inputs)
    joins = [Member("p", model, Limits(memory=inputs + 1)), Member("q", model)]
    found = divide(joins, Limits())
    assert [tree.kind for tree in found.division.trees] == ["mjoin", "bjtree"]


def test_who_cannot_keep_its_own_limits_has_no_say_in_what_others_get() -> None:
    """It gets the tree that exceeds them least, and the others what is best beside it."""
    model = _line((100.0, 100.0, 300.0), (0.01, 0.1))
    found = divide([Member("p", model, Limits(memory=10.0)), Member("q", model)], Limits())
    assert found.missing is None and found.beyond == {"p"}
    assert [tree.kind for tree in found.division.trees] == ["mjoin", "bjtree"]
    by_hand = divide([Member("p", model, Limits(memory=10.0), mjoin_of(0b111)), Member("q", model)], Limits())
    assert by_hand.beyond == {"p"} and by_hand.division.trees == found.division.trees
    together = Limits(memory=1000.5)
    tight = divide([Member("p", model, Limits(memory=10.0)), Member("q", model)], together)
    assert tight.missing is None and {tree.kind for tree in tight.division.trees} == {"mjoin"}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_own_limits_count_what_others_keep_as_well(order: tuple[int, int]) -> None:
    """Whoever came first: a query's own limit means the same, and holds when the other one goes."""
    model = _line((100.0, 100.0, 300.0), (0.01, 0.1))
    inputs = sum(one.size for one in model.graph.inputs)
    both = (Member("free", model, key=_key), Member("limited", model, Limits(memory=inputs + 1), key=_key))
    joins = [both[at] for at in order]
    found = divide(joins, Limits())
    kinds = {join.name: tree.kind for join, tree in zip(joins, found.division.trees, strict=True)}
    assert kinds == {"free": "bjtree", "limited": "mjoin"} and found.missing is None
    beyond = [replace(join, own=Limits(memory=inputs - 1)) if join.name == "limited" else join for join in joins]
    assert divide(beyond, Limits()).beyond == {"limited"}, "its inputs count, although another query reads them, too"


def test_a_tree_that_somebody_wants_stays() -> None:
    model = _line((100.0, 100.0, 300.0), (0.01, 0.1))
    found = divide([Member("p", model, tree=mjoin_of(0b111)), Member("q", model)], Limits())
    assert [tree.kind for tree in found.division.trees] == ["mjoin", "bjtree"]


def test_who_could_go_is_told() -> None:
    model = _line((100.0, 100.0, 300.0), (0.01, 0.1))
    small = _line((1.0, 1.0, 1.0), (0.01, 0.1))
    found = divide([Member("p", model), Member("q", model), Member("r", small)], Limits(memory=900.0))
    assert found.missing is not None and found.missing.without == ("p", "q")
    assert found.missing.memory_limit == pytest.approx(1003.0)


def test_many_joins_of_many_inputs_are_divided() -> None:
    """Beyond six inputs, and more sums than are kept; what is found fits, and is better than all mjoins."""
    model = _line((100.0,) * 9, (0.01,) * 8)
    joins = [Member(f"q{at}", model) for at in range(6)]
    states = divide(joins, Limits()).division.used.memory
    inputs = 6 * 900.0
    limits = Limits(memory=inputs + (states - inputs) / 2)
    found = divide(joins, limits)
    plain = sum((model.of(mjoin_of((1 << 9) - 1)) for _ in joins), Resources(0.0, 0.0))
    assert found.missing is None and limits.allow(found.division.used)
    assert found.division.used.cpu < plain.cpu


def test_brute_force_agrees_on_what_a_join_costs() -> None:
    """What is summed up here is the paper's cost, without anything in common."""
    model = _line((100.0, 20.0, 300.0), (0.01, 0.1))
    found: Division = used_by([Member("p", model)], [tree_of(((0, 1), 2))])
    assert found.used.cpu == pytest.approx(brute_cpu(model.graph, _COSTS, ((0, 1), 2)))
    assert found.used.memory == pytest.approx(420 + 2 * state_and_rate(model.graph, (0, 1))[0])


def test_a_state_more_pushes_out_those_across_it() -> None:
    assert with_state(tree_of((((0, 1), 2), 3)), 0b1100) == tree_of(((0, 1), (2, 3)))


def test_a_join_of_many_inputs_fits_where_only_a_longer_search_finds_a_tree() -> None:
    """The ways of state selection and removal lead past it: two states of the bjtree have to go at once."""
    draw = Random(19)
    sizes = [draw.choice([20.0, 100.0, 300.0]) for _ in range(7)]
    inputs = tuple(Input(f"i{at}", size / 10, size) for at, size in enumerate(sizes))
    edges = tuple(
        Predicate(frozenset({at, draw.randrange(at)}), draw.choice([0.001, 0.003, 0.01, 0.03])) for at in range(1, 7)
    )
    model = Model(JoinGraph(inputs, edges), _COSTS)
    mjoin, bjtree = find_mjoin(model), find_bjtree(model)
    limits = Limits(bjtree.cpu + 0.06 * (mjoin.cpu - bjtree.cpu), mjoin.memory + 0.5 * (bjtree.memory - mjoin.memory))
    assert front_of(model, limits) == []
    found = divide([Member("q", model)], limits)
    assert found.missing is None and limits.allow(found.division.used)


def test_a_stream_that_is_joined_with_itself_is_kept_once() -> None:
    """Alone, in the sums that plans are chosen from, and within the limits of the query itself."""
    inputs = (Input("x", 10, 1000.0), Input("y", 10, 1000.0), Input("z", 1, 10.0))
    model = Model(JoinGraph(inputs, (Predicate(frozenset({0, 2}), 0.01),)), _COSTS)
    names: dict[int, str] = {1: "s", 2: "s", 4: "z"}
    own = Limits(memory=1010.0)
    joins = [Member("p", model, own, key=names.get), Member("q", model, key=names.get)]
    for some in (joins[:1], joins):
        trees = [mjoin_of(0b111)] * len(some)
        assert used_by(some, trees).used.memory == 1010.0
        found = divide(some, Limits(memory=1010.0))
        assert found.missing is None and not found.beyond and found.division.used.memory == 1010.0


def test_a_state_that_a_tree_has_twice_is_kept_once() -> None:
    inputs = tuple(Input(name, 1, 100.0) for name in "abcd")
    edges = tuple(Predicate(frozenset(pair), 0.01) for pair in ((0, 1), (2, 3), (0, 2)))
    model = Model(JoinGraph(inputs, edges), _COSTS)
    names: dict[int, str] = {1: "s", 2: "r", 4: "s", 8: "r", 0b11: "sr", 0b1100: "sr"}
    both = used_by([Member("p", model, key=names.get)], [tree_of(((0, 1), (2, 3)))])
    apart = model.of(tree_of(((0, 1), (2, 3))))
    assert both.used.memory == pytest.approx(200 + model.graph.state(0b11)) == pytest.approx(apart.memory / 2)
    assert both.used.cpu < apart.cpu
