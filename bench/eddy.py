"""The eddy beside every fixed order of the same conditions, while what they let pass flips back and forth.

    make bench-eddy    or    python -m bench.eddy [--tuples 2000000] [--repeat 2]

Three conditions on users' functions that really compute, in one process, through the same code as in a Spark task.
*in hindsight* is the best order of each phase, known beforehand. Seconds are processor time. All answers are compared.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit
from rich.console import Console
from rich.table import Table

from eddyline.algebra.types import DOUBLE
from eddyline.algebra.user_function import UserFunction
from eddyline.columnar.vectorised import vectorised
from eddyline.kernels import functions
from eddyline.kernels.costly import Called, Comparison, Costly
from eddyline.kernels.eddy.eddies import Eddies
from eddyline.kernels.eddy.eddy import Operator
from eddyline.kernels.selecting import Selection
from eddyline.kernels.task import kernel
from eddyline.log.storage import Storage

#: the shares of tuples that pass each condition, phase by phase
STEADY = [[0.1, 0.9, 0.5]]
FLIPPING = [[0.1, 0.9, 0.5], [0.9, 0.1, 0.5]]
#: rounds of computing: what a function costs
COSTS = (200, 200, 300)
#: more time than in hindsight, and than the best fixed order, that is allowed
FLIPPING_AIM, STEADY_AIM = 1.10, 1.05
LABELS = {"best": "best fixed order", "worst": "worst fixed order", "hindsight": "best in hindsight"}
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Fixed:
    """In place of an eddy: always the same order."""

    operators: tuple[Operator, ...]
    order: tuple[int, ...]

    def route(self, tuples: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
        for begin in range(0, tuples.size, 1 << 16):
            piece = tuples[begin : begin + (1 << 16)]
            for operator in self.order:
                piece = self.operators[operator](piece, False)
            yield piece


class FixedEddies(Eddies):
    def __init__(self, order: tuple[int, ...]) -> None:
        super().__init__()
        self._order = order

    def eddy(self, name: str, operators: Mapping[str, Operator]) -> Any:
        return Fixed(tuple(operators.values()), self._order)


@njit(cache=True)  # type: ignore[untyped-decorator]
def long_way(values: npt.NDArray[np.float64], rounds: int) -> npt.NDArray[np.float64]:
    """The values themselves, after some computing."""
    found = np.empty_like(values)
    for place in range(values.size):
        value = values[place]
        for _ in range(rounds):
            value = math.sqrt(value * value + 1e-30)
        found[place] = value
    return found


def costly_function(number: int, rounds: int) -> UserFunction:
    def compute(values: pa.Array) -> npt.NDArray[np.float64]:
        found: npt.NDArray[np.float64] = long_way(values.to_numpy(zero_copy_only=False), rounds)
        return found

    function = UserFunction(f"costly{number}", f"{number:064x}", (DOUBLE,), DOUBLE)
    functions._loaded[function] = vectorised(function, compute)
    return function


def conditions(costs: Sequence[int] = COSTS) -> dict[str, Costly]:
    made = {}
    for number, rounds in enumerate(costs):
        called = Called(costly_function(number, rounds), (f"v{number}",))
        made[f"c{number}"] = Costly(f"costly{number}(v{number}) < 0.5", called, Comparison("<", 0.5))
    return made


def tuples_of(rates: list[list[float]], tuples: int, phases: int) -> pa.Table:
    """Values below 0.5 as often as the rates say."""
    random = np.random.default_rng(5)
    chosen = np.array(rates)[np.arange(tuples) * phases // tuples % len(rates)]
    passes = random.random(chosen.shape) < chosen
    values = random.random(chosen.shape) / 2 + np.where(passes, 0.0, 0.5)
    columns = {f"v{number}": values[:, number] for number in range(chosen.shape[1])}
    return pa.table({"place": np.arange(tuples), **columns})


def measured(table: pa.Table, asked: Mapping[str, Costly], eddies: Eddies) -> tuple[float, pa.Array]:
    """Processor time, and what came through."""
    connection = kernel()
    connection.register("tuples", table)
    selection = Selection("leaf", "all", "SELECT * FROM tuples", asked, ("place",))
    began = time.process_time()
    parts = [part for _, part in selection.tables(connection, Storage("/nowhere"), eddies)]
    return time.process_time() - began, pa.concat_tables(parts).column("place").combine_chunks().sort()


def compare(name: str, rates: list[list[float]], tuples: int, phases: int, repeat: int) -> dict[str, Any]:
    table, asked = tuples_of(rates, tuples, phases), conditions()
    orders = list(itertools.permutations(range(len(COSTS))))
    size = tuples // phases
    measured(table, asked, Eddies())  # who comes first loads compiled code, and gets memory that others use again
    of_phase: dict[tuple[int, ...], list[list[float]]] = {order: [[] for _ in range(phases)] for order in orders}
    routed: list[float] = []
    decisions, same = 0, True
    for _ in range(repeat):
        eddies = Eddies()
        seconds, answer = measured(table, asked, eddies)
        routed.append(seconds)
        decisions = eddies.reports["all"].decisions
        for order in orders:
            parts = []
            for phase in range(phases):
                seconds, part = measured(table.slice(phase * size, size), asked, FixedEddies(order))
                of_phase[order][phase].append(seconds)
                parts.append(part)
            same = same and pa.concat_arrays(parts).sort().equals(answer)
    fixed = {order: sum(map(statistics.median, times)) for order, times in of_phase.items()}
    hindsight = sum(min(statistics.median(of_phase[order][phase]) for order in orders) for phase in range(phases))
    return {
        "name": name,
        "eddy": statistics.median(routed),
        "hindsight": hindsight,
        "best": min(fixed.values()),
        "worst": max(fixed.values()),
        "decisions": decisions,
        "same": same,
    }


def show(results: list[dict[str, Any]], console: Console) -> None:
    table = Table("tuples that pass", title="The eddy's time ÷ that of …", title_justify="left")
    for column in ("best in hindsight", "best fixed order", "worst fixed order", "aim", "decisions", "same answers"):
        table.add_column(column, justify="right")
    for found in results:
        ratios = [found["eddy"] / found[key] for key in ("hindsight", "best", "worst")]
        aim = STEADY_AIM if found["name"] == "steady" else FLIPPING_AIM
        good = "green" if ratios[0] <= aim else "red"
        table.add_row(
            found["name"],
            f"[{good}]{ratios[0]:.3f}×[/]",
            *(f"{ratio:.3f}×" for ratio in ratios[1:]),
            f"≤ {aim:g}× in hindsight",
            f"{found['decisions']:,}",
            "yes" if found["same"] else "[bold red]NO[/]",
        )
    console.print(table)


def plot(results: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.5))
    width = 0.2
    for place, key in enumerate(("hindsight", "eddy", "best", "worst")):
        label = LABELS.get(key, key)
        heights = [found[key] / found["hindsight"] for found in results]
        axes.bar([at + width * place for at in range(len(results))], heights, width, label=label)
    axes.set_xticks([at + 1.5 * width for at in range(len(results))], [found["name"] for found in results])
    axes.set_ylabel("processor time ÷ best in hindsight")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench.eddy", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--tuples", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = [
        compare("steady", STEADY, options.tuples, 1, options.repeat),
        *(compare(f"flips {phases - 1}×", FLIPPING, options.tuples, phases, options.repeat) for phases in (2, 10)),
    ]
    console = Console()
    show(results, console)
    options.out.mkdir(parents=True, exist_ok=True)
    name = options.out / f"eddy-{date.today()}"
    name.with_suffix(".json").write_text(json.dumps({"tuples": options.tuples, "results": results}, indent=1) + "\n")
    plot(results, name.with_suffix(".png"))
    console.print(f"written: {name}.json, {name}.png")
    return 0 if all(found["same"] for found in results) else 1


if __name__ == "__main__":
    sys.exit(main())
