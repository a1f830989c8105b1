"""What issue 6 asks for, worked out from what was measured: processor time from the push to the last answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.tags.experiments import ALTERNATIVES, JOIN, STREET_JOIN, TAG_JOIN, TAGGER
from bench.tags.workload import GRAINS

Results = dict[str, Any]
#: the paper's overheads: of the tagger by share, of the tag-aware join by share, of the tag join at 100 %
TAGGER_AIMS = {0: 1.08, 100: 1.8}
JOIN_AIMS = {20: 1.14, 100: 1.43}
TAG_JOIN_AIM = 1.65
UNTAGGED_AIM = 1.02
OURS, OTHERS = "TICK-TAG", ("TABLE", "TUPLE", "XML")


@dataclass(frozen=True)
class Aim:
    text: str
    aim: str
    value: float | None  # None: not measured
    reached: bool | None
    shown: str


def cell_of(results: Results, experiment: str, share: int, grain: str = "tuple") -> dict[str, Any] | None:
    for found in results["cells"]:
        if (found["experiment"], found["share"], found["grain"]) == (experiment, share, grain):
            return dict(found)
    return None


def ratio(found: dict[str, Any] | None, side: str, to: str, less: str = "", to_less: str = "") -> float | None:
    """Processor time of a side ÷ that of another; of both without what others take, if these are named."""
    spent = [_cpu(found, name) if name else 0.0 for name in (side, to, less, to_less)]
    if found is None or any(each is None for each in spent):
        return None
    above, below, off, below_off = (float(each or 0.0) for each in spent)
    return (above - off) / (below - below_off) if below > below_off else None


def _cpu(found: dict[str, Any] | None, side: str) -> float | None:
    return None if found is None else found["sides"].get(side, {}).get("cpu")


def memory(found: dict[str, Any], side: str) -> float | None:
    """Bytes of the logs of the streams and of the answers."""
    told = found["sides"].get(side, {}).get("bytes")
    return None if told is None else float(told["streams"] + told["results"])


def aims(results: Results) -> list[Aim]:
    found = []
    for share, aim in TAGGER_AIMS.items():
        value = ratio(cell_of(results, TAGGER, share), "tagger", "selection")
        found.append(_below(f"tagger ÷ selection, {share} % tagged", value, aim))
    for grain in GRAINS:
        for other in OTHERS:
            found.append(_ahead(results, grain, other, "processor time", _slower))
            found.append(_ahead(results, grain, other, "memory", _larger))
    value = ratio(cell_of(results, TAG_JOIN, 100), "tag join", "without tags")
    found.append(_below("tag join, 100 % tagged ÷ no tags", value, TAG_JOIN_AIM))
    for share, aim in JOIN_AIMS.items():
        value = ratio(cell_of(results, JOIN, share), "tag-aware join", "join")
        found.append(_below(f"tag-aware join ÷ join, {share} % tagged", value, aim))
    for share, aim in JOIN_AIMS.items():  # not the paper's query, and harder
        value = ratio(cell_of(results, STREET_JOIN, share), "tag-aware join", "join")
        found.append(_below(f"the same on one street, {share} % tagged", value, aim))
    beside = [each["ratio"] for each in results["untagged"]]
    found.append(_below("a stream without tags ÷ before there were tags", max(beside, default=None), UNTAGGED_AIM))
    return found


def _slower(found: dict[str, Any], other: str) -> float | None:
    return ratio(found, OURS, other)


def _larger(found: dict[str, Any], other: str) -> float | None:
    ours, theirs = memory(found, OURS), memory(found, other)
    return ours / theirs if ours and theirs else None


def _ahead(
    results: Results, grain: str, other: str, what: str, worst: Callable[[dict[str, Any], str], float | None]
) -> Aim:
    """At all shares but 0, where there is nothing to be ahead in."""
    text = f"tick-tags ÷ {other}, {what}, a tag for each {grain}"
    cells = [each for each in results["cells"] if (each["experiment"], each["grain"]) == (ALTERNATIVES, grain)]
    values = [(value, each["share"]) for each in cells if each["share"] and (value := worst(each, other)) is not None]
    if not values:
        return Aim(text, "< 1×", None, None, "—")
    value, share = max(values)
    return Aim(text, "< 1×", value, value < 1, f"{value:.2f}× (at {share} %)")


def _below(text: str, value: float | None, aim: float) -> Aim:
    shown = "—" if value is None else f"{value:.3f}×" if aim < 1.05 else f"{value:.2f}×"
    return Aim(text, f"< {aim:g}×", value, None if value is None else value < aim, shown)
