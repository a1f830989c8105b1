"""What issue 4 asks for, worked out from what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.many.queries import ALERTS, RANGES, SLIDING, STREAMED

#: why a side was stopped: a run took longer than it may, or would have
TIME, EXPECTED = "time", "expected"
#: in the JSON a run is found under the name of its kind, of its side and its size
Results = dict[str, Any]


@dataclass(frozen=True)
class Aim:
    text: str
    aim: str
    value: float | None  # None: not measured
    reached: bool | None
    shown: str


def run_of(results: Results, kind: str, side: str, size: int) -> dict[str, Any] | None:
    found = results["kinds"].get(kind, {}).get("sides", {}).get(side, {}).get("runs", {}).get(str(size))
    return found if found is None else dict(found)


def out_of_time(results: Results, kind: str, side: str, size: int) -> bool:
    """Tried at this very size, and longer than the budget."""
    stopped = results["kinds"].get(kind, {}).get("sides", {}).get(side, {}).get("stopped")
    return bool(stopped and stopped["size"] == size and stopped["reason"] == TIME)


def ratio(results: Results, kind: str, side: str, size: int) -> tuple[float, bool] | None:
    """Eddyline's tuples in a second ÷ those of another side.

    True: the other was stopped, nobody knows how far it was, and its ratio with registration is more than this.
    """
    ours, theirs = run_of(results, kind, "eddyline", size), run_of(results, kind, side, size)
    if ours is None:
        return None
    if theirs is not None:
        return theirs["process"] / ours["process"], False
    if out_of_time(results, kind, side, size):
        return results["setting"]["budget"] / (ours["register"] + ours["process"]), True
    return None


def aims(results: Results) -> list[Aim]:
    found = [
        _against(results, RANGES.name, "10 k selections ÷ (b), five answers a tuple", "join", 10_000, 250),
        _against(results, ALERTS.name, "10 k alerts ÷ (b), one answer in twenty tuples", "join", 10_000, 250),
    ]
    for side, letter in (("each", "a"), ("flink", "c")):
        tried = results["kinds"].get(RANGES.name, {}).get("sides", {}).get(side)
        within = run_of(results, RANGES.name, side, 10_000) is not None
        stopped = (tried or {}).get("stopped", {}).get("reason")
        known = tried is not None and not tried.get("unavailable") and (within or stopped in (TIME, EXPECTED))
        shown = f"it manages {tried['reach']:,} in {results['setting']['budget']:g} s" if known and tried else "—"
        shown += ", more is hopeless" if known and stopped == EXPECTED else ""
        found.append(
            Aim(f"10 k selections out of reach of ({letter})", "yes", None, not within if known else None, shown)
        )
    found.append(_against(results, STREAMED.name, "one selection ÷ (a), in small batches", "each", 1, 2))
    found.append(_against(results, RANGES.name, "one selection ÷ (a), in one batch", "each", 1, 2))
    found += _growth(results)
    ten, many = (_seconds(results, SLIDING.name, size) for size in (10, 10_000))
    found.append(
        _at_most("10 k sliding aggregates ÷ ten, time per tuple", many / ten if ten and many else None, 10, "×")
    )
    million = run_of(results, RANGES.name, "eddyline", 1_000_000)
    found.append(_at_most("1 M selections: seconds to register", _field(million, "register"), 120, " s"))
    found.append(_at_most("1 M selections: memory to register", _field(million, "register_mb"), 4096, " MB"))
    rate = _field(million, "rate")
    found.append(
        Aim(
            "1 M selections: tuples/s",
            "≥ 200,000",
            rate,
            None if rate is None else rate >= 200_000,
            f"{rate:,.0f}" if rate else "—",
        )
    )
    return found


def _growth(results: Results) -> list[Aim]:
    sizes = results["kinds"].get(RANGES.name, {}).get("sizes", [])
    found = []
    for size in sizes:
        few, many = (_seconds(results, RANGES.name, each) for each in (size, size * 100))
        if few and many:
            text = f"{size * 100:,} selections ÷ {size:,}, time per tuple"
            found.append(_at_most(text, many / few, 10, "×"))
    return found or [_at_most("a hundredfold more selections, time per tuple", None, 10, "×")]


def _seconds(results: Results, kind: str, size: int) -> float | None:
    return _field(run_of(results, kind, "eddyline", size), "process")


def _field(run: dict[str, Any] | None, name: str) -> float | None:
    return None if run is None else float(run[name])


def _against(results: Results, kind: str, text: str, side: str, size: int, aim: float) -> Aim:
    value = ratio(results, kind, side, size)
    if value is None:
        return Aim(text, f"≥ {aim:g}×", None, None, "—")
    times, more = value
    reached = True if times >= aim else None if more else False
    return Aim(text, f"≥ {aim:g}×", times, reached, f"{'> ' if more else ''}{times:,.1f}×")


def _at_most(text: str, value: float | None, aim: float, unit: str) -> Aim:
    shown = f"{value:,.1f}{unit}" if value is not None else "—"
    return Aim(text, f"≤ {aim:g}{unit}", value, None if value is None else value <= aim, shown)
