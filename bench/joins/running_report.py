"""What was measured of joins that run, as tables and as a plot."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.joins.running import BJTREE, MJOIN

Results = dict[str, Any]
#: of all batches, the last ones count, when the planner has had time to choose
_SETTLED = 0.5


def settled(amounts: list[float]) -> float:
    """The mean of the second half."""
    return fmean(amounts[int(len(amounts) * _SETTLED) :])


def verdict(way: Results, limits: Results) -> str:
    """Whether a way stays within limits, as it was measured once it had settled."""
    over = []
    for name in ("cpu", "memory"):
        share = settled(way[name]) / limits[name]
        if share > 1:
            over.append(f"{share:.2f}× {name}")
    return ", ".join(over) or "fits"


def show_running(results: Results, console: Console) -> None:
    for run in results["running"]:
        said = "all ways told the same" if run["equal"] else "THE WAYS TOLD DIFFERENT ANSWERS"
        table = Table("setting", title=f"{run['workload']}: {run['answers']:,} answers, {said}", title_justify="left")
        for name in ("cpu limit", "memory limit, MiB", MJOIN, BJTREE, "chosen", "by the tree"):
            table.add_column(name, justify="right")
        for setting, limits in run["limits"].items():
            ways = [verdict(run["ways"][way], limits) for way in (MJOIN, BJTREE, setting)]
            amounts = (f"{limits['cpu']:.3f}", f"{limits['memory'] / 2**20:,.1f}")
            table.add_row(setting, *amounts, *ways, run["ways"][setting]["tree"])
        console.print(table)
        for name in (MJOIN, BJTREE):
            way, estimate = run["ways"][name], run["estimates"][name]
            cpu = f"{settled(way['cpu']):.3f} cpu (estimated {estimate['cpu']:.3f})"
            memory = f"{settled(way['memory']) / 2**20:,.1f} MiB (estimated {estimate['memory'] / 2**20:,.1f})"
            console.print(f"  {name}, {way['tree']}: {cpu}, {memory}")


def output_within(way: Results, limits: Results) -> tuple[list[float], list[int]]:
    """When a way would have told how much, with no more of the processor than there is, until memory runs out.

    A batch of a second comes every second; a way that needs longer falls behind.
    """
    times: list[float] = []
    clock = 0.0
    for second, (cpu, memory) in enumerate(zip(way["cpu"], way["memory"], strict=False)):
        if memory > limits["memory"]:
            break
        clock = max(clock, float(second)) + cpu / limits["cpu"]
        times.append(clock)
    return times, list(accumulate(way["told"]))[: len(times)]


def plot_running(results: Results, path: Path) -> bool:
    """False if matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    runs = results["running"]
    across = max(len(run["limits"]) for run in runs) + 1
    figure, axes = plt.subplots(
        len(runs), across, figsize=(4.2 * across, 3.6 * len(runs)), squeeze=False, layout="constrained"
    )
    for row, run in zip(axes, runs, strict=True):
        for axis, (setting, limits) in zip(row, run["limits"].items(), strict=False):
            for name, label in ((MJOIN, MJOIN), (BJTREE, BJTREE), (setting, "chosen")):
                axis.plot(*output_within(run["ways"][name], limits), ".-", label=label)
            axis.set(title=f"{run['workload']}: {setting}", xlabel="s, with this cpu", ylabel="accumulated output")
            axis.legend(fontsize=7)
        for name in (MJOIN, BJTREE, *run["limits"]):
            row[-1].plot([amount / 2**20 for amount in run["ways"][name]["memory"]], label=name)
        row[-1].set(title=f"{run['workload']}: memory", xlabel="batch", ylabel="MiB", yscale="log")
        row[-1].legend(fontsize=7)
    figure.savefig(path, dpi=100)
    return True
