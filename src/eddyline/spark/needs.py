"""From which tick on each log may still be asked for, derived from the plans of all standing queries.

A stream with RETAIN takes nothing before its horizon, so no window before it can change any more. What is read for the
windows that can still be due or change reaches back by the widths and slides of the plan. Whatever has no such bound
(`[UNBOUNDED]`, windows of rows, for-loops, queries that have not begun) keeps its logs whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eddyline.algebra.first_tags import FirstTags
from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.stream import StreamAcquire, StreamReceive
from eddyline.algebra.tag_matches import TagMatches
from eddyline.algebra.window import HopWindow, RangeWindow, Scan, TimeWindow
from eddyline.log.results import Results, StageResult
from eddyline.spark.numbering import unwritten
from eddyline.spark.spans import HIGH, LOW
from eddyline.spark.stages import LINEAR, LOOKUP, SLICES, STATE, WAITING, Stage, waiting_for


@dataclass(frozen=True)
class Reach:
    """A window at tick T holds ticks from T + left to T + right at most, and has a successor at T + step."""

    log: str
    left: int
    right: int
    step: int


def settled(stages: Iterable[Stage], horizons: Mapping[str, int | None], results: Results) -> dict[str, int]:
    """By stage, the tick before which its answers can never change again; stages without such a tick are left out."""
    firm = {name: LOW if tick is None else tick for name, tick in horizons.items()}
    waiting = list(stages)
    while ready := [stage for stage in waiting if all(log in firm for log in stage.streams)]:
        for stage in ready:
            waiting.remove(stage)
            firm[stage.name] = _asked(stage, firm, results)[0]
    return {name: tick for name, tick in firm.items() if tick > LOW and name not in horizons}


def cuts(stages: Iterable[Stage], horizons: Mapping[str, int | None], results: Results) -> dict[str, int]:
    """By log, the tick before which nobody can need anything; logs without such a tick are left out.

    `stages` are those of all queries, `horizons` has all given streams: None takes any tick. `results` are as old as
    what is to be cut: what came since can only need later ticks.
    """
    # by log: before this tick nothing comes or goes any more / nothing is read any more
    firm = {name: LOW if tick is None else tick for name, tick in horizons.items()}
    needed = dict(firm)
    stages = [stage for stage in stages if stage.kind not in (SLICES, STATE) or _are_kept(stage, results)]
    waiting = list(stages)
    # a query's own log is its answer, which is kept; those of its inner stages are named after it
    inner = {stage.name for stage in waiting if "/" in stage.name}
    while ready := [stage for stage in waiting if all(log in firm for log in stage.streams)]:
        for stage in ready:
            waiting.remove(stage)
            withheld = _first_withheld(stage, results)
            since, asked = _asked(stage, firm, results, withheld)
            since = firm[stage.name] = min(since, withheld)  # what is shown later is a change too
            needed[stage.name] = min(asked.pop(stage.name, since), needed.get(stage.name, since))
            for log, tick in asked.items():
                needed[log] = min(needed[log], tick)
            if stage.kind == STATE:
                # a row is at the last tick at which it lives, and who asks for older ones goes by tuples
                needed[stage.name] = _beginning(stage, results)
    for stage in waiting:  # they read what was dropped and do not run, but others' logs they name stay
        needed.update(dict.fromkeys(stage.streams, LOW))
    for stage in stages:
        if stage.counts_for_each and stage.name in results.stages:
            # how far members have counted is to be found there and nowhere else
            counted = [segment.tick[1] for segment in unwritten(results.stages[stage.name])]
            needed[stage.name] = min(needed.get(stage.name, LOW), *counted, HIGH)
    return {log: tick for log, tick in needed.items() if tick > LOW and (log in horizons or log in inner)}


def _are_kept(slices: Stage, results: Results) -> bool:
    """Slices and states that are not kept need nothing: when they are, they are made of what windows need."""
    return slices.name in results.stages and results.stages[slices.name].start is not None


def _beginning(stage: Stage, results: Results) -> int:
    start = results.stages[stage.name].start
    return LOW if start is None else start


def _first_withheld(stage: Stage, results: Results) -> int:
    """The first tick at which a correction is withheld: what it takes to show it must stay until then."""
    known = results.stages.get(stage.name)
    return min((low for low, _, _ in known.withheld), default=HIGH) if known is not None else HIGH


def _asked(stage: Stage, firm: Mapping[str, int], results: Results, withheld: int = HIGH) -> tuple[int, dict[str, int]]:
    """From which tick on the stage's answers can change, and from which on it reads each log, its own too.

    It may read from the first tick on at which a correction is `withheld`, too.
    """
    position = results.position(stage.name)
    if stage.name not in results.stages or position.past is not None:
        return LOW, dict.fromkeys((*stage.streams, stage.name), LOW)  # it may look back as far as it likes
    if stage.kind in (LINEAR, LOOKUP, WAITING):  # each tuple by itself, when it comes or is revised
        since = min((firm[log] for log in stage.streams), default=LOW)
        if stage.asked is not None:  # … or when it has waited long enough
            waiting = results.stages.get(waiting_for(stage.name), StageResult())
            since = min((since, *(segment.tick[0] for segment in waiting.segments)))
        if stage.kind == WAITING:
            return since, {stage.name: LOW}
        looks_back = (*stage.streams, stage.name) if stage.revise is not None else ()
        return since, dict.fromkeys(looks_back, min(since, withheld))
    if isinstance(stage.plan, FirstTags):  # the same, and all tags that may still be told, or have been
        tags = _log_below(stage.plan.tags)
        return firm[_log_below(stage.plan.tuples)], {tags: LOW, stage.name: LOW}
    reaches = _reaches(stage.plan)
    closed = position.closed
    if closed is None or reaches is None or any(firm[reach.log] <= LOW for reach in reaches):
        return LOW, dict.fromkeys((*stage.streams, stage.name), LOW)
    first = min(closed + 1, *(firm[reach.log] - reach.right for reach in reaches))
    read = min(first, withheld)
    # a window looks for the latest of the other side, and ISTREAM for the one before it: at most twice over all slides
    back = 2 * (sum(reach.step for reach in reaches) + sum(_intervals(stage.plan))) + 2
    asked = {stage.name: read - back}
    for reach in reaches:
        asked[reach.log] = min(asked.get(reach.log, read), read - back + reach.left)
    if stage.kind == SLICES:  # a slice is needed as long as its tuples are
        asked[stage.name] = min(asked.values())
    return first, asked


def _reaches(plan: Operator) -> Sequence[Reach] | None:
    """How far the windows over each stream reach; None if one of them has no bound."""
    found = []
    for node in plan.walk():
        if isinstance(node, TagMatches):
            found += [Reach(log, -node.reach - 2, 0, 1) for log in map(_log_below, node.inputs)]
        if not isinstance(node, WindowOp) or not any(isinstance(child, StreamOp) for child in node.inputs):
            continue
        log = _log_below(node)
        if isinstance(node, TimeWindow):
            found.append(Reach(log, node.scope.start, node.scope.end, node.pace))
        elif isinstance(node, HopWindow):
            found.append(Reach(log, -node.range, -1, node.slide))
        elif isinstance(node, RangeWindow) and node.range is not None:
            slide = node.slide or 1
            found.append(Reach(log, -node.range - 2 * slide, 0, slide))
        else:
            return None
    return found or None


def _intervals(plan: Operator) -> list[int]:
    return [op.interval for op in plan.walk() if isinstance(op, Scan) and op.interval is not None]


def _log_below(node: Operator) -> str:
    return next(op.name for op in node.walk() if isinstance(op, StreamReceive | StreamAcquire))
