"""Measure and report multi-way joins: the planners alone, estimates beside measured costs, and joins that run."""

from __future__ import annotations

import argparse
import platform
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.joins.changing import changing
from bench.joins.changing_report import plot_changing, show_changing
from bench.joins.correlation import correlation
from bench.joins.looking_up import LOOKING_UP, looking_up
from bench.joins.looking_up_report import plot_looking_up, show_looking_up
from bench.joins.planning import exponents, success, times
from bench.joins.report import plot, plot_correlation, show, show_correlation
from bench.joins.running import running
from bench.joins.running_report import plot_running, show_running
from bench.joins.versus import SIDES, SPAN, versus
from bench.joins.versus_report import plot_versus, show_versus
from bench.report import write_json
from eddyline.log.storage import Storage
from eddyline.planner.shapes import PAIRS
from eddyline.spark.join_costs import JoinCosts

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


#: what there is to measure
PLANNING, CORRELATION, RUNNING, CHANGING, VERSUS = "planning", "correlation", "running", "changing", "versus"
PARTS = (PLANNING, CORRELATION, RUNNING, CHANGING, LOOKING_UP, VERSUS)
#: whose answers are compared
COMPARED = (RUNNING, CHANGING, LOOKING_UP, VERSUS)


def words(text: str) -> list[str]:
    return text.split(",")


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.joins", description=__doc__)
    parser.add_argument("--only", type=words, default=list(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--results", type=Path, default=RESULTS)
    plans = parser.add_argument_group(PLANNING)
    plans.add_argument("--inputs", type=numbers, default=numbers("3-8,10,12,15,20,25"), help="for planning time")
    plans.add_argument("--shapes", type=words, default=list(PAIRS))
    plans.add_argument("--repeat", type=int, default=3, help="joins for each planning time")
    plans.add_argument("--budget", type=float, default=10.0, help="seconds that JTree-Finder may take for a join")
    plans.add_argument("--few", type=numbers, default=numbers("3-6"), help="inputs of joins that are searched exactly")
    plans.add_argument("--many", type=numbers, default=numbers("8,12,16,20"), help="inputs of larger joins")
    plans.add_argument("--joins", type=int, default=100, help="joins for each success rate; 0 for none")
    costs = parser.add_argument_group(CORRELATION)
    costs.add_argument("--compared", type=numbers, default=numbers("3-5"), help="inputs of the joins")
    costs.add_argument("--compared-shapes", type=words, default=["linear", "star"])
    costs.add_argument("--rates", type=numbers, default=[500, 3_000], help="tuples in a second of all inputs")
    costs.add_argument("--trees", type=int, default=4, help="for each join")
    costs.add_argument("--batches", type=int, default=10, help="of a second each; the second half counts")
    joins = parser.add_argument_group(RUNNING)
    joins.add_argument("--streams", type=numbers, default=numbers("3-5,8,12,16,20"), help="of the joins that run")
    joins.add_argument("--tuples", type=int, default=40_000, help="in a window")
    joins.add_argument("--seconds", type=int, default=10, help="batches of a second each, after one that fills windows")
    turns = parser.add_argument_group(CHANGING)
    turns.add_argument("--window", type=int, default=4_000, help="tuples in a window of the triangle")
    turns.add_argument("--before", type=int, default=10, help="seconds before the change")
    turns.add_argument("--behind", type=int, default=20, help="seconds behind it")
    table = parser.add_argument_group(LOOKING_UP)
    table.add_argument("--keys", type=int, default=1_000_000, help="of the slow table")
    table.add_argument("--calls", type=int, default=5_000, help="tuples in a push; and a five hundredth of them")
    table.add_argument("--pushes", type=int, default=20, help="two in a second")
    sides = parser.add_argument_group(VERSUS)
    sides.add_argument("--lines", type=numbers, default=[3, 5, 8, 12], help="streams of the joins")
    sides.add_argument("--rate", type=int, default=1_000, help="tuples in a second of each stream")
    sides.add_argument("--time", type=int, default=30, help=f"seconds of the streams, in batches of {SPAN}")
    sides.add_argument("--beside", type=words, default=list(SIDES), help=f"some of {', '.join(SIDES)}")
    sides.add_argument("--patience", type=float, default=180.0, help="seconds that each of these may take for a join")
    options = parser.parse_args(arguments)
    if unknown := [side for side in options.beside if side not in SIDES]:
        parser.error(f"there is no side {unknown[0]}; there are {', '.join(SIDES)}")
    if unknown := [part for part in options.only if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    if unknown := [shape for shape in (*options.shapes, *options.compared_shapes) if shape not in PAIRS]:
        parser.error(f"there is no shape {unknown[0]}; there are {', '.join(PAIRS)}")
    return options


def planned(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    with console.status("planning") as status:
        taken = times(options.shapes, options.inputs, options.repeat, options.budget, status.update)
        solved = (
            success(options.shapes, options.few, options.many, options.joins, status.update) if options.joins else {}
        )
    setting = {"repeat": options.repeat, "budget": options.budget, "joins": options.joins}
    return {"setting": setting, "times": taken, "exponents": exponents(taken), "success": solved}


def correlated(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    with console.status("correlation") as status, tempfile.TemporaryDirectory() as folder:
        return correlation(
            options.compared_shapes,
            options.compared,
            options.rates,
            options.trees,
            options.batches,
            Path(folder),
            status.update,
        )


def run_joins(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    with console.status("joins") as status, tempfile.TemporaryDirectory() as folder:
        costs = JoinCosts(Storage(folder)).costs(1.0)
        ran = running(options.streams, options.tuples, options.seconds, costs, Path(folder), status.update)
    return {"running": ran}


def changed(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    with console.status("changes") as status, tempfile.TemporaryDirectory() as folder:
        costs = JoinCosts(Storage(folder)).costs(1.0)
        say = status.update
        ran = changing(options.window, options.before, options.behind, costs, Path(folder), say)
    return {"changing": ran}


def looked_up(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    with console.status("look-ups") as status, tempfile.TemporaryDirectory() as folder:
        ran = looking_up(options.keys, options.calls, options.pushes, Path(folder), status.update)
    return {LOOKING_UP: ran}


def beside(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    number, sides, patience = max(1, options.time // SPAN), options.beside, options.patience
    with console.status("beside others") as status, tempfile.TemporaryDirectory() as folder:
        ran = versus(options.lines, options.rate, number, sides, patience, Path(folder), status.update)
    return {"versus": ran}


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_of(arguments)
    console = Console()
    wrong = False
    ways = {
        PLANNING: (planned, show, plot),
        CORRELATION: (correlated, show_correlation, plot_correlation),
        RUNNING: (run_joins, show_running, plot_running),
        CHANGING: (changed, show_changing, plot_changing),
        LOOKING_UP: (looked_up, show_looking_up, plot_looking_up),
        VERSUS: (beside, show_versus, plot_versus),
    }
    for part in options.only:
        measure, tell, draw = ways[part]
        results = {**measure(options, console), "python": platform.python_version()}
        tell(results, console)
        path = options.results / f"joins-{part.replace(' ', '-')}-{date.today().isoformat()}"
        write_json(results, path.with_suffix(".json"))
        drawn = draw(results, path.with_suffix(".png"))
        console.print(f"written to {path}.json{' and .png' if drawn else ''}")
        wrong = wrong or not all(one["equal"] for one in results.get(part, ()) if part in COMPARED)
    return int(wrong)
