"""The eddy with other costs, numbers of conditions, selectivities and batches, beside the best order in hindsight.

    python -m bench.eddy_varied [--beside FOLDER] [--repeat 2]

With `--beside`, another checkout of this repository is measured too, each case right before the same one of this. Rates
are drawn at random from 0.1 to 0.9 for every phase. Seconds are processor time; all answers are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from bench.eddy import FixedEddies, conditions, measured, tuples_of
from eddyline.kernels.eddy.eddies import Eddies

#: rounds of computing that take about a microsecond
MICROSECOND = 145
#: about so many seconds of work are measured
SECONDS = 0.5


@dataclass(frozen=True)
class Case:
    microseconds: float  # of a condition, half to twice as many
    conditions: int
    phases: int
    batch: int  # tuples; 0: all in one

    def draw(self) -> tuple[list[list[float]], list[int]]:
        """The rates of each phase, and what conditions cost."""
        random = np.random.default_rng([int(10 * self.microseconds), self.conditions, self.phases])
        rates = random.uniform(0.1, 0.9, (self.phases, self.conditions))
        costs = MICROSECOND * self.microseconds * random.uniform(0.5, 2, self.conditions)
        return rates.tolist(), costs.astype(int).tolist()


def cases() -> Iterator[Case]:
    for microseconds in (0.2, 1.0, 10.0):
        for number in (2, 3, 4, 6):
            for phases in (1, 5):
                yield Case(microseconds, number, phases, 0)
    for batch in (5_000, 50_000):
        for phases in (1, 5):
            yield Case(1.0, 3, phases, batch)


def compare(case: Case) -> dict[str, Any]:
    rates, costs = case.draw()
    size = int(SECONDS / case.phases / (1.5e-6 * case.microseconds))
    table, asked = tuples_of(rates, case.phases * size, case.phases), conditions(costs)
    batch = case.batch or table.num_rows
    measured(table, asked, Eddies())  # who comes first loads compiled code, and gets memory that others use again
    eddies, routed, answers = Eddies(), 0.0, []
    for begin in range(0, table.num_rows, batch):
        seconds, answer = measured(table.slice(begin, batch), asked, eddies)
        routed += seconds
        answers.append(answer)
        learned = eddies.reports["all"].learned
        eddies = Eddies({} if learned is None else {"all": learned})
    fixed, expected = 0.0, []
    for phase in range(case.phases):
        order = tuple(sorted(range(case.conditions), key=lambda o: costs[o] / (1 - rates[phase][o])))
        for begin in range(phase * size, (phase + 1) * size, batch):
            part = table.slice(begin, min(batch, (phase + 1) * size - begin))
            seconds, answer = measured(part, asked, FixedEddies(order))
            fixed += seconds
            expected.append(answer)
    same = pa.concat_arrays(answers).sort().equals(pa.concat_arrays(expected).sort())
    return {"eddy": routed, "hindsight": fixed, "same": same}


def serve() -> None:
    """Measures the cases that are asked for, a line each."""
    for line in sys.stdin:
        print(json.dumps(compare(Case(**json.loads(line)))), flush=True)


class Checkout:
    """A process that measures the code in a folder."""

    def __init__(self, folder: Path) -> None:
        here = Path(__file__).parent.parent
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.eddy_varied", "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=here,
            env={**os.environ, "PYTHONPATH": f"{folder / 'src'}:{here}"},
        )

    def compare(self, case: Case) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(asdict(case)), file=self._process.stdin, flush=True)
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        self._process.communicate()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench.eddy_varied", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    folders = [*([options.beside] if options.beside else []), Path(__file__).parent.parent]
    checkouts = [Checkout(folder.resolve()) for folder in folders]
    table = Table("µs", "conditions", "phases", "batch", *map(str, folders), title="eddy ÷ best in hindsight")
    same = True
    for case in cases():
        found = [[checkout.compare(case) for checkout in checkouts] for _ in range(options.repeat)]
        ratios = [
            statistics.median(run["eddy"] / run["hindsight"] for run in runs) for runs in zip(*found, strict=True)
        ]
        same = same and all(run["same"] for runs in found for run in runs)
        table.add_row(*map(str, asdict(case).values()), *(f"{ratio:.3f}×" for ratio in ratios))
    for checkout in checkouts:
        checkout.close()
    Console().print(table, "all answers are the same" if same else "[bold red]answers differ[/]")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
