"""Measure and report the planners of multi-way joins; it runs in one process, without Spark."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.joins.planning import exponents, success, times
from bench.joins.report import plot, show
from bench.report import write_json
from eddyline.planner.shapes import PAIRS

RESULTS = Path(__file__).parents[1] / "results"


def numbers(text: str) -> list[int]:
    """
    >>> numbers("3-5,8")
    [3, 4, 5, 8]
    """
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.joins", description=__doc__)
    parser.add_argument("--planning", action="store_true", help="planning time and success; all there is so far")
    parser.add_argument("--inputs", type=numbers, default=numbers("3-8,10,12,15,20,25"), help="for planning time")
    parser.add_argument("--shapes", type=lambda text: text.split(","), default=list(PAIRS))
    parser.add_argument("--repeat", type=int, default=5, help="joins for each planning time")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds that JTree-Finder may take for a join")
    parser.add_argument("--few", type=numbers, default=numbers("3-6"), help="inputs of joins that are searched exactly")
    parser.add_argument("--many", type=numbers, default=numbers("8,12,16,20"), help="inputs of larger joins")
    parser.add_argument("--joins", type=int, default=200, help="joins for each success rate; 0 for none")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    if not options.planning:
        parser.error("joins do not run by these plans yet; --planning measures the planners")
    if unknown := [shape for shape in options.shapes if shape not in PAIRS]:
        parser.error(f"there is no shape {unknown[0]}; there are {', '.join(PAIRS)}")
    return options


def measured(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    with console.status("planning") as status:
        taken = times(options.shapes, options.inputs, options.repeat, options.budget, status.update)
        solved = (
            success(options.shapes, options.few, options.many, options.joins, status.update) if options.joins else {}
        )
    setting = {
        "repeat": options.repeat,
        "budget": options.budget,
        "joins": options.joins,
        "python": platform.python_version(),
    }
    return {"setting": setting, "times": taken, "exponents": exponents(taken), "success": solved}


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_of(arguments)
    console = Console()
    results = measured(options, console)
    show(results, console)
    name = f"joins-planning-{date.today().isoformat()}"
    write_json(results, options.results / f"{name}.json")
    drawn = plot(results, options.results / f"{name}.png")
    console.print(f"written to {options.results / name}.json{' and .png' if drawn else ''}")
    return 0
