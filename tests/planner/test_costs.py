"""The paper's cost models, worked out by hand, and against formulas that share nothing with the planner."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddyline.errors import InvalidDefinition
from eddyline.planner.correlation import is_negatively_correlated, trade_of
from eddyline.planner.cost import Costs, Limits, Model, Resources
from eddyline.planner.finder import find_jtrees
from eddyline.planner.graph import THETA, Input, JoinGraph, Predicate, mask_of
from eddyline.planner.order import Prices, cost_of, exact_orders
from eddyline.planner.parts import Parts
from eddyline.planner.shapes import CLIQUE, CYCLE, LINEAR, PAIRS, STAR, made, shape_of
from eddyline.planner.tree import leaf, mjoin_of, node, tree_of

from . import brute
from .brute import laws

A, B, C, D = range(4)
COSTS = Costs(insert=2.0, purge=1.0, join=0.5)


def figure_4() -> JoinGraph:
    """The paper's figure 4 joins A, B, C and D in a line; its numbers are lost, so these are ours."""
    rates, windows = (10.0, 20.0, 5.0, 8.0), (10.0, 5.0, 40.0, 25.0)
    inputs = [
        Input.windowed(name, rate, window) for name, rate, window in zip("ABCD", rates, windows, strict=True)
    ]  # states of 100, 100, 200 and 200 tuples
    selectivities = {(A, B): 0.05, (B, C): 0.01, (C, D): 0.02}
    return made(LINEAR, inputs, lambda one, other: selectivities[one, other])


def test_an_mjoin_costs_what_equation_1_says() -> None:
    graph = figure_4()
    order = Model(graph, COSTS).node(mjoin_of(graph.all).parts).orders
    assert order[A].probes == (B, C, D)  # the order of the paper's figure
    # CPU_A = λ_A(C_i + C_d) + λ_A|S_B|σ_AB·C_j + λ_A|S_B|σ_AB|S_C|σ_BC·C_j + … |S_D|σ_CD·C_j
    steps_of_a = 100 * 0.05, 100 * 0.05 * 200 * 0.01, 100 * 0.05 * 200 * 0.01 * 200 * 0.02
    cpu_a = 10 * 3 + 10 * (5 + 10 + 40) * 0.5
    assert steps_of_a == pytest.approx((5, 10, 40)) and cpu_a == 305
    # B → C (2) → D (8) → A (40), where D finds four and A would find five
    cpu_b = 20 * 3 + 20 * (2 + 8 + 40) * 0.5
    # C → B (1) → D (4) → A (20)
    cpu_c = 5 * 3 + 5 * (1 + 4 + 20) * 0.5
    # D → C (4) → B (4) → A (20)
    cpu_d = 8 * 3 + 8 * (4 + 4 + 20) * 0.5
    used = Model(graph, COSTS).of(mjoin_of(graph.all))
    assert used.cpu == pytest.approx(cpu_a + cpu_b + cpu_c + cpu_d)
    assert used.memory == 100 + 100 + 200 + 200


def test_batches_cost_more_than_the_paper_says() -> None:
    graph = figure_4()
    costs = replace(COSTS, node=1.0, step=0.1, scan=0.01, batch=1e6, answer=0.25)
    of_paper, model = Model(graph, COSTS), Model(graph, costs)
    # (A B) is a state of two parts that probe each other, each of 100 tuples
    fixed = 1.0 + 0.1 * 2 + 0.01 * (100 + 100)
    assert model.node((0b1, 0b10)).cpu == pytest.approx(of_paper.node((0b1, 0b10)).cpu + fixed)
    # the batch is so long that the root had better join once what stands: A, B, C and D, with three joins
    root = model.node(mjoin_of(graph.all).parts)
    # of all that it joins, at least the tuples of the answer are made; these are told in any case
    made, answers = graph.rate(graph.all) * 0.5, graph.rate(graph.all) * 0.25
    assert root.anew and root.own == pytest.approx(1.0 + 0.1 * 3 + 0.01 * 600 + made + answers)
    assert root.cpu == pytest.approx(root.own + (10 + 20 + 5 + 8) * 3)
    # in short batches each of the four probes the three others
    short = Model(graph, replace(costs, batch=1e-6)).node(mjoin_of(graph.all).parts)
    assert not short.anew and short.own == pytest.approx(1.0 + 0.1 * 12 + 0.01 * 3 * 600 + answers)
    assert short.cpu == pytest.approx(of_paper.node(mjoin_of(graph.all).parts).cpu + short.own)


