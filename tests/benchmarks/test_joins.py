"""The benchmark of join planners: its joins, its limits, and what it makes of its figures."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from bench.joins.graphs import BOTH, exact_limits, random_model, setting_of, witnessed_limits
from bench.joins.planning import FINDER, PLANNERS, exponents, success
from bench.joins.run import main

from eddyline.planner.cost import Limits
from eddyline.planner.finder import find_jtrees
from eddyline.planner.shapes import CLIQUE, LINEAR, PAIRS


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
        "--planning",
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
        main([])
    assert "--planning" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--planning", "--shapes", "round"])
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
