"""What was measured, as tables of ratios, as JSON and as a plot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.data import JOIN

#: issue 3: times the throughput of plain Structured Streaming; times the latency of an empty foreachBatch
THROUGHPUT_AIM, JOIN_AIM, LATENCY_AIM, FLAT_AIM = 2.0, 1.0, 1.5, 1.5


def aim(kind: str) -> float:
    return JOIN_AIM if kind == JOIN else THROUGHPUT_AIM


def show(results: dict[str, Any], console: Console) -> None:
    setting = results["setting"]
    size = f"{setting['rows']:,} rows, batches of {setting['batch_rows']:,}"
    title = f"Throughput, Eddyline ÷ plain Structured Streaming ({size})"
    table = Table("query", title=title, title_justify="left")
    for name in ("in micro-batches", "with start-up", "processor time", "aim", "same answers"):
        table.add_column(name, justify="right")
    for kind, found in results["throughput"].items():
        ratio = found["ratio"]
        table.add_row(
            kind,
            _coloured(ratio["busy"], ratio["busy"] >= aim(kind)),
            f"{ratio['wall']:.2f}×",
            f"{ratio['cpu']:.2f}×",
            f"≥ {aim(kind):g}×",
            "yes" if found["same"] else "[bold red]NO[/]",
        )
    console.print(table)
    if results["latency"]:
        table = Table("one push, answered", title="Latency, Eddyline ÷ an empty foreachBatch", title_justify="left")
        for name in ("median", "90 %", "aim"):
            table.add_column(name, justify="right")
        for way, ratio in results["latency"]["ratio"].items():
            good = ratio["median"] <= LATENCY_AIM
            table.add_row(way, _coloured(ratio["median"], good), f"{ratio['p90']:.2f}×", f"≤ {LATENCY_AIM}×")
        console.print(table)
    if results["scale"]:
        sizes = results["scale"]["sizes"]
        size = f"{sizes[0]:,} (batches of {results['scale']['batch_rows']:,})"
        title = f"Cost per tuple by number of tuples, ÷ that of {size}"
        table = Table("query", title=title, title_justify="left")
        for size in sizes[1:]:
            table.add_column(f"eddyline {size:,}", justify="right")
            table.add_column(f"plain {size:,}", justify="right")
        for kind, costs in results["scale"]["costs"].items():
            cells = []
            for at in range(1, len(sizes)):
                own, other = (costs[side][at] / costs[side][0] for side in ("eddyline", "plain"))
                cells += [_coloured(own, own <= FLAT_AIM), f"{other:.2f}×"]
            table.add_row(kind, *cells)
        console.print(table)


def _coloured(ratio: float, good: bool) -> str:
    return f"[{'green' if good else 'yellow'}]{ratio:.2f}×[/]"


def write_json(results: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def plot(results: dict[str, Any], path: Path) -> bool:
    """False if matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    kinds = list(results["throughput"])
    ratios = [results["throughput"][kind]["ratio"]["busy"] for kind in kinds]
    axes[0].bar(
        kinds, ratios, color=["#2a7f62" if r >= aim(k) else "#c98b2b" for k, r in zip(kinds, ratios, strict=True)]
    )
    for at, kind in enumerate(kinds):
        axes[0].hlines(aim(kind), at - 0.4, at + 0.4, colors="black", linestyles="dashed")
    axes[0].set_title("throughput ÷ plain Structured Streaming (dashed: aim)", fontsize=10)
    axes[0].tick_params(axis="x", labelsize=8)
    if results["scale"]:
        sizes = results["scale"]["sizes"]
        for kind, costs in results["scale"]["costs"].items():
            (line,) = axes[1].plot(sizes, [c / costs["eddyline"][0] for c in costs["eddyline"]], marker="o", label=kind)
            relative = [c / costs["plain"][0] for c in costs["plain"]]
            axes[1].plot(sizes, relative, marker="x", linestyle="dotted", color=line.get_color())
        axes[1].set_xscale("log")
        axes[1].set_ylim(bottom=0)
        axes[1].legend(fontsize=8)
    axes[1].set_title("cost per tuple ÷ that of the fewest tuples (dotted: plain)", fontsize=10)
    figure.savefig(path, dpi=120)
    return True