@laws(15)
@given(brute.graphs(least=3, most=4), brute.prices(), st.floats(0, 10), st.floats(0.01, 100))
def test_the_best_tree_is_found_also_if_batches_cost(
    graph: JoinGraph, prices: Costs, fixed: float, batch: float
) -> None:
    """What is pruned by what every tree needs at least must not be the best one."""
    costs = replace(prices, node=fixed, step=fixed / 7, scan=fixed / 50, batch=batch, answer=prices.join * 2)
    model = Model(graph, costs)
    used = [model.of(tree_of(shape)) for shape in brute.trees(range(len(graph.inputs)))]
    best = min(one.cpu for one in used)
    limits = Limits(best * (1 + 1e-9), max(one.memory for one in used))
    assert find_jtrees(model, limits)[0].cpu == pytest.approx(best)
    assert all(one.cpu >= model.least.cpu * (1 - 1e-9) for one in used)


def test_a_bjtree_costs_what_equations_4_and_5_say() -> None:
    graph = figure_4()
    tree = tree_of((((A, B), C), D))
    # λ_AB = σ_AB(λ_A|S_B| + λ_B|S_A|) = 150, |S_AB| = 500; with C: λ = 150·200·0.01 + 5·500·0.01 = 325, |S_ABC| = 1,000
    rate_ab, rate_abc = 0.05 * (10 * 100 + 20 * 100), 150 * 200 * 0.01 + 5 * 500 * 0.01
    assert graph.rate(mask_of((A, B))) == pytest.approx(rate_ab) == pytest.approx(150)
    assert graph.rate(mask_of((A, B, C))) == pytest.approx(rate_abc) == pytest.approx(325)
    assert graph.size(mask_of((A, B))) == pytest.approx(500)
    rate_all = rate_abc * 200 * 0.02 + 8 * 1000 * 0.02
    upkeep = (10 + 20 + 5 + 8 + rate_ab + rate_abc) * 3
    used = Model(graph, COSTS).of(tree)
    assert used.cpu == pytest.approx(upkeep + (rate_ab + rate_abc + rate_all) * 0.5)
    # a tuple of AB is as wide as two, one of ABC as wide as three
    assert used.memory == pytest.approx(600 + 2 * 500 + 3 * 1000)


def test_a_jtree_lies_between() -> None:
    graph = figure_4()
    used = Model(graph, COSTS).of(tree_of(((A, B), C, D)))
    upkeep = (10 + 20 + 5 + 8 + 150) * 3
    ab, c, d = 150 * (2 + 8), 5 * (4 + 20), 8 * (4 + 20)  # (AB) → C → D, C → D → (AB), D → C → (AB)
    assert used.cpu == pytest.approx(upkeep + (150 + ab + c + d) * 0.5)
    assert used.memory == pytest.approx(600 + 2 * 500)


@pytest.mark.parametrize(("rate_of_c", "pays"), [(100.0, False), (1000.0, True)])
def test_the_condition_for_negative_correlation(rate_of_c: float, pays: bool) -> None:
    """Storing AB for C pays if λ_C·|S_B|·σ_BC·C_j > λ_AB·(C_i + C_d): here if λ_C > 300."""
    inputs = [Input("A", 10, 10), Input("B", 10, 100), Input("C", rate_of_c, 1000)]
    graph = made(LINEAR, inputs, lambda one, other: 0.1 if one == A else 0.022)
    model = Model(graph, COSTS)
    tree = tree_of(((A, B), C))
    trade = trade_of(model, tree, mask_of((A, B)))
    rate_ab = 0.1 * (10 * 100 + 10 * 10)
    assert trade.upkeep == pytest.approx(rate_ab * 3)
    assert trade.recomputing == pytest.approx(rate_of_c * 100 * 0.022 * 0.5)
    assert trade.memory == pytest.approx(2 * 10 * 100 * 0.1)
    assert trade.is_negative_correlation == pays == is_negatively_correlated(model, tree)
    mjoin = model.of(mjoin_of(graph.all))
    assert (model.of(tree).cpu < mjoin.cpu) == pays and model.of(tree).memory > mjoin.memory


def test_what_is_not_stored_has_no_trade() -> None:
    with pytest.raises(InvalidDefinition, match="does not store A B"):
        trade_of(Model(figure_4(), COSTS), mjoin_of(0b1111), 0b11)


def test_a_theta_join_also_pays_for_what_it_compares() -> None:
    graph = JoinGraph((Input("A", 1, 10), Input("B", 2, 20)), (Predicate(frozenset({A, B}), 0.5, THETA),))
    costs = Costs(0, 0, 1, compare=3)
    assert Model(graph, costs).of(mjoin_of(0b11)).cpu == (1 * 20 + 2 * 10) * (0.5 * 1 + 3)


