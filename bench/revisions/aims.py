"""What issue 5 asks for, worked out from what was measured."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bench.many.aims import Aim
from bench.revisions.sides import AUTO, DOWNSTREAM, UPSTREAM

#: a ratio that is so many times as far from its aim as it may typically be off is on that side of it
_CLEAR = 1.5
#: auto ÷ the better way; auto ÷ upstream where nothing is corrected; plain Spark ÷ auto
AUTO_AIM, IDLE_AIM, PLAIN_AIM = 1.10, 1.03, 100.0
ANSWERS = "all answers, those of plain Spark too, are those of the corrected input"

Results = Mapping[str, Any]


def ratios(found: Mapping[str, Any]) -> list[float]:
    """By batch, auto ÷ the way that it is measured by: the better one; where nothing is corrected, the one that keeps
    nothing. All ways take a batch within a second or two, so what else the machine does mostly cancels out."""
    ways = found["ways"]
    measure = ways[UPSTREAM]
    if found["share"]:
        measure = min(measure, ways[DOWNSTREAM], key=lambda way: statistics.median(way["batches"]))
    return [auto / other for auto, other in zip(ways[AUTO]["batches"], measure["batches"], strict=True)]


def uncertainty(values: Sequence[float]) -> float:
    """By how much the median of so many may typically be off; single ones that are far away do not count."""
    typical = statistics.median(values)
    spread = 1.4826 * statistics.median(abs(value - typical) for value in values)
    return 1.2533 * spread / math.sqrt(len(values))


def certain(found: Mapping[str, Any]) -> bool:
    """Whether a cell has been measured long enough to say that auto is within its aim, or that it is not."""
    measured = ratios(found)
    above = statistics.median(measured) - aim_of(found)
    return abs(above) >= _CLEAR * uncertainty(measured)


def aim_of(found: Mapping[str, Any]) -> float:
    return AUTO_AIM if found["share"] else IDLE_AIM


def aims(results: Results) -> list[Aim]:
    chosen = [found for found in results["cells"] if AUTO in found["ways"]]
    plain = [_beside_plain(found, together) for found in results["plain"] for together in ("1", "1000")]
    return [
        _worst("auto ÷ the better way, everywhere", [found for found in chosen if found["share"]]),
        _idle([found for found in chosen if not found["share"]]),
        *(plain or [Aim("plain Spark ÷ Eddyline", f"≥ {PLAIN_AIM:g}×", None, None, "—")]),
        _answers(results),
    ]


def _worst(text: str, cells: list[Mapping[str, Any]]) -> Aim:
    """An aim for every cell: the one that is furthest from it is told."""
    typical = [(statistics.median(ratios(found)), found) for found in cells]
    if not typical:
        return Aim(text, f"≤ {AUTO_AIM:g}×", None, None, "—")
    worst, found = max(typical, key=lambda pair: pair[0])
    where = f"{found['kind']}, windows of {found['size']:,}, {found['share']:.0%}"
    within = sum(ratio <= AUTO_AIM for ratio, _ in typical)
    shown = f"{within} of {len(typical)}; worst {worst:.2f}× ({where})"
    return Aim(text, f"≤ {AUTO_AIM:g}×", worst, worst <= AUTO_AIM, shown)


def _idle(cells: list[Mapping[str, Any]]) -> Aim:
    """Of all batches of all cells: three in a hundred are less than a processor's clock tells in one."""
    text = "auto ÷ upstream where nothing is corrected, all cells together"
    all_ratios = [ratio for found in cells for ratio in ratios(found)]
    if not all_ratios:
        return Aim(text, f"≤ {IDLE_AIM:g}×", None, None, "—")
    typical = statistics.median(all_ratios)
    return Aim(text, f"≤ {IDLE_AIM:g}×", typical, typical <= IDLE_AIM, f"{typical:.3f}× of {len(all_ratios)} batches")


def _beside_plain(found: Mapping[str, Any], together: str) -> Aim:
    """The way that a user gets without asking; of joins there is but one."""
    taken = found[together]
    ratio = taken["plain"]["cpu"] / taken[AUTO if AUTO in taken else UPSTREAM]["cpu"]
    text = f"plain Spark ÷ Eddyline, {found['kind']}, {found['history']:,} tuples"
    if together == "1":  # a batch with one correction is mostly a batch
        return Aim(f"{text}, one correction alone", "–", ratio, None, f"{ratio:,.1f}×")
    text = f"{text}, {int(together):,} corrections in a batch"
    return Aim(text, f"≥ {PLAIN_AIM:g}×", ratio, ratio >= PLAIN_AIM, f"{ratio:,.1f}×")


def _answers(results: Results) -> Aim:
    told = [way["same"] for found in results["cells"] for way in found["ways"].values()]
    told += [found[whose] for found in results["plain"] for whose in ("same", "plain_same")]
    return Aim(ANSWERS, "yes", None, all(told) if told else None, f"{sum(told)} of {len(told)}")
