"""What was measured of the planners, as tables and as a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.joins.planning import FINDER, GROWTH_FROM, SOLVERS

Results = dict[str, Any]


def show(results: Results, console: Console) -> None:
    for shape, planners in results["times"].items():
        console.print(_times(shape, planners, results["exponents"].get(shape, {})))
    if results["success"]:
        title = "joins solved, of those for which a plan exists"
        console.print(_solved(f"{title} (by number of inputs)", results["success"]["inputs"], "inputs"))
        console.print(_solved(f"{title} (by setting, few inputs)", results["success"]["settings"], "setting"))
        console.print(_distances(results["success"]["inputs"]))


def _times(shape: str, planners: dict[str, dict[int, float]], exponents: dict[str, float]) -> Table:
    table = Table("inputs", title=f"planning time, {shape}, ms of processor time", title_justify="left")
    for name in planners:
        table.add_column(name, justify="right")
    for number in next(iter(planners.values())):
        cells = (f"{taken[number] * 1e3:,.1f}" if number in taken else "—" for taken in planners.values())
        table.add_row(str(number), *cells)
    if exponents:
        cells = (f"n^{exponents[name]:.1f}" if name in exponents else "" for name in planners)
        table.add_row(f"growth from {GROWTH_FROM} on", *cells)
    return table


def _solved(title: str, tallies: dict[Any, dict[str, Any]], first: str) -> Table:
    table = Table(first, "joins", title=title, title_justify="left")
    for name in SOLVERS:
        table.add_column(name, justify="right")
    for key, tally in tallies.items():
        table.add_row(str(key), str(tally["joins"]), *(f"{tally['solved'][name]:.1%}" for name in SOLVERS))
    return table


def _distances(tallies: dict[Any, dict[str, Any]]) -> Table:
    title = "cpu of the plan found ÷ the least of all qualified plans: mean (worst)"
    table = Table("inputs", title=title, title_justify="left")
    for name in SOLVERS:
        table.add_column(name, justify="right")
    for number, tally in tallies.items():
        found = tally["distance"]
        if found:
            cells = (f"{found[n]['mean']:.3f} ({found[n]['worst']:.2f})" if n in found else "—" for n in SOLVERS)
            table.add_row(str(number), *cells)
    return table


def plot(results: Results, path: Path) -> bool:
    """False if matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    shapes = list(results["times"])
    figure, axes = plt.subplots(1, len(shapes) + 1, figsize=(5 * (len(shapes) + 1), 4.5), layout="constrained")
    for axis, shape in zip(axes, shapes, strict=False):
        for name, taken in results["times"][shape].items():
            style = "k--" if name == FINDER else "-"
            axis.plot([int(n) for n in taken], [t * 1e3 for t in taken.values()], style, label=name)
        axis.set(title=f"planning time, {shape}", xlabel="inputs", ylabel="ms", yscale="log")
        axis.legend()
    success = results["success"]
    if success:
        solved = {int(number): tally["solved"] for number, tally in success["inputs"].items()}
        few = [number for number in solved if number in success["few"]]
        many = [number for number in solved if number not in success["few"]]
        for at, name in enumerate(SOLVERS):  # limits of another kind: the lines must not look like one
            axes[-1].plot(few, [100 * solved[n][name] for n in few], f"C{at}o-", label=name)
            axes[-1].plot(many, [100 * solved[n][name] for n in many], f"C{at}s:")
        title = "joins solved (dotted: limits of a known plan)"
        axes[-1].set(title=title, xlabel="inputs", ylabel="%", ylim=(0, 103))
        axes[-1].legend()
    figure.savefig(path, dpi=110)
    return True


def show_correlation(results: Results, console: Console) -> None:
    table = Table("join", "tree", title="plans: estimated and measured", title_justify="left")
    for name in ("cpu", "measured", "memory, KiB", "measured on disk"):
        table.add_column(name, justify="right")
    for plan in results["plans"]:
        memory = (f"{plan[name] / 1024:,.0f}" for name in ("memory", "measured_memory"))
        table.add_row(plan["join"], plan["tree"], f"{plan['cpu']:.4f}", f"{plan['measured_cpu']:.4f}", *memory)
    console.print(table)
    for what in ("cpu", "memory"):
        found = results[what]
        all_, median = found["all plans"], found["median of joins"]
        console.print(f"rank correlation, {what}: {all_:.3f} over all plans, {median:.3f} the median of joins")


def plot_correlation(results: Results, path: Path) -> bool:
    """False if matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    units = {"cpu": "processors", "memory": "bytes"}
    for axis, what in zip(axes, units, strict=True):
        for join in results[what]["by join"]:
            plans = [plan for plan in results["plans"] if plan["join"] == join]
            axis.plot([p[what] for p in plans], [p[f"measured_{what}"] for p in plans], "o", label=join)
        title = f"{what}: rank correlation {results[what]['all plans']:.3f}"
        axis.set(title=title, xlabel=f"estimated ({units[what]})", ylabel="measured", xscale="log", yscale="log")
    axes[1].legend(fontsize=7)
    figure.savefig(path, dpi=110)
    return True