def test_a_detour_by_an_index_spares_no_comparison() -> None:
    """B comes by the key that it shares with C, too; each two of A and B have to be looked at all the same."""
    predicates = (Predicate(frozenset({A, B}), 1e-4, THETA), Predicate(frozenset({B, C}), 1 / 20))
    graph = JoinGraph((Input("A", 1, 1000), Input("B", 0, 1000), Input("C", 0, 20)), predicates)
    parts = Parts(graph, [1 << at for at in (A, B, C)])
    prices = Prices(join=1.0, compare=0.1)
    # 10^6 pairs and what is left of them; or 20,000 with all of C, of which each finds 50 of B
    assert cost_of(parts, A, (B, C), prices) == pytest.approx(1e6 * 0.1 + 100 + 100)
    assert cost_of(parts, A, (C, B), prices) == pytest.approx(2e4 * (1 + 0.1) + 1e6 * 1)
    assert exact_orders(parts, prices)[A].probes == (B, C)


@laws()
@given(brute.graphs(), brute.prices(), st.data())
def test_every_tree_costs_what_the_formulas_say(graph: JoinGraph, costs: Costs, data: st.DataObject) -> None:
    shape = data.draw(st.sampled_from(sorted(brute.trees(range(len(graph.inputs))), key=str)))
    used = Model(graph, costs).of(tree_of(shape))
    assert used.cpu == pytest.approx(brute.cpu(graph, costs, shape))
    assert used.memory == pytest.approx(brute.memory(graph, shape))


@laws()
@given(brute.graphs(), brute.prices())
def test_no_plan_needs_less_memory_than_the_mjoin(graph: JoinGraph, costs: Costs) -> None:
    least = Model(graph, costs).of(mjoin_of(graph.all)).memory
    shapes = brute.trees(range(len(graph.inputs)))
    assert all(brute.memory(graph, shape) > least * (1 - 1e-9) for shape in shapes)


def test_shapes() -> None:
    streams = [Input(name, 1, 10) for name in "ABCDE"]
    edges = {shape: len(list(pairs(5))) for shape, pairs in PAIRS.items()}
    assert edges == {LINEAR: 4, STAR: 4, CYCLE: 5, CLIQUE: 10}
    assert shape_of(made(LINEAR, streams[:2], lambda one, other: 0.5)) == LINEAR
    with_chord = JoinGraph(
        tuple(streams), (*made(CYCLE, streams, lambda one, other: 0.5).predicates, Predicate(frozenset({0, 2}), 0.1))
    )
    assert shape_of(with_chord) == "cyclic"
    three = JoinGraph(tuple(streams[:3]), (Predicate(frozenset({0, 1, 2}), 0.1),))
    assert shape_of(three) == CLIQUE and len(three.components()) == 1


def test_trees() -> None:
    tree = tree_of(((A, B), (C, D)))
    assert tree == tree_of(((D, C), (B, A))) and hash(tree) == hash(tree_of(((D, C), (B, A))))
    assert tree.kind == "bjtree" and tree.states() == [0b0011, 0b1100]
    assert tree.without(0b0011) == tree_of((A, B, (C, D))) and tree.without(0b0011).kind == "jtree"
    assert tree_of((A, B)).kind == "mjoin"  # it is both
    assert tree.replaced(0b1100, leaf(C)) == tree_of(((A, B), C)) and tree.replaced(tree.mask, leaf(C)) == leaf(C)
    assert tree_of((((A, B), C), D)).without(0b0111) == tree_of(((A, B), C, D))
    with pytest.raises(InvalidDefinition, match="once"):
        node((leaf(A), leaf(A)))
    with pytest.raises(InvalidDefinition, match="two"):
        node((leaf(A),))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Input("A", -1, 1),
        lambda: Input("A", 1, 0),
        lambda: Input("A", float("inf"), 1),
        lambda: Predicate(frozenset({0, 1}), 0.0),
        lambda: Predicate(frozenset({0, 1}), 1.5),
        lambda: Predicate(frozenset({0}), 0.5),
        lambda: Predicate(frozenset({0, 1}), 0.5, "hash"),
        lambda: JoinGraph((Input("A", 1, 1),)),
        lambda: JoinGraph((Input("A", 1, 1), Input("B", 1, 1)), (Predicate(frozenset({0, 2}), 0.5),)),
        lambda: Costs(-1, 0, 0),
        lambda: Limits(cpu=0),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidDefinition):
        wrong()  # type: ignore[operator]


def test_limits() -> None:
    limits = Limits(cpu=1.0, memory=100.0)
    assert limits.allow(Resources(1.0, 100.0)) and not limits.allow(Resources(1.01, 1.0))
    assert not limits.allow(Resources(0.1, 101.0))
    assert limits.strain(Resources(0.5, 300.0)) == 3.0 and Limits().strain(Resources(9, 9)) == 0
