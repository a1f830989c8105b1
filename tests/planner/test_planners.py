"""Every planner against all join trees there are."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eddyline.planner.bjtree import _cheapest_pairs, find_bjtree
from eddyline.planner.budget import Budget
from eddyline.planner.choice import choose
from eddyline.planner.cost import Costs, Limits, Model
from eddyline.planner.finder import OutOfTime, find_jtrees
from eddyline.planner.front import front_of
from eddyline.planner.graph import THETA, Input, JoinGraph, Predicate
from eddyline.planner.mjoin import find_mjoin
from eddyline.planner.order import EXACT_CHILDREN, Prices, cost_of, exact_orders, greedy_order, ranked_order
from eddyline.planner.parts import Parts
from eddyline.planner.shapes import CLIQUE, CYCLE, LINEAR, STAR, made
from eddyline.planner.state_exchange import exchange_states
from eddyline.planner.state_removal import remove_states
from eddyline.planner.state_selection import select_states
from eddyline.planner.tree import mjoin_of, tree_of
from eddyline.planner.two_layers import BJTREE, MJOIN, REMOVAL, SELECTION, find_in_two_layers

from . import brute
from .brute import laws

Costed = dict[brute.Shape, tuple[float, float]]


def draw_limits(data: st.DataObject, costed: Costed) -> Limits:
    """Near those of some trees, so that often few fit, and just."""
    cpus, memories = zip(*costed.values(), strict=True)
    slack = st.sampled_from((0.9, 1.0, 1.0, 1.1))
    cpu = data.draw(st.sampled_from(sorted(cpus))) * data.draw(slack)
    memory = data.draw(st.sampled_from(sorted(memories))) * data.draw(slack)
    return Limits(cpu, memory)


def qualified(costed: Costed, limits: Limits) -> Costed:
    """Those that fit by far more or fail by far more than rounding does; others would make a test a lottery."""
    for cpu, memory in costed.values():
        for used, limit in ((cpu, limits.cpu), (memory, limits.memory)):
            assume(not 1e-10 < abs(used / limit - 1) < 1e-8)
    return {
        tree: (cpu, memory)
        for tree, (cpu, memory) in costed.items()
        if cpu <= limits.cpu * (1 + 1e-9) and memory <= limits.memory * (1 + 1e-9)
    }


@laws()
@given(brute.graphs(least=3), brute.prices())
def test_no_tree_needs_less_than_the_least(graph: JoinGraph, costs: Costs) -> None:
    least = Model(graph, costs).least
    for cpu, memory in brute.all_costs(graph, costs).values():
        assert cpu >= least.cpu * (1 - 1e-9) and memory >= least.memory * (1 - 1e-9)


@laws()
@given(brute.graphs(least=3), brute.prices())
def test_an_mjoin_probes_in_the_best_order(graph: JoinGraph, costs: Costs) -> None:
    shape = tuple(range(len(graph.inputs)))
    assert find_mjoin(Model(graph, costs)).cpu == pytest.approx(brute.cpu(graph, costs, shape))


@laws()
@given(brute.graphs(least=3), brute.prices())
def test_a_bjtree_is_the_best_binary_tree(graph: JoinGraph, costs: Costs) -> None:
    plan = find_bjtree(Model(graph, costs))
    assert plan.tree.kind == "bjtree"
    assert plan.cpu == pytest.approx(min(cpu for cpu, _ in brute.all_costs(graph, costs, binary=True).values()))


def finds_a_plan_exactly_when_there_is_one(graph: JoinGraph, costs: Costs, data: st.DataObject) -> None:
    costed = brute.all_costs(graph, costs)
    limits = draw_limits(data, costed)
    fitting = qualified(costed, limits)
    plans = find_jtrees(Model(graph, costs), limits)
    assert bool(plans) == bool(fitting)
    if plans:
        assert plans[0].cpu == pytest.approx(min(cpu for cpu, _ in fitting.values()))
        assert min(plan.memory for plan in plans) == pytest.approx(min(memory for _, memory in fitting.values()))


@laws()
@given(brute.graphs(least=3), brute.prices(), st.data())
def test_jtree_finder_finds_a_plan_exactly_when_there_is_one(
    graph: JoinGraph, costs: Costs, data: st.DataObject
) -> None:
    finds_a_plan_exactly_when_there_is_one(graph, costs, data)


@laws(12)
@given(brute.graphs(least=6, most=6), brute.prices(), st.data())
def test_also_over_six_inputs(graph: JoinGraph, costs: Costs, data: st.DataObject) -> None:
    finds_a_plan_exactly_when_there_is_one(graph, costs, data)


@laws()
@given(brute.graphs(least=3, most=4), brute.prices(), st.data())
def test_jtree_finder_gives_all_that_qualify(graph: JoinGraph, costs: Costs, data: st.DataObject) -> None:
    costed = brute.all_costs(graph, costs)
    limits = draw_limits(data, costed)
    found = find_jtrees(Model(graph, costs), limits, every=True)
    assert len(found) == len({plan.tree for plan in found})
    assert {plan.tree for plan in found} == set(map(tree_of, qualified(costed, limits)))


@laws()
@given(brute.graphs(least=3, most=4), brute.prices())
def test_without_limits_the_best_are_those_that_no_other_beats(graph: JoinGraph, costs: Costs) -> None:
    costed = brute.all_costs(graph, costs)
    best = find_jtrees(Model(graph, costs), Limits())
    assert best[0].cpu == pytest.approx(min(cpu for cpu, _ in costed.values()))
    for cpu, memory in costed.values():
        assert any(p.cpu <= cpu * (1 + 1e-9) and p.memory <= memory * (1 + 1e-9) for p in best)


def test_where_no_state_fits_the_mjoin_may() -> None:
    """The paper's listing stops at a size of which no sub-tree is qualified; ours are weighed with the rest."""
    model = Model(made(CLIQUE, [Input(name, 1, 10) for name in "ABCD"], lambda one, other: 0.5), Costs(1, 1, 1))
    mjoin = find_mjoin(model)
    assert [plan.tree.kind for plan in find_jtrees(model, Limits(memory=mjoin.memory))] == ["mjoin"]


