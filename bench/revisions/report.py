"""What corrections cost, as tables of ratios and as a plot."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.revisions.aims import PLAIN_AIM, aim_of, aims, ratios, uncertainty
from bench.revisions.sides import AUTO, DOWNSTREAM, UPSTREAM

#: where Borealis' authors expect that correcting the answer begins to pay
CONJECTURE = 1_000


def show(results: Mapping[str, Any], console: Console) -> None:
    table = Table("query", title="Batches of which some rows correct others", title_justify="left")
    columns = (
        "window",
        "corrections",
        "upstream rows/s",
        "seconds a batch",
        "down ÷ up",
        "auto ÷ better",
        "aim",
        "from the first",
        "same",
    )
    for column in columns:
        table.add_column(column, justify="right")
    for found in results["cells"]:
        table.add_row(*_cells(found))
    console.print(table)
    if results["plain"]:
        title = "Plain Spark that answers anew for every correction ÷ Eddyline (processor time)"
        table = Table("query", title=title, title_justify="left")
        for column in ("history", "corrections together", "upstream", "downstream", "auto", "aim", "same"):
            table.add_column(column, justify="right")
        for found in results["plain"]:
            for together in ("1", "1000"):
                table.add_row(*_plain_cells(found, together))
        console.print(table)
    console.print(_aims(results))


def _aims(results: Mapping[str, Any]) -> Table:
    table = Table("aim", title="What issue 5 asks for", title_justify="left")
    for column in ("asked", "measured", "reached"):
        table.add_column(column, justify="right")
    said = {True: "[green]yes[/]", False: "[bold red]no[/]", None: "not measured"}
    for aim in aims(results):
        table.add_row(aim.text, aim.aim, aim.shown, said[aim.reached])
    return table


def line(found: Mapping[str, Any]) -> str:
    """A cell that was measured just now: its row of the table, before there is a table."""
    return "  ".join(_cells(found))


def _cells(found: Mapping[str, Any]) -> list[str]:
    ways = found["ways"]
    up = ways[UPSTREAM]
    right = "yes" if all(way["same"] for way in ways.values()) else "[bold red]NO[/]"
    start = [found["kind"], f"{found['size']:,}", f"{found['share']:.0%}", f"{found['rows'] / up['cpu']:,.0f}"]
    if AUTO not in ways:
        return [*start, f"{up['wall']:.2f}", "–", "–", "–", "–", right]
    walls = "/".join(f"{ways[way]['wall']:.2f}" for way in (UPSTREAM, DOWNSTREAM, AUTO))
    measured, aim = ratios(found), aim_of(found)
    ratio = statistics.median(measured)
    down = ways[DOWNSTREAM]["cpu"] / up["cpu"]
    whole = sum(ways[AUTO]["all_cpu"]) / min(sum(ways[way]["all_cpu"]) for way in (UPSTREAM, DOWNSTREAM))
    shown = f"{_coloured(ratio, ratio <= aim)} ± {uncertainty(measured):.2f} of {len(measured)}"
    return [*start, walls, f"{down:.2f}×", shown, f"≤ {aim:g}×", f"{whole:.2f}×", right]


def _plain_cells(found: Mapping[str, Any], together: str) -> list[str]:
    taken = found[together]
    cells = [found["kind"], f"{found['history']:,}", f"{int(together):,}"]
    for way in (UPSTREAM, DOWNSTREAM, AUTO):
        if way not in taken:
            cells.append("–")
            continue
        ratio = taken["plain"]["cpu"] / taken[way]["cpu"]
        cells.append(_coloured(ratio, ratio >= PLAIN_AIM))
    return [*cells, f"≥ {PLAIN_AIM:g}×", "yes" if found["same"] and found["plain_same"] else "[bold red]NO[/]"]


def _coloured(ratio: float, good: bool) -> str:
    return f"[{'green' if good else 'yellow'}]{ratio:.2f}×[/]"


def plot(results: Mapping[str, Any], path: Path) -> None:
    """Down ÷ up by window size, a line for each share: below 1 it pays to correct the answer."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    cells = [found for found in results["cells"] if DOWNSTREAM in found["ways"]]
    kinds = list(dict.fromkeys(found["kind"] for found in cells)) or ["none"]
    figure, all_axes = pyplot.subplots(1, len(kinds), figsize=(4.5 * len(kinds), 3.8), squeeze=False, sharey=True)
    for axes, kind in zip(all_axes[0], kinds, strict=True):
        for share in dict.fromkeys(found["share"] for found in cells):
            line = [found for found in cells if (found["kind"], found["share"]) == (kind, share)]
            for way, style in ((DOWNSTREAM, "-o"), (AUTO, ":x")):
                ratios = [found["ways"][way]["cpu"] / found["ways"][UPSTREAM]["cpu"] for found in line]
                axes.plot([found["size"] for found in line], ratios, style, label=f"{way}, {share:.0%}")
        axes.axhline(1, color="black", linewidth=0.8)
        axes.axvline(CONJECTURE, color="grey", linestyle="dashed", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yscale("log", base=2)  # half as much is as far from 1 as twice as much
        axes.yaxis.set_major_formatter("{x:g}×")
        axes.set_title(f"{kind}: processor time ÷ upstream", fontsize=10)
        axes.set_xlabel("tuples in a window (dashed: Borealis' conjecture)", fontsize=8)
    all_axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
