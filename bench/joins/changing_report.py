"""What was measured of joins in the midst of which something changes, as a table and as a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.joins.changing import BEFORE, CHOSEN, HINDSIGHT

Results = dict[str, Any]


def show_changing(results: Results, console: Console) -> None:
    table = Table("change", title="something changes while a join runs", title_justify="left")
    for name in ("recovered after", "chosen ÷ hindsight at last", "without a change ÷ hindsight", "from", "to"):
        table.add_column(name, justify="right")
    table.add_column("answers")
    for run in results["changing"]:
        said = "never" if run["recovered"] is None else f"{run['recovered']} micro-batches ({run['seconds']} s)"
        amounts = (f"{run['at last']:.2f}", f"{run['else']:.2f}")
        equal = "equal" if run["equal"] else "DIFFERENT"
        table.add_row(run["workload"], said, *amounts, run["plans"][BEFORE], run["plans"][HINDSIGHT], equal)
    console.print(table)


def plot_changing(results: Results, path: Path) -> bool:
    """False if matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    runs = results["changing"]
    figure, axes = plt.subplots(1, len(runs), figsize=(4.6 * len(runs), 3.8), squeeze=False, layout="constrained")
    styles = {BEFORE: "C0--", HINDSIGHT: "C2-", CHOSEN: "C3.-"}
    for axis, run in zip(axes[0], runs, strict=True):
        for name, style in styles.items():
            amounts = run["cpu"][name]
            axis.plot([at - run["change"] + 1 for at in range(len(amounts))], amounts, style, label=name)
        axis.axvline(0.5, color="grey", linewidth=0.8)
        axis.set(title=run["workload"], xlabel="s behind the change", ylabel="processor seconds", ylim=(0, None))
        axis.legend(fontsize=7)
    figure.savefig(path, dpi=100)
    return True