@laws()
@given(brute.graphs(least=3), brute.prices(), st.data())
def test_the_polynomial_planners_never_call_a_plan_qualified_that_is_not(
    graph: JoinGraph, costs: Costs, data: st.DataObject
) -> None:
    costed = {tree_of(tree): used for tree, used in brute.all_costs(graph, costs).items()}
    limits = draw_limits(data, costed)
    model = Model(graph, costs)
    found = find_in_two_layers(model, limits)
    for one in found.considered:
        assert (one.plan.cpu, one.plan.memory) == pytest.approx(costed[one.plan.tree])
    if found.plan is not None:
        assert limits.allow(found.plan.used)
    elif len(found.considered) == 1:
        assert not qualified(costed, limits), "only what nothing fits is given up at once"
    if limits.allow(find_mjoin(model).used) or limits.allow(find_bjtree(model).used):
        assert found.plan is not None


@laws()
@given(brute.graphs(least=3), brute.prices(), st.data())
def test_each_state_that_is_selected_makes_the_plan_cheaper(
    graph: JoinGraph, costs: Costs, data: st.DataObject
) -> None:
    limits = draw_limits(data, brute.all_costs(graph, costs))
    way = select_states(Model(graph, costs), limits)
    assert way[0].tree == mjoin_of(graph.all)
    cpus = [plan.cpu for plan in way]
    assert cpus == sorted(cpus, reverse=True) and len(set(cpus)) == len(cpus)
    assert all(limits.holds(plan.memory) for plan in way[1:])


@laws()
@given(brute.graphs(least=3), brute.prices(), st.data())
def test_states_are_removed_until_the_plan_fits_or_none_is_left(
    graph: JoinGraph, costs: Costs, data: st.DataObject
) -> None:
    limits = draw_limits(data, brute.all_costs(graph, costs))
    way = remove_states(Model(graph, costs), limits)
    assert way[0].tree.kind == "bjtree"
    assert [len(plan.tree.states()) for plan in way] == list(range(len(graph.inputs) - 2, -1, -1))[: len(way)]
    assert limits.allow(way[-1].used) or way[-1].tree == mjoin_of(graph.all)
    assert not any(limits.allow(plan.used) for plan in way[:-1])


@laws()
@given(brute.graphs(least=4), brute.prices(), st.data())
def test_each_state_that_is_exchanged_brings_the_plan_nearer(
    graph: JoinGraph, costs: Costs, data: st.DataObject
) -> None:
    limits = draw_limits(data, brute.all_costs(graph, costs))
    model = Model(graph, costs)
    way = exchange_states(model, limits, find_mjoin(model))
    strains = [max(limits.strain(plan.used), 1.0) for plan in way]
    assert strains == sorted(strains, reverse=True)
    assert len({plan.tree for plan in way}) == len(way) <= 2 * len(graph.inputs) + 1
    assert not any(limits.allow(plan.used) for plan in way[:-1])
    assert all(plan.tree.mask == graph.all for plan in way)


