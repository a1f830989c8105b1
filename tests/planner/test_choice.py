"""Which plan a join gets, what is missing if there is none, and how it is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddyline.planner.choice import FINDER, choose
from eddyline.planner.cost import Costs, Limits, Model
from eddyline.planner.drawing import Units, drawn, nodes_of, told
from eddyline.planner.graph import Input, JoinGraph, Predicate
from eddyline.planner.mjoin import find_mjoin
from eddyline.planner.plan import planned
from eddyline.planner.shapes import CLIQUE, LINEAR, made
from eddyline.planner.shortfall import shortfall
from eddyline.planner.tree import tree_of

from . import brute
from .brute import laws
from .test_planners import draw_limits, qualified


def figure() -> Model:
    inputs = [Input("A", 10, 100), Input("B", 20, 100), Input("C", 5, 200), Input("D", 0, 200)]
    selectivities = {(0, 1): 0.05, (1, 2): 0.01, (2, 3): 0.02}
    return Model(made(LINEAR, inputs, lambda one, other: selectivities[one, other]), Costs(2e-5, 1e-5, 1e-5))


@laws()
@given(brute.graphs(least=3), brute.prices(), st.data())
def test_the_choice_is_the_best_qualified_plan_or_there_is_none(
    graph: JoinGraph, costs: Costs, data: st.DataObject
) -> None:
    costed = brute.all_costs(graph, costs)
    limits = draw_limits(data, costed)
    fitting = qualified(costed, limits)
    choice = choose(Model(graph, costs), limits)
    assert (choice.plan is not None) == bool(fitting) and choice.certain
    if choice.plan is not None:
        assert choice.missing is None
        assert choice.plan.cpu == pytest.approx(min(cpu for cpu, _ in fitting.values()))
        return
    missing = choice.missing
    assert missing is not None
    nearest = min(max(cpu / limits.cpu, memory / limits.memory) for cpu, memory in costed.values())
    assert limits.strain(missing.nearest.used) == pytest.approx(nearest)
    assert not limits.allow(missing.nearest.used)
    _check_advice(graph, costs, limits, missing.cpu_limit, missing.memory_limit, missing.windows, missing.rates)


def _check_advice(
    graph: JoinGraph,
    costs: Costs,
    limits: Limits,
    cpu: float | None,
    memory: float | None,
    windows: float | None,
    rates: float | None,
) -> None:
    """Everything that would help does, and a little less of a limit would not."""
    if cpu is not None:
        assert choose(Model(graph, costs), Limits(cpu, limits.memory)).plan is not None
        assert choose(Model(graph, costs), Limits(cpu * 0.999, limits.memory)).plan is None
    else:
        assert choose(Model(graph, costs), Limits(memory=limits.memory)).plan is None
    if memory is not None:
        assert choose(Model(graph, costs), Limits(limits.cpu, memory)).plan is not None
        assert choose(Model(graph, costs), Limits(limits.cpu, memory * 0.999)).plan is None
    else:
        assert choose(Model(graph, costs), Limits(cpu=limits.cpu)).plan is None
    if windows is not None:
        assert choose(Model(graph.scaled(windows=windows), costs), limits).plan is not None
    if rates is not None:
        assert choose(Model(graph.scaled(rates=rates), costs), limits).plan is not None


def test_many_inputs() -> None:
    inputs = [Input(f"S{at}", 1.0, 10.0) for at in range(12)]
    model = Model(made(CLIQUE, inputs, lambda one, other: 0.6), Costs(1e-5, 1e-5, 1e-5))
    mjoin = find_mjoin(model)
    roomy = choose(model, Limits())
    assert roomy.plan is not None and roomy.plan.cpu <= mjoin.cpu and roomy.certain
    tight = choose(model, Limits(memory=mjoin.memory))
    assert tight.plan == mjoin and tight.others == ()
    small = choose(model, Limits(memory=mjoin.memory / 2))
    assert small.plan is None and small.certain and small.missing is not None
    assert small.missing.nearest == mjoin
    assert small.missing.windows == pytest.approx(0.5) and small.missing.rates == pytest.approx(0.5)
    assert small.missing.memory_limit == pytest.approx(mjoin.memory) and small.missing.cpu_limit is None


def test_fewer_tuples_do_not_shrink_windows_of_rows() -> None:
    counted, timed = Input("A", 10, 100, counted=True), Input("B", 10, 100)
    graph = made(LINEAR, [counted, timed], lambda one, other: 0.1).scaled(rates=0.5, windows=0.1)
    assert [(one.rate, one.size) for one in graph.inputs] == [(5, 10), (5, 5)]


def test_tables_alone_may_be_too_much() -> None:
    graph = made(LINEAR, [Input("A", 1, 1), Input("T", 0, 1000)], lambda one, other: 0.1)
    missing = choose(Model(graph, Costs(1, 1, 1)), Limits(cpu=0.001, memory=10)).missing
    assert missing is not None
    assert (missing.cpu_limit, missing.memory_limit, missing.windows, missing.rates) == (None, None, None, None)
    limits = Limits(cpu=0.001, memory=10)
    text = told(Model(graph, Costs(1, 1, 1)), choose(Model(graph, Costs(1, 1, 1)), limits), limits)
    assert text[-1] == "no single change would do: both limits are too low"


def test_a_tree_is_drawn() -> None:
    model = figure()
    assert drawn(model, planned(model, tree_of(((0, 1), 2, 3)))) == [
        "           tuples/s  state  memory      cpu  probes",
        "⋈ A B C D     1,300",
        "├─ ⋈ A B        150    500   1,000   0.0195  C → D",
        "│  ├─ A          10    100     100   0.0008  B",
        "│  └─ B          20    100     100   0.0016  A",
        "├─ C              5    200     200  0.00135  D → (A B)",
        "└─ D              0    200     200        0",
    ]


def test_the_lines_of_a_drawing_add_up() -> None:
    model = figure()
    plan = planned(model, tree_of(((0, 1), (2, 3))))
    exact = Units(cpu=repr, memory=repr)
    lines = [line.split() for line in drawn(model, plan, exact)[2:]]
    numbers = [[float(word) for word in line if word[0].isdigit()] for line in lines]
    assert sum(line[2] for line in numbers) == pytest.approx(plan.memory)
    assert sum(line[3] for line in numbers) == pytest.approx(plan.cpu)


@laws()
@given(brute.graphs(least=3, most=4), brute.batch_prices(), st.data())
def test_the_shares_of_a_drawing_add_up(graph: JoinGraph, costs: Costs, data: st.DataObject) -> None:
    """Whatever batches cost and others keep, and whether the root joins all that stands or each child probes."""
    shape = data.draw(st.sampled_from(sorted(brute.trees(range(len(graph.inputs))), key=str)))
    free = data.draw(st.frozensets(st.integers(1, graph.all), max_size=2))
    model = Model(graph, costs, free=free)
    plan = planned(model, tree_of(shape))
    root = nodes_of(model, plan)
    wholes = plan.cpu, plan.memory
    for amounts, whole in zip(zip(*(one.shares for one in root.walk()), strict=True), wholes, strict=True):
        assert sum(amounts) == pytest.approx(1.0 if whole else 0.0)
    made = {" ".join(sorted(graph.names(one.mask))) for one in (*model.kept(plan.tree), plan.tree)}
    assert {" ".join(sorted(one.name.removeprefix("⋈ "))) for one in root.walk()} == made, "nothing that others make"
    anew = model.node(tree_of(shape).parts).anew
    assert root.probes == (("all that stands, once in a batch",) if anew else ())
    assert not anew or not any(child.probes for child in root.children), "none of them probes the others"


def test_a_choice_is_told() -> None:
    model = figure()
    limits = Limits(cpu=0.018, memory=2500)
    choice = choose(model, limits)
    assert choice.by == FINDER
    lines = told(model, choice, limits)
    assert lines[0] == "jtree, by JTree-Finder: 0.0165 of 0.018 cpu, 2,200 of 2,500 memory"
    assert lines[-2:] == [
        "not A ⋈ B ⋈ C ⋈ D (mjoin, by mjoin): it fits, but needs more of the processor: "
        "0.0178 of 0.018 cpu, 600 of 2,500 memory",
        "not (A ⋈ B) ⋈ (C ⋈ D) (bjtree, by bjtree): 0.0209 cpu is 0.00285 (16 %) above the limit, "
        "3,200 memory is 700 (28 %) above the limit",
    ]


def test_what_is_missing_is_told() -> None:
    model = figure()
    mjoin = find_mjoin(model)
    limits = Limits(cpu=mjoin.cpu / 2, memory=mjoin.memory)
    missing = shortfall(model, limits, [mjoin])
    assert (missing.nearest, missing.cpu_limit, missing.memory_limit) == (mjoin, mjoin.cpu, None)
    lines = told(model, choose(model, limits), limits)
    assert lines[:2] == ["no join tree fits", "nearest: mjoin, 0.0178 cpu is 2.0 times the limit"]
    far = told(model, choose(model, Limits(1e-6, mjoin.memory)), Limits(1e-6, mjoin.memory))
    assert far[1].endswith(" times the limit") and "e+" not in far[1]
    assert "every join tree needs at least 0.0141 cpu and 600 memory" in lines
    assert "a join tree fits with cpu_limit = 0.0178" in lines
    assert "a join tree fits with windows of 66% of their length" in lines


def test_of_many_inputs_a_plan_that_needs_less_is_taken_although_the_mjoin_fits() -> None:
    """A hot stream beside pairs that it would join anew with each of its tuples."""
    inputs = [Input.windowed("S0", 10_000, 1), *(Input.windowed(f"S{at}", 1, 1_000) for at in range(1, 8))]
    pairs = [(0, 1, 1e-3), *((at, at + 1, 2e-3) for at in range(1, 7))]
    graph = JoinGraph(tuple(inputs), tuple(Predicate(frozenset({a, b}), part) for a, b, part in pairs))
    model = Model(graph, Costs(1e-7, 1e-8, 1e-6))
    mjoin = find_mjoin(model)
    plan = choose(model, Limits(2 * mjoin.cpu, 1e9)).plan
    assert plan is not None and plan.cpu < 0.9 * mjoin.cpu and plan.memory <= 1e9
    assert choose(model, Limits(2 * mjoin.cpu, mjoin.memory)).plan == mjoin
