"""The paper's figures 11 to 15, of what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.tags.aims import JOIN_AIMS, OTHERS, OURS, TAG_JOIN_AIM, TAGGER_AIMS, UNTAGGED_AIM, memory
from bench.tags.experiments import ALTERNATIVES, JOIN, TAG_JOIN, TAGGER
from bench.tags.workload import STATION, TUPLE

Results = dict[str, Any]
#: the paper's ratios are drawn as dots
PAPER = {TAGGER: TAGGER_AIMS, JOIN: JOIN_AIMS, TAG_JOIN: {100: TAG_JOIN_AIM}}


def plot(results: Results, path: Path) -> bool:
    """False if matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 4, figsize=(20, 8.5), layout="constrained")
    (top, bottom) = axes
    _costs(results, top[0], "Figure 11: tagger and selection", TAGGER, ("selection", "tagger"))
    _rates(results, top[1], "Figure 12: answers/s, a tag for each report", TUPLE)
    _sizes(results, top[2], "Figure 13: memory, a tag for each report", TUPLE)
    _costs(results, top[3], "Figure 14: tag join", TAG_JOIN, ("without tags", "by column", "tag join"))
    _costs(results, bottom[0], "Figure 15: tag-aware join and join", JOIN, ("join", "join over tags", "tag-aware join"))
    _rates(results, bottom[1], "Figure 12, a tag for all that a station hears", STATION)
    _sizes(results, bottom[2], "Figure 13, a tag for all that a station hears", STATION)
    _untagged(results, bottom[3])
    figure.savefig(path, dpi=110)
    return True


def _cells(results: Results, experiment: str, grain: str = TUPLE) -> list[dict[str, Any]]:
    return [each for each in results["cells"] if (each["experiment"], each["grain"]) == (experiment, grain)]


def _costs(results: Results, axis: Any, title: str, experiment: str, sides: tuple[str, ...]) -> None:
    cells = _cells(results, experiment)
    for side in sides:
        points = [(each["share"], each["sides"][side]["cpu"]) for each in cells if "cpu" in each["sides"].get(side, {})]
        axis.plot(*_columns(points), marker="o", label=side)
    first = [(each["share"], each["sides"].get(sides[0], {}).get("cpu")) for each in cells]
    paper = [
        (share, spent * PAPER[experiment][share]) for share, spent in first if spent and share in PAPER[experiment]
    ]
    axis.plot(
        *_columns(paper), linestyle="none", marker="_", markersize=18, color="black", label="the paper's overhead"
    )
    _finish(axis, title, "processor time of a batch, s")


def _rates(results: Results, axis: Any, title: str, grain: str) -> None:
    for side in (OURS, *OTHERS):
        points = [
            (each["share"], each["sides"][side]["answers"] / each["sides"][side]["cpu"])
            for each in _cells(results, ALTERNATIVES, grain)
            if "cpu" in each["sides"].get(side, {})
        ]
        axis.plot(*_columns(points), marker="o", label=side)
    _finish(axis, title, "answers in a second of processor time")


def _sizes(results: Results, axis: Any, title: str, grain: str) -> None:
    for side in (OURS, *OTHERS):
        points = [
            (each["share"], size / each["taken"])
            for each in _cells(results, ALTERNATIVES, grain)
            if (size := memory(each, side)) is not None
        ]
        axis.plot(*_columns(points), marker="o", label=side)
    _finish(axis, title, "bytes a report, in logs of streams and answers")


def _untagged(results: Results, axis: Any) -> None:
    some = results["untagged"]
    axis.bar([each["side"] for each in some], [each["ratio"] for each in some])
    errors = [each["error"] or 0.0 for each in some]
    axis.errorbar(range(len(some)), [each["ratio"] for each in some], yerr=errors, fmt="none", ecolor="black")
    axis.axhline(UNTAGGED_AIM, color="black", linestyle="dashed")
    axis.set_title("a stream without tags ÷ the code before tags (dashed: aim)", fontsize=10)


def _columns(points: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _finish(axis: Any, title: str, what: str) -> None:
    axis.set_title(title, fontsize=10)
    axis.set_xlabel("% tagged")
    axis.set_ylabel(what)
    axis.set_ylim(bottom=0)
    axis.legend(fontsize=8)