# -- orders over many inputs -------------------------------------------------------------------------------------------


@laws()
@given(st.integers(3, 7), st.sampled_from((LINEAR, STAR)), st.data())
def test_ranks_give_the_best_order_without_cross_products(number: int, shape: str, data: st.DataObject) -> None:
    amount = st.floats(0.1, 50.0)
    inputs = [Input(str(at), 1.0, data.draw(amount)) for at in range(number)]
    graph = made(shape, inputs, lambda one, other: data.draw(st.floats(0.01, 0.99)))
    parts = Parts(graph, [1 << at for at in range(number)])
    prices = Prices(1.0, 0.0)
    for start in range(number):
        found = cost_of(parts, start, ranked_order(parts, start), prices)
        assert found == pytest.approx(_best_connected(parts, start, prices))


def _best_connected(parts: Parts, start: int, prices: Prices) -> float:
    def best(joined: int, size: float) -> float:
        nexts = [at for at in range(len(parts)) if not joined >> at & 1 and parts.adjacent[at] & joined]
        costs = []
        for at in nexts:
            after = size * parts.factor(joined, at)
            costs.append(after * prices.join + best(joined | 1 << at, after))
        return min(costs, default=0.0)

    return best(1 << start, parts.sizes[start])


@laws()
@given(brute.graphs(least=3), st.floats(0.0, 1.0))
def test_no_order_is_better_than_the_exact_one(graph: JoinGraph, compare: float) -> None:
    parts = Parts(graph, [1 << at for at in range(len(graph.inputs))])
    prices = Prices(1.0, compare)
    for start, order in enumerate(exact_orders(parts, prices)):
        assert order.cost == pytest.approx(cost_of(parts, start, order.probes, prices))
        for other in (ranked_order(parts, start), greedy_order(parts, start, prices)):
            assert sorted((start, *other)) == list(range(len(parts)))
            assert cost_of(parts, start, other, prices) >= order.cost * (1 - 1e-9)


# -- the paper's four settings, and many inputs ------------------------------------------------------------------------


