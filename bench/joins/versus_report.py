"""What was measured of one join beside other systems, as a table and as a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

Results = dict[str, Any]


def show_versus(results: Results, console: Console) -> None:
    runs = results["versus"]
    table = Table("join", "tuples", title="one join beside others: tuples/s (processor seconds)", title_justify="left")
    for side in _sides(runs):
        table.add_column(side, justify="right")
    table.add_column("answers", justify="right")
    for run in runs:
        cells = []
        for one in run["sides"].values():
            failed = one.get("failed")
            cells.append(failed or f"{run['tuples'] / one['seconds']:,.0f} ({one['cpu']:.1f})")
        rows = [one["rows"] for one in run["sides"].values() if "rows" in one]
        said = f"{rows[0]:,}" if run["equal"] and rows else "DIFFERENT" if rows else "none"
        table.add_row(run["workload"], f"{run['tuples']:,}", *cells, said)
    console.print(table)


def _sides(runs: list[Results]) -> list[str]:
    return list(dict.fromkeys(side for run in runs for side in run["sides"]))


def plot_versus(results: Results, path: Path) -> bool:
    """False if matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    runs = results["versus"]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for side in _sides(runs):
        done = [(run, run["sides"][side]) for run in runs if "rows" in run["sides"].get(side, {})]
        streams = [run["streams"] for run, _ in done]
        axes[0].plot(streams, [run["tuples"] / one["seconds"] for run, one in done], "o-", label=side)
        axes[1].plot(streams, [1e6 * one["cpu"] / run["tuples"] for run, one in done], "o-", label=side)
    axes[0].set(title="a line of streams: throughput", xlabel="streams", ylabel="tuples/s", yscale="log")
    axes[1].set(title="and what it takes", xlabel="streams", ylabel="µs of processor time for a tuple", yscale="log")
    for axis in axes:
        axis.legend()
    figure.savefig(path, dpi=100)
    return True
