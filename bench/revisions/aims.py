"""What issue 5 asks for, worked out from what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.many.aims import Aim
from bench.revisions.sides import AUTO, DOWNSTREAM, UPSTREAM

#: auto ÷ the better way; auto ÷ upstream where nothing is corrected; plain Spark ÷ auto
AUTO_AIM, IDLE_AIM, PLAIN_AIM = 1.10, 1.03, 100.0
ANSWERS = "all answers, those of plain Spark too, are those of the corrected input"

Results = Mapping[str, Any]


def better(found: Mapping[str, Any]) -> tuple[float, float]:
    """What auto is measured by: the better way; where nothing is corrected, the one that keeps nothing."""
    ways = found["ways"]
    if not found["share"]:
        return ways[UPSTREAM]["cpu"], IDLE_AIM
    return min(ways[UPSTREAM]["cpu"], ways[DOWNSTREAM]["cpu"]), AUTO_AIM


def aims(results: Results) -> list[Aim]:
    chosen = [found for found in results["cells"] if AUTO in found["ways"]]
    plain = [_beside_plain(found, together) for found in results["plain"] for together in ("1", "1000")]
    return [
        _worst("auto ÷ the better way, everywhere", [found for found in chosen if found["share"]], AUTO_AIM),
        _worst("auto ÷ upstream where nothing is corrected", [f for f in chosen if not f["share"]], IDLE_AIM),
        *(plain or [Aim("plain Spark ÷ Eddyline", f"≥ {PLAIN_AIM:g}×", None, None, "—")]),
        _answers(results),
    ]


def _worst(text: str, cells: list[Mapping[str, Any]], aim: float) -> Aim:
    """An aim for every cell: the one that is furthest from it is told."""
    ratios = [(found["ways"][AUTO]["cpu"] / better(found)[0], found) for found in cells]
    if not ratios:
        return Aim(text, f"≤ {aim:g}×", None, None, "—")
    worst, found = max(ratios, key=lambda pair: pair[0])
    where = f"{found['kind']}, windows of {found['size']:,}, {found['share']:.0%}"
    within = sum(ratio <= aim for ratio, _ in ratios)
    return Aim(text, f"≤ {aim:g}×", worst, worst <= aim, f"{within} of {len(ratios)}; worst {worst:.2f}× ({where})")


def _beside_plain(found: Mapping[str, Any], together: str) -> Aim:
    """The way that a user gets without asking; of joins there is but one."""
    taken = found[together]
    ratio = taken["plain"]["cpu"] / taken[AUTO if AUTO in taken else UPSTREAM]["cpu"]
    times = "one correction" if together == "1" else f"{int(together):,} that come together"
    text = f"plain Spark ÷ Eddyline, {found['kind']}, {found['history']:,} tuples, {times}"
    return Aim(text, f"≥ {PLAIN_AIM:g}×", ratio, ratio >= PLAIN_AIM, f"{ratio:,.1f}×")


def _answers(results: Results) -> Aim:
    told = [way["same"] for found in results["cells"] for way in found["ways"].values()]
    told += [found[whose] for found in results["plain"] for whose in ("same", "plain_same")]
    return Aim(ANSWERS, "yes", None, all(told) if told else None, f"{sum(told)} of {len(told)}")
