"""What was measured, as tables and as a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.many.aims import EXPECTED, TIME, Aim, aims, out_of_time, ratio, run_of

TITLES = {
    "each": "(a) a streaming query each",
    "join": "(b) broadcast join",
    "binned": "(b') binned join",
    "flink": "(c) PyFlink",
    "eddyline": "(d) Eddyline",
    "pushed": "(d') Eddyline, pushed",
}


def show(results: dict[str, Any], console: Console) -> None:
    setting = results["setting"]
    sides = setting["sides"]
    for kind, found in results["kinds"].items():
        size = f"{setting['rows']:,} tuples, batches of {found['batch_rows']:,}"
        table = Table("queries", title=f"{kind}: tuples/s ({size})", title_justify="left")
        others = [side for side in sides if side != "eddyline" and "eddyline" in sides]
        for side in sides:
            table.add_column(TITLES[side], justify="right")
        for side in others:
            table.add_column(f"(d) ÷ {TITLES[side].split()[0]}", justify="right")
        table.add_column("answers a tuple", justify="right")
        for count in found["sizes"]:
            cells = [_rate(results, kind, side, count) for side in sides]
            cells += [_ratio(results, kind, side, count) for side in others]
            table.add_row(f"{count:,}", *cells, f"{found['answers'][str(count)] / setting['rows']:.2f}")
        console.print(table)
        console.print(_registrations(results, kind))
        console.print(_processor_times(results, kind))
        for side in sides:
            told = found["sides"][side]
            if told.get("unavailable"):
                console.print(f"{TITLES[side]}: {escape(told['unavailable'])}")
            elif (stopped := told.get("stopped")) and stopped["reason"] not in (TIME, EXPECTED):
                console.print(f"{TITLES[side]} gave up at {stopped['size']:,}: {escape(stopped['reason'])}")
    table = Table("aim", title="What issue 4 asks for", title_justify="left")
    table.add_column("wanted", justify="right")
    table.add_column("measured", justify="right")
    for aim in aims(results):
        table.add_row(aim.text, aim.aim, _coloured(aim))
    console.print(table)


def _processor_times(results: dict[str, Any], kind: str) -> Table:
    """What says more where others use the machine too."""
    setting = results["setting"]
    table = Table("queries", title=f"{kind}: processor time, µs a tuple", title_justify="left")
    for side in setting["sides"]:
        table.add_column(TITLES[side], justify="right")
    for count in results["kinds"][kind]["sizes"]:
        runs = [results["kinds"][kind]["sides"][side]["runs"].get(str(count), {}) for side in setting["sides"]]
        spent = [run.get("cpu", 0.0) / setting["rows"] * 1e6 for run in runs]
        table.add_row(f"{count:,}", *(f"{each:.3g}" if each else "—" for each in spent))
    return table


def _registrations(results: dict[str, Any], kind: str) -> Table:
    sides = results["setting"]["sides"]
    table = Table("queries", title=f"{kind}: registration", title_justify="left")
    for side in sides:
        table.add_column(TITLES[side], justify="right")
    for count in results["kinds"][kind]["sizes"]:
        cells = []
        for side in sides:
            run = run_of(results, kind, side, count)
            cells.append(f"{run['register']:,.2f} s, {run['register_mb']:,.0f} MB" if run else "—")
        table.add_row(f"{count:,}", *cells)
    return table


def _rate(results: dict[str, Any], kind: str, side: str, size: int) -> str:
    told = results["kinds"][kind]["sides"][side]
    run = run_of(results, kind, side, size)
    if run:
        wrong = "" if run["same"] else " [bold red]WRONG[/]"
        return f"{run['rate']:,.0f}{wrong}"
    if told.get("unavailable"):
        return "—"
    why = {TIME: "out of reach", EXPECTED: "hopeless"}.get(told["stopped"]["reason"], "gave up")
    return f"[dim]{why} (managed {told['reach']:,})[/]"


def _ratio(results: dict[str, Any], kind: str, side: str, size: int) -> str:
    value = ratio(results, kind, side, size)
    if value is None:
        return ""
    return f"{'> ' if value[1] else ''}{value[0]:,.2f}×"


def _coloured(aim: Aim) -> str:
    if aim.reached is None:
        return aim.shown
    return f"[{'green' if aim.reached else 'yellow'}]{aim.shown}[/]"


def plot(results: dict[str, Any], path: Path) -> bool:
    """False if matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    kinds = results["kinds"]
    figure, axes = plt.subplots(1, len(kinds), figsize=(5 * len(kinds), 4), layout="constrained", squeeze=False)
    for axis, (kind, found) in zip(axes[0], kinds.items(), strict=True):
        for side, told in found["sides"].items():
            sizes = [int(size) for size in told["runs"]]
            rates = [run["rate"] for run in told["runs"].values()]
            if told.get("unavailable"):
                continue
            (line,) = axis.plot(sizes, rates, marker="o", label=TITLES[side])
            if "stopped" in told and out_of_time(results, kind, side, told["stopped"]["size"]):
                most = results["setting"]["rows"] / results["setting"]["budget"]
                axis.plot([told["stopped"]["size"]], [most], marker="v", fillstyle="none", color=line.get_color())
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_title(kind, fontsize=10)
        axis.set_xlabel("standing queries")
        if axis.lines:
            axis.legend(fontsize=7)
    axes[0][0].set_ylabel("tuples/s (▽: stopped; all tuples ÷ budget)")
    figure.savefig(path, dpi=120)
    return True