def setting(number: int, shape: str = LINEAR) -> Model:
    """Streams whose neighbours find two tuples each, so that what is computed anew adds up; the last are fast."""
    inputs = [
        Input.windowed(f"S{at}", 1.0 + 9.0 * (at >= number // 2), 20.0 / (1 + 9 * (at >= number // 2)))
        for at in range(number)
    ]
    per_pair = 0.1 if shape != CLIQUE else 0.1 ** (2 / number)
    return Model(made(shape, inputs, lambda one, other: per_pair), Costs(1e-4, 1e-4, 1e-3))


def test_the_four_settings_of_the_experiments() -> None:
    """Both qualify; the processor is tight, so only a plan with states does; memory is; both are: only a jtree does."""
    model = setting(4)
    mjoin, bjtree = find_mjoin(model), find_bjtree(model)
    assert bjtree.cpu < mjoin.cpu and mjoin.memory < bjtree.memory
    roomy = Limits(mjoin.cpu, bjtree.memory)
    fast_only = Limits(bjtree.cpu, bjtree.memory)
    small_only = Limits(mjoin.cpu, mjoin.memory)
    between = [
        plan
        for plan in find_jtrees(model, Limits(), every=True)
        if plan.tree.kind == "jtree" and plan.cpu < mjoin.cpu and plan.memory < bjtree.memory
    ]
    assert between
    tight = Limits(between[0].cpu, between[0].memory)
    kinds = []
    for limits in (roomy, fast_only, small_only, tight):
        found = find_in_two_layers(model, limits)
        assert found.plan is not None
        kinds.append((found.plan.tree.kind, found.considered[-1].by))
    assert kinds[:3] == [("mjoin", MJOIN), ("bjtree", BJTREE), ("mjoin", MJOIN)]
    assert kinds[3][0] == "jtree" and kinds[3][1] in (SELECTION, REMOVAL)


@pytest.mark.parametrize("shape", [LINEAR, STAR, CYCLE, CLIQUE])
@pytest.mark.parametrize("number", [2, 7, 20, 24])
def test_many_inputs_in_all_shapes(shape: str, number: int) -> None:
    """Between the mjoin and the bjtree, where both resources are tight, the two layers still find something."""
    model = setting(number, shape)
    mjoin, bjtree = find_mjoin(model), find_bjtree(model)
    assert len(bjtree.tree.states()) == number - 2
    assert mjoin.memory <= bjtree.memory
    for limits in (Limits(mjoin.cpu, bjtree.memory), Limits(bjtree.cpu, bjtree.memory)):
        assert find_in_two_layers(model, limits).plan is not None
    assert find_in_two_layers(model, Limits(memory=mjoin.memory * 0.99)).plan is None


@laws()
@given(brute.graphs(least=3), brute.prices(), st.data())
def test_only_what_can_be_stored_is(graph: JoinGraph, costs: Costs, data: st.DataObject) -> None:
    """A tree that loses against one that cannot run is not lost."""
    storable = data.draw(st.integers(0, graph.all))
    costed = {
        shape: found
        for shape, found in brute.all_costs(graph, costs).items()
        if all(storable >> at & 1 for at in brute.stored_in(shape))
    }
    limits = draw_limits(data, costed)
    fitting = qualified(costed, limits)
    model = Model(graph, costs, storable=storable)
    plans = find_jtrees(model, limits)
    assert bool(plans) == bool(fitting)
    if plans:
        assert plans[0].cpu == pytest.approx(min(cpu for cpu, _ in fitting.values()))
    others = (plan for way in (select_states, remove_states) for plan in way(model, limits))
    for plan in (*plans, *others, *front_of(model, Limits())):
        assert all(model.is_storable(state) for state in plan.tree.states())
        assert plan.used == model.of(plan.tree)


def test_jtree_finder_stops_when_its_budget_is_spent() -> None:
    with pytest.raises(OutOfTime, match="20 inputs have too many"):
        find_jtrees(setting(20).within(Budget(10_000)), Limits())


def test_a_cycle_is_stored_where_no_pair_of_it_fits() -> None:
    """Each pair of S1, S2 and S3 has many partners, few of which close the cycle; others hang on S3."""
    inputs = [Input.windowed("S0", 10_000, 1), *(Input.windowed(f"S{at}", 1, 1_000) for at in range(1, 7))]
    pairs = [(0, 1, 1e-3), *((one, other, 1e-2) for one, other in ((1, 2), (2, 3), (1, 3), (3, 4), (3, 5), (3, 6)))]
    graph = JoinGraph(tuple(inputs), tuple(Predicate(frozenset({a, b}), part) for a, b, part in pairs))
    model = Model(graph, Costs(1e-7, 1e-8, 1e-6))
    mjoin, stored = find_mjoin(model), graph.state(0b1110)
    assert all(graph.state(1 << a | 1 << b) > 2 * stored for a, b, _ in pairs[1:])
    way = select_states(model, Limits(1e-9, mjoin.memory + stored))
    assert way[-1].tree.states() == [0b1110] and way[-1].cpu < mjoin.cpu


def test_a_bjtree_of_many_inputs_begins_with_what_is_compared_for_little() -> None:
    """S1, S2 and S3 are compared, few triples are left of them, and each of these finds one of S4, S5, …"""
    inputs = [Input.windowed("S0", 40_000, 1), *(Input.windowed(f"S{at}", 100, 50) for at in range(1, 4))]
    inputs += [Input.windowed(f"S{at}", 5, 50) for at in range(4, 12)]
    compared = [Predicate(frozenset(pair), 2e-3, THETA) for pair in ((1, 2), (2, 3), (1, 3))]
    found = [Predicate(frozenset({1, at}), 1 / inputs[at].size) for at in (0, *range(4, 12))]
    model = Model(JoinGraph(tuple(inputs), (*compared, *found)), Costs(1.5e-7, 1e-9, 3e-8, 3.5e-9, 0.012, 0.0036))
    assert 0b1110 in find_bjtree(model).tree.states()


def test_jtree_finder_counts_with_the_orders_that_joins_run_by() -> None:
    """Of many children not all orders are looked at: a limit that only the best of all would keep is not kept."""
    some = 0
    for seed in range(300):
        dice = Random(seed)
        inputs = [Input(f"S{at}", 10 ** dice.uniform(-1, 3), 10 ** dice.uniform(0, 4)) for at in range(9)]
        pairs = [(a, b, 10 ** dice.uniform(-4, 0)) for a in range(9) for b in range(a) if dice.random() < 0.6]
        graph = JoinGraph(tuple(inputs), tuple(Predicate(frozenset({a, b}), part) for a, b, part in pairs))
        model = Model(graph, Costs(1e-6, 1e-6, 1e-6))
        runs = model.of(mjoin_of(graph.all))
        best = runs.cpu - _lost_by_orders(model)
        if runs.cpu > 1.02 * best:
            limits = Limits((runs.cpu * best) ** 0.5, runs.memory)
            plans = find_jtrees(model, limits)
            assert all(limits.allow(model.of(plan.tree)) for plan in plans)
            some += 1
        if some == 3:
            break
    assert some == 3


def _lost_by_orders(model: Model) -> float:
    """What the mjoin costs more than it would by the best of all orders."""
    parts = Parts(model.graph, mjoin_of(model.graph.all).parts)
    best = exact_orders(parts, Prices(model.costs.join, model.costs.compare))
    orders = zip(parts.churns, model.node(parts.masks).orders, best, strict=True)
    return sum(churn * (order.cost - other.cost) for churn, order, other in orders)


def test_up_to_eight_children_are_probed_in_the_best_order() -> None:
    assert _lost_by_orders(setting(8, CLIQUE)) == 0.0
    assert EXACT_CHILDREN == 8


@laws(60)
@given(brute.graphs(least=3, most=4), brute.batch_prices(), st.data())
def test_jtree_finder_at_the_prices_of_batches_beside_others(
    graph: JoinGraph, costs: Costs, data: st.DataObject
) -> None:
    """With what others keep, and what cannot be stored: against all trees, by what the model says of each."""
    storable = data.draw(st.one_of(st.just(-1), st.integers(0, graph.all)))
    sets = [mask for mask in range(3, graph.all) if mask & (mask - 1) and not mask & ~storable]
    free = frozenset(data.draw(st.lists(st.sampled_from(sets), max_size=3))) if sets else frozenset()
    model = Model(graph, costs, free=free, storable=storable)
    trees = (tree_of(shape) for shape in brute.trees(range(len(graph.inputs))))
    used = [model.of(tree) for tree in trees if all(map(model.is_storable, tree.states()))]
    costed: Costed = {at: (one.cpu, one.memory) for at, one in enumerate(used)}
    limits = draw_limits(data, {at: (cpu, memory or 1e-9) for at, (cpu, memory) in costed.items()})
    fitting = qualified(costed, limits)
    plans = find_jtrees(model, limits)
    assert bool(plans) == bool(fitting)
    if plans:
        assert plans[0].cpu == pytest.approx(min(cpu for cpu, _ in fitting.values()))


def test_the_bjtree_has_states_that_can_be_stored_and_those_that_others_keep() -> None:
    inputs = tuple(Input(name, 1.0, 100.0) for name in "abc")
    edges = (Predicate(frozenset({0, 1}), 0.001), Predicate(frozenset({1, 2}), 0.01))
    costs = Costs(1e-6, 1e-6, 1e-6)
    models = (
        Model(JoinGraph(inputs, edges), costs),
        Model(JoinGraph(inputs, edges), costs, storable=0b110),
        Model(JoinGraph(inputs, edges), costs, free=frozenset({0b110})),
    )
    assert [find_bjtree(model).tree.states() for model in models] == [[0b11], [0b110], [0b110]]
    assert [_cheapest_pairs(model).states() for model in models] == [[0b11], [0b110], [0b110]]


def test_a_join_that_a_larger_one_stores_is_made_all_the_same() -> None:
    """Its answer is not read from there: which binary tree makes it matters, though what its inputs take does not."""
    inputs = (Input("a", 1.0, 100.0), Input("b", 1.0, 100.0), Input("c", 50.0, 100.0))
    edges = (Predicate(frozenset({0, 1}), 0.001), Predicate(frozenset({1, 2}), 0.5))
    model = Model(JoinGraph(inputs, edges), Costs(1e-6, 1e-6, 1e-6), free=frozenset({0b111}))
    trees = [tree_of(shape) for shape in brute.binary_trees(range(3))]
    assert find_bjtree(model).cpu == min(model.of(tree).cpu for tree in trees)
    assert find_bjtree(model).cpu < max(model.of(tree).cpu for tree in trees)


def test_joined_sets_that_hold_next_to_nothing_have_sizes_to_divide_by() -> None:
    inputs = tuple(Input(f"s{at}", 1.0, 9.0) for at in range(9))
    conditions = [Predicate(frozenset(pair), 1e-40) for pair in combinations(range(9), 2)]
    model = Model(JoinGraph(inputs, tuple(conditions)), Costs(1e-6, 1e-6, 1e-6, compare=1e-9))
    assert remove_states(model, Limits(1e-9, 1e-9))[-1].tree.kind == "mjoin"
    assert choose(model, Limits(1e-9, 1e-9)).missing is not None
