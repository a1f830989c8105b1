"""What was measured of a stream beside a slow table, as a table and as a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.joins.looking_up import BOTH, LOOKING_UP

Results = dict[str, Any]


def show_looking_up(results: Results, console: Console) -> None:
    table = Table("load", "way", title="a skewed stream beside a slow table", title_justify="left")
    for name in ("waited", "all after", "calls", "keys", "scans", "behind the better"):
        table.add_column(name, justify="right")
    table.add_column("answers")
    for run in results[LOOKING_UP]:
        for name, way in run["ways"].items():
            seconds = (f"{way['waited']:.2f} s", f"{way['ended']:.1f} s")
            counts = (f"{way[count]:,}" for count in ("calls", "keys", "scans"))
            behind = f"{run['behind']:.2f} s" if name == BOTH else ""
            said = f"{run['tuples']:,}" if way["right"] else "WRONG"
            table.add_row(run["load"], name, *seconds, *counts, behind, said)
    console.print(table)


def plot_looking_up(results: Results, path: Path) -> bool:
    """False if matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    runs = results[LOOKING_UP]
    figure, axes = plt.subplots(1, len(runs), figsize=(5.0 * len(runs), 3.8), squeeze=False, layout="constrained")
    for axis, run in zip(axes[0], runs, strict=True):
        for name, way in run["ways"].items():
            times, numbers = zip((0.0, 0), *way["told"], strict=True)
            axis.step(times, numbers, where="post", label=name)
        axis.set(title=f"{run['load']}: {run['tuples']:,}", xlabel="s", ylabel="answered", ylim=(0, None))
        axis.legend(fontsize=7)
    figure.savefig(path, dpi=100)
    return True
