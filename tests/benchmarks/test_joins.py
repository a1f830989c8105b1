"""The benchmark of join planners: its joins, its limits, and what it makes of its figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from bench.joins.changing import BEFORE, CHOSEN, HINDSIGHT, changed, changes, recovered, triangle
from bench.joins.changing import run as run_change
from bench.joins.correlation import compared, random_trees, summary
from bench.joins.graphs import (
    BOTH,
    BOTH_TIGHT,
    CPU_TIGHT,
    MEMORY_TIGHT,
    exact_limits,
    random_model,
    setting_of,
    witnessed_limits,
)
from bench.joins.looking_up import LOOK_UPS, SCAN, Load, write_lines
from bench.joins.looking_up import run as run_load
from bench.joins.planning import FINDER, PLANNERS, exponents, success
from bench.joins.run import main
from bench.joins.running import graph_of, hot_stream, run, settings_of
from bench.joins.running_report import output_within, verdict
from bench.joins.workload import Change, Edge, random_workload

from eddyline.planner.choice import choose
from eddyline.planner.cost import Costs, Limits, Model
from eddyline.planner.finder import find_jtrees
from eddyline.planner.shapes import CLIQUE, LINEAR, PAIRS
from laws.without_spark import kernels_alone


@pytest.mark.parametrize("shape", PAIRS)
def test_limits_can_be_kept(shape: str) -> None:
    rng = Random(f"limits {shape}")
    for _ in range(5):
        model = random_model(rng, 4, shape)
        limits, best = exact_limits(rng, model)
        assert any(limits.allow(plan.used) for plan in best)
        assert find_jtrees(model, witnessed_limits(rng, model))
    assert setting_of(model, Limits()) == BOTH


def test_success_counts_only_what_can_be_solved() -> None:
    found = success([LINEAR, CLIQUE], [4], [9], 5, lambda text: None)
    assert found["inputs"][4]["joins"] == found["inputs"][9]["joins"] == 5
    assert sum(tally["joins"] for tally in found["settings"].values()) == 5
    for tally in found["inputs"].values():
        solved = tally["solved"]
        assert solved["two layers"] >= max(solved[name] for name in ("mjoin", "bjtree"))
        assert all(0 <= share <= 1 for share in solved.values())
    assert all(one["worst"] >= one["mean"] >= 1 - 1e-9 for one in found["inputs"][4]["distance"].values())


def test_growth_is_the_exponent() -> None:
    cubic = {number: 1e-6 * number**3 for number in (3, 10, 20, 25)}
    found = exponents({LINEAR: {**dict.fromkeys(PLANNERS, cubic), FINDER: {3: 1.0}}})
    assert found[LINEAR] == {name: pytest.approx(3) for name in PLANNERS}


def test_it_runs_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = [
        "--only",
        "planning",
        "--inputs",
        "3,10-11",
        "--shapes",
        "linear",
        "--repeat",
        "1",
        "--few",
        "3",
        "--many",
        "8",
        "--joins",
        "3",
        "--budget",
        "1",
    ]
    assert main([*few, "--results", str(tmp_path)]) == 0
    (written,) = tmp_path.glob("joins-planning-*.json")
    results = json.loads(written.read_text())
    assert set(results["times"]["linear"]["two layers"]) == {"3", "10", "11"}
    assert "3" in results["times"]["linear"][FINDER]
    assert "planning time, linear" in capsys.readouterr().out


def test_what_does_not_exist_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "dancing"])
    told = "no part dancing; there are planning, correlation, running, changing, looking up, versus"
    assert told in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--shapes", "round"])
    assert "no shape round" in capsys.readouterr().err


@pytest.mark.parametrize("at", [31, 70])
def test_state_exchange_solves_what_the_two_layers_do_not(at: int) -> None:
    """Two joins of a hundred or so over five inputs for which that is so; the benchmark counts how often it is."""
    rng = Random(f"exchange {at}")
    model = random_model(rng, 5, rng.choice(list(PAIRS)))
    limits, _ = exact_limits(rng, model)
    assert PLANNERS["two layers"](model, limits) is None
    plan = PLANNERS["and exchange"](model, limits)
    assert plan is not None and limits.allow(plan.used)


def test_trees_of_a_workload_have_no_cross_products() -> None:
    workload = random_workload(Random(1), 5, LINEAR, 100)
    trees = random_trees(Random(2), workload, 8)
    assert len(set(trees)) == 8 and trees[0].kind == "mjoin"
    for tree in trees:
        for state in tree.states():
            inputs = [at for at in range(5) if state >> at & 1]
            assert inputs == list(range(inputs[0], inputs[-1] + 1)), "a stretch of the line"


def test_tuples_are_those_of_their_ticks_and_keys() -> None:
    workload = random_workload(Random(1), 3, LINEAR, 100)
    workload = replace(workload, change=Change(3, workload.rates, (Edge(0, 1, 1), Edge(1, 2, 1))))
    whole = workload.tuples(1, 1, 5)
    assert whole.num_rows == 4 * workload.rates[1]
    parts = pa.concat_tables([workload.tuples(1, 1, 3), workload.tuples(1, 3, 5)])
    assert whole.to_pydict() == parts.to_pydict()
    after = workload.tuples(1, 3, 5)
    assert set(after["k0_1"].to_pylist()) == {0} and len(set(workload.tuples(1, 1, 3)["k0_1"].to_pylist())) > 1


def test_estimates_beside_measured_costs(tmp_path: Path) -> None:
    workload = random_workload(Random(3), 3, LINEAR, 200)
    with kernels_alone():
        plans = compared(workload, tmp_path, 3, 6, 1, 2, Random(1))
    assert len({plan.tree for plan in plans}) == 3
    assert all(plan.cpu > 0 and plan.measured_cpu > 0 and plan.memory > 0 for plan in plans)
    mjoin = plans[0]
    assert all(other.measured_memory > mjoin.measured_memory for other in plans[1:]), "they store more"
    assert set(summary(plans)["cpu"]["by join"]) == {workload.name}
    swapped = [replace(plan, memory=-plan.measured_memory) for plan in plans]
    assert summary(swapped)["memory"]["all plans"] == -1.0


COSTS = Costs(1.5e-7, 1e-9, 3e-8, 3.5e-9, 0.012, 0.0036, 5e-8, 1.0, 2e-7)


@pytest.mark.parametrize("number", [4, 6, 8, 12, 16, 20])
def test_there_are_all_four_settings(number: int) -> None:
    """By the estimates the ends qualify as the setting says, and what is to be found between them exists."""
    model = Model(graph_of(hot_stream(number, 40_000)), COSTS)
    mjoin, bjtree, settings = settings_of(model)
    found = {s.name: (s.limits.allow(mjoin.used), s.limits.allow(bjtree.used)) for s in settings}
    assert found == {
        BOTH: (True, True),
        CPU_TIGHT: (False, True),
        MEMORY_TIGHT: (True, False),
        BOTH_TIGHT: (False, False),
    }
    for setting in settings:
        assert choose(model, setting.limits).plan is not None


def test_all_ways_tell_the_same(tmp_path: Path) -> None:
    with kernels_alone():
        found = run(hot_stream(4, 400), COSTS, tmp_path, 1)
    assert found["equal"] and found["answers"] > 0
    assert all(len(way["told"]) == len(way["cpu"]) == len(way["memory"]) == 2 for way in found["ways"].values())
    assert all(sum(way["told"]) == found["answers"] for way in found["ways"].values())
    limits = {"cpu": max(found["ways"]["mjoin"]["cpu"]), "memory": 1.0}
    assert verdict(found["ways"]["mjoin"], limits).endswith("memory")
    assert output_within(found["ways"]["mjoin"], limits) == ([], [])
    roomy = {"cpu": 1e6, "memory": 1e12}
    assert verdict(found["ways"]["mjoin"], roomy) == "fits"
    assert output_within(found["ways"]["mjoin"], roomy)[1][-1] == found["answers"]


def test_a_change_in_its_midst(tmp_path: Path) -> None:
    before, behind = changes(100)[3]
    with kernels_alone():
        found = run_change(before, behind, COSTS, tmp_path, 2, 2)
    assert found["equal"] and set(found["cpu"]) == {BEFORE, HINDSIGHT, CHOSEN}
    assert all(len(cpu) == 4 for cpu in found["cpu"].values()) and len(found["trees"]) == 4


def test_what_changes_is_worth_another_plan() -> None:
    for before, behind in changes(4_000):
        trees = [choose(Model(graph_of(one), COSTS), Limits()).plan for one in (before, behind)]
        assert trees[0] is not None and trees[1] is not None
        assert trees[0].tree != trees[1].tree, before.name


def test_few_find_partners_where_keys_are_spread() -> None:
    workload = changed(triangle("", 2_000, 500, 20), triangle("", 2_000, 100), 3)
    keys = [workload.tuples(0, tick, tick + 1)["k0_1"].to_numpy() for tick in (2, 3)]
    assert [len(some) for some in keys] == [500, 100]
    assert (keys[0] < 2_000).mean() < 0.2 and keys[1].max() < 2_000
    assert workload.tuples(1, 2, 3)["k0_1"].to_numpy().max() < 2_000
    values = workload.tuples(0, 1, 5)["v"].to_pylist()
    assert len(set(values)) == len(values) == 1_200


def test_recovered_means_for_good() -> None:
    assert recovered([2, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1], [1.0] * 16) == 11
    assert recovered([2, 2, 2, 1, 1, 1, 1, 1, 9], [1.0] * 9) == 3


def test_a_slow_table_in_every_way(spark: Any, tmp_path: Path) -> None:
    """Each answers all; and what asks nobody, or scans nothing, does so."""
    lines = tmp_path / "people.jsonl"
    write_lines(50, lines)
    found = {way: run_load(Load("few", 50, 4, 2), way, lines, tmp_path / way) for way in (LOOK_UPS, SCAN)}
    assert all(way["right"] and way["told"][-1][1] == 8 and way["waited"] <= way["ended"] for way in found.values())
    assert (found[LOOK_UPS]["calls"] > 0, found[LOOK_UPS]["scans"]) == (True, 0)
    assert (found[SCAN]["calls"], found[SCAN]["scans"]) == (0, 1)
