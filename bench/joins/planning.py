"""How long each planner takes, how often it finds a plan where there is one, and how far that is from the best."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from bench.joins.graphs import exact_limits, random_model, setting_of, witnessed_limits
from eddyline.planner.bjtree import find_bjtree
from eddyline.planner.budget import FOR_ALL, Budget
from eddyline.planner.choice import find_plan
from eddyline.planner.cost import Limits, Model
from eddyline.planner.finder import OutOfTime, find_jtrees
from eddyline.planner.mjoin import find_mjoin
from eddyline.planner.plan import Plan
from eddyline.planner.state_exchange import exchange_states
from eddyline.planner.state_removal import remove_states
from eddyline.planner.state_selection import select_states
from eddyline.planner.two_layers import find_in_two_layers

FINDER = "JTree-Finder"
Planner = Callable[[Model, Limits], Plan | None]


def _exchanged(model: Model, limits: Limits) -> Plan | None:
    """The two layers and then, if they have found nothing, state exchange."""
    found = find_in_two_layers(model, limits)
    if found.plan is not None:
        return found.plan
    nearest = min((one.plan for one in found.considered), key=lambda plan: limits.strain(plan.used))
    return _qualified(exchange_states(model, limits, nearest)[-1], limits)


def _qualified(plan: Plan, limits: Limits) -> Plan | None:
    return plan if limits.allow(plan.used) else None


def _chosen(model: Model, limits: Limits) -> Plan | None:
    """As a join that stands alone is planned."""
    return find_plan(model.within(Budget.of_steps(FOR_ALL)), limits).plan


#: those that take polynomial time; each gives a qualified plan or none
PLANNERS: dict[str, Planner] = {
    "mjoin": lambda model, limits: _qualified(find_mjoin(model), limits),
    "bjtree": lambda model, limits: _qualified(find_bjtree(model), limits),
    "state selection": lambda model, limits: _qualified(select_states(model, limits)[-1], limits),
    "state removal": lambda model, limits: _qualified(remove_states(model, limits)[-1], limits),
    "two layers": lambda model, limits: find_in_two_layers(model, limits).plan,
    "and exchange": lambda model, limits: _exchanged(model, limits),
}
#: who is asked for a plan where one exists: these, and all of them together, as a join is planned
CHOSEN = "as chosen"
SOLVERS: dict[str, Planner] = {**PLANNERS, CHOSEN: _chosen}
#: from here on an exponent of growth is fitted: before it, exact orders of few inputs are what takes the time
GROWTH_FROM = 10


def fresh(model: Model) -> Model:
    """The same without anything that was computed before, which would make the next planner look fast."""
    return Model(model.graph.scaled(), model.costs)


def seconds(planner: Planner, model: Model, limits: Limits) -> float:
    model = fresh(model)
    began = time.process_time()
    planner(model, limits)
    return time.process_time() - began


def between_ends(model: Model) -> Limits:
    """Where neither end is qualified, so that every planner has to work."""
    mjoin, bjtree = find_mjoin(model), find_bjtree(model)
    return Limits(min(mjoin.cpu, bjtree.cpu) * 0.5, bjtree.memory)


def times(
    shapes: Iterable[str], numbers: Sequence[int], repeat: int, budget: float, tell: Callable[[str], None]
) -> Any:
    """Seconds of processor time by shape, planner and number of inputs: medians over random joins.

    The limits cannot be kept, so that planners try everything they know: it is their longest way. JTree-Finder, which
    would stop at once then, has no limits; beyond `budget` seconds for a join, larger ones are not tried.
    """
    found: dict[str, dict[str, dict[int, float]]] = {}
    for shape in shapes:
        of_shape = found[shape] = {name: {} for name in (*PLANNERS, FINDER)}
        searching = True
        for number in numbers:
            tell(f"planning time, {shape}, {number} inputs")
            models = [random_model(Random(f"{shape} {number} {at}"), number, shape) for at in range(repeat)]
            for name, planner in PLANNERS.items():
                taken = [seconds(planner, model, between_ends(model)) for model in models]
                of_shape[name][number] = statistics.median(taken)
            if searching:
                searched = _searched(models, budget)
                searching = searched is not None
                if searched is not None:
                    of_shape[FINDER][number] = searched
    return found


def _searched(models: list[Model], budget: float) -> float | None:
    taken = []
    for model in models:
        began = time.process_time()
        try:
            find_jtrees(fresh(model).within(Budget(until=time.monotonic() + budget)), Limits())
        except OutOfTime:
            return None
        taken.append(time.process_time() - began)
    return statistics.median(taken)


def exponents(found: dict[str, dict[str, dict[int, float]]]) -> dict[str, dict[str, float]]:
    """For the polynomial planners p of the line log(time) = p·log(inputs) + c that fits best."""
    return {
        shape: {name: exponent for name in PLANNERS if (exponent := _exponent(planners[name])) is not None}
        for shape, planners in found.items()
    }


def _exponent(taken: dict[int, float]) -> float | None:
    points = [(math.log(n), math.log(max(t, 1e-7))) for n, t in taken.items() if n >= GROWTH_FROM]
    if len(points) < 2:
        return None
    return statistics.linear_regression(*zip(*points, strict=True)).slope


@dataclass
class Tally:
    """Of the joins for which a plan exists: how many each planner has solved, and its plans' cpu ÷ the least."""

    joins: int = 0
    solved: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SOLVERS, 0))
    distances: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in SOLVERS})

    def add(self, model: Model, limits: Limits, least: float | None) -> None:
        self.joins += 1
        for name, planner in SOLVERS.items():
            plan = planner(model, limits)
            if plan is not None:
                self.solved[name] += 1
                if least is not None:
                    self.distances[name].append(plan.cpu / least)

    def told(self) -> dict[str, Any]:
        return {
            "joins": self.joins,
            "solved": {name: count / self.joins for name, count in self.solved.items()},
            "distance": {
                name: {"mean": statistics.fmean(values), "worst": max(values)}
                for name, values in self.distances.items()
                if values
            },
        }


def success(
    shapes: Sequence[str], few: Sequence[int], many: Sequence[int], joins: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """How often each planner finds a plan where one exists, by number of inputs and, for few, by the paper's settings.

    Of few inputs JTree-Finder knows what exists. Of many, limits are taken from a plan, so that there is at least this
    one.
    """
    by_number: dict[int, Tally] = {}
    by_setting: dict[str, Tally] = {}
    for number in few:
        tell(f"success, {number} inputs")
        for at in range(joins):
            rng = Random(f"few {number} {at}")
            model = random_model(rng, number, rng.choice(shapes))
            limits, best = exact_limits(rng, model)
            least = min(plan.cpu for plan in best if limits.allow(plan.used))
            for tally in (
                by_number.setdefault(number, Tally()),
                by_setting.setdefault(setting_of(model, limits), Tally()),
            ):
                tally.add(model, limits, least)
    for number in many:
        tell(f"success, {number} inputs")
        for at in range(joins):
            rng = Random(f"many {number} {at}")
            model = random_model(rng, number, rng.choice(shapes))
            by_number.setdefault(number, Tally()).add(model, witnessed_limits(rng, model), None)
    return {
        "inputs": {number: tally.told() for number, tally in by_number.items()},
        "settings": {name: tally.told() for name, tally in by_setting.items()},
        "few": list(few),
    }
