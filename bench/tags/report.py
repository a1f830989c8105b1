"""What was measured, as tables."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.tags.aims import OTHERS, OURS, aims, memory, ratio
from bench.tags.experiments import ALTERNATIVES, JOIN, STREET_JOIN, TAG_JOIN, TAGGER
from bench.tags.workload import GRAINS

Results = dict[str, Any]
Cell = dict[str, Any]


def show(results: Results, console: Console) -> None:
    setting = results["setting"]
    console.print(
        f"batches of {setting['rows']:,} reports, medians of {setting['batches']}; ratios are of processor time"
    )
    by_experiment = {
        name: [each for each in results["cells"] if each["experiment"] == name] for name in setting["only"]
    }
    if by_experiment.get(TAGGER):
        console.print(_overheads("1: tagger beside selection", by_experiment[TAGGER], "tagger", "selection", "intake"))
    for grain in GRAINS:
        some = [each for each in by_experiment.get(ALTERNATIVES, ()) if each["grain"] == grain]
        if some:
            console.print(_rates(f"2: ways to have tags, a tag for each {grain}: answers/s of processor time", some))
            console.print(
                _memories(f"2: memory, a tag for each {grain}: bytes a report in logs of streams + answers", some)
            )
    if results["peaks"]:
        console.print(_peaks(results["peaks"]))
    if by_experiment.get(TAG_JOIN):
        for to, what in (("without tags", "no tags"), ("by column", "a join on a column, the same pairs")):
            console.print(_overheads(f"3: tag join beside {what}", by_experiment[TAG_JOIN], "tag join", to))
    for name, what in ((JOIN, "near each other"), (STREET_JOIN, "near each other on one street")):
        if by_experiment.get(name):
            console.print(_joins(f"4: tag-aware join beside join, {what}", by_experiment[name]))
    if results["untagged"]:
        table = _table(
            "5: a stream without tags, beside the code before tags", "query", "now ÷ before", "may be off by"
        )
        for each in results["untagged"]:
            error = "—" if each["error"] is None else f"{each['error']:.1%}"
            table.add_row(each["side"], f"{each['ratio']:.3f}×", error)
        console.print(table)
    table = _table("What issue 6 asks for", "aim", "wanted", "measured", "reached")
    for aim in aims(results):
        reached = {None: "—", True: "[green]yes[/]", False: "[yellow]no[/]"}[aim.reached]
        table.add_row(aim.text, aim.aim, aim.shown, reached)
    console.print(table)


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(first, title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _overheads(title: str, some: list[Cell], side: str, to: str, less: str = "") -> Table:
    """Of a side beside another: on the whole way, and without taking the batch in, if that was measured."""
    alone = ["without intake"] if less else []
    table = _table(title, "tagged", f"{to}, s", f"{side}, s", "÷", *alone, "÷ on the clock", "same")
    for cell in some:
        row = [f"{cell['share']} %", _seconds(cell, to), _seconds(cell, side), _times(ratio(cell, side, to))]
        row += [_times(ratio(cell, side, to, less, less))] if less else []
        table.add_row(*row, _times(_clock(cell, side, to)), _same(cell))
    return table


def _joins(title: str, some: list[Cell]) -> Table:
    table = _table(
        title, "tagged", "join, s", "over tags, s", "tag-aware, s", "÷ join", "÷ over tags", "without intake", "same"
    )
    for cell in some:
        aware, plain, over = "tag-aware join", "join", "join over tags"
        table.add_row(
            f"{cell['share']} %",
            *(_seconds(cell, side) for side in (plain, over, aware)),
            _times(ratio(cell, aware, plain)),
            _times(ratio(cell, aware, over)),
            _times(ratio(cell, aware, plain, "intake of tags", "intake")),
            _same(cell),
        )
    return table


def _rates(title: str, some: list[Cell]) -> Table:
    table = _table(title, "tagged", "tags", OURS, *OTHERS, *(f"÷ {other}" for other in OTHERS), "same")
    for cell in some:
        row = [f"{cell['share']} %", f"{cell['tags']:,.0f}"]
        row += [_rate(cell, side) for side in (OURS, *OTHERS)]
        row += [_times(ratio(cell, other, OURS)) for other in OTHERS]
        table.add_row(*row, _same(cell))
    return table


def _memories(title: str, some: list[Cell]) -> Table:
    table = _table(title, "tagged", OURS, *OTHERS, *(f"÷ {other}" for other in OTHERS))
    for cell in some:
        told = {side: memory(cell, side) for side in (OURS, *OTHERS)}
        row = [f"{cell['share']} %", *(_bytes(cell, told[side]) for side in told)]
        ours = told[OURS]
        row += [_times(ours / theirs if ours and theirs else None) for theirs in (told[other] for other in OTHERS)]
        table.add_row(*row)
    return table


def _peaks(peaks: list[dict[str, Any]]) -> Table:
    table = _table("2: memory that Python processes grew by at most, MB", "a tag for each", "tagged", OURS, *OTHERS)
    for grain, share in dict.fromkeys((each["grain"], each["share"]) for each in peaks):
        told = {each["side"]: each for each in peaks if (each["grain"], each["share"]) == (grain, share)}
        cells = [f"{told[side]['grown']:,.0f}" if "grown" in told[side] else "—" for side in (OURS, *OTHERS)]
        table.add_row(grain, f"{share} %", *cells)
    return table


def _rate(cell: Cell, side: str) -> str:
    found = cell["sides"].get(side, {})
    if "cpu" not in found:
        return "—"
    # where nothing is tagged nothing is answered: what is taken in says how fast it is
    made = found["answers"] or cell["rows"]
    return f"{made / found['cpu']:,.0f}" + ("" if found["answers"] else " in")


def _bytes(cell: Cell, size: float | None) -> str:
    counted = cell["taken"]
    return "—" if size is None else f"{size / counted:.1f}"


def _seconds(cell: Cell, side: str) -> str:
    spent = cell["sides"].get(side, {}).get("cpu")
    return "—" if spent is None else f"{spent:.2f}"


def _clock(cell: Cell, side: str, to: str) -> float | None:
    walls = [cell["sides"].get(name, {}).get("wall") for name in (side, to)]
    return walls[0] / walls[1] if walls[0] and walls[1] else None


def _times(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}×"


def _same(cell: Cell) -> str:
    refused = [each["unavailable"] for each in cell["sides"].values() if "unavailable" in each]
    if refused:
        return f"[dim]{escape(refused[0])[:30]}[/]"
    return "yes" if all(each["same"] for each in cell["sides"].values()) else "[bold red]NO[/]"
