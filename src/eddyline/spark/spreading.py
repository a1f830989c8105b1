"""How the work of a stage is spread over tasks, and how much of it one task takes in the kernel.

What is answered tuple by tuple, or only added up, is cut by the segments that are new. Windows at regular ticks are cut
by their ticks: each is answered by itself, and its tick says its number. So a correction that touches much of a long
history is work for all cores, and for each task no more than it should have in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from eddyline.algebra.node import Operator
from eddyline.algebra.relational import WindowAggregation, WindowCrossProduct, WindowJoin
from eddyline.algebra.sharing import StreamMatch
from eddyline.algebra.window import HopWindow, Scan, TimeWindow
from eddyline.log.results import StageResult
from eddyline.planner.multi_join import is_by_keys, join_nodes
from eddyline.sharing import with_forms
from eddyline.spark.evaluate.batch import Batch, Log
from eddyline.spark.evaluate.desired import scope_of
from eddyline.spark.evaluate.timed import grid_of
from eddyline.spark.past import width_of, windows_of_time
from eddyline.spark.spans import Spans
from eddyline.spark.stages import LINEAR, SLICES, WINDOWS, Stage
from eddyline.spark.work import corrects_tuples

#: as many rows are worth a task of their own: to select them, or to put them together
_SELECTED_ROWS, _GROUPED_ROWS = 50_000, 250_000
#: beyond that many rows one task would take too long, or too much memory; Spark's own plans spread over all cores
MOST_ROWS = 1_000_000
#: the same where rows are put together as they are read: Spark's plan takes six times as long as a task for them
MOST_GROUPED_ROWS = 4_000_000
#: and for the stages of a join tree, which read the same rows once for each part that probes: Spark's plan, which does
#: the same, took 40 times as long; also for other joins by equal keys, which may be spilled
MOST_JOINED_ROWS = 4_000_000
#: and where each tuple is looked at by itself: a task has one segment then, which may be a large file of the user's
MOST_SELECTED_ROWS = 4_000_000
#: windows of one task hold at least so many times as many ticks as one window is wide: neighbours read the rest twice
_WIDTHS = 4


def most_rows(stage: Stage, corrects: bool = False, by_differences: bool = False) -> int:
    """How many rows one task may read for a stage; `corrects`: it looks at what it has shown, too.

    Who corrects a join `by_differences` reads as the stages of a join tree do, and joins little of it.
    """
    if stage.kind == LINEAR and not corrects:
        return MOST_SELECTED_ROWS
    if stage.joined is not None or by_differences:
        return MOST_JOINED_ROWS
    operators = list(stage.plan.walk())
    joins = any(isinstance(op, WindowCrossProduct | WindowJoin) for op in operators)
    grouped = any(isinstance(op, WindowAggregation) for op in operators) or stage.kind == SLICES
    if joins:
        return MOST_JOINED_ROWS if _is_joined_by_keys(stage.plan) else MOST_ROWS
    return MOST_GROUPED_ROWS if grouped else MOST_ROWS


def _is_joined_by_keys(plan: Operator) -> bool:
    if any(isinstance(op, WindowJoin) and op.kind != "INNER" for op in plan.walk()):
        return False
    return all(map(is_by_keys, join_nodes(plan)))


def by_segments(stage: Stage, view: Batch, had: StageResult | None) -> list[tuple[Stage, Batch]]:
    """Parts of a stage that can be told before it is known what they read.

    What indexes find can be looked at piece by piece; rows that are joined with members would come again with every
    piece, so those are another part. Where it looks at what it has shown, all of that must meet.
    """
    if stage.kind == SLICES and view.remade:  # versions of a tuple must meet, however long ago they came
        return [(stage, view)]
    if stage.kind == SLICES:  # a slice that is in several parts is added up by who reads it
        return [(stage, part) for part in _of_segments(view, _GROUPED_ROWS, adds_up=True)]
    if stage.kind != LINEAR or corrects_tuples(stage, view, had):
        return [(stage, view)]
    stages = [stage]
    match = next((op for op in stage.plan.walk() if isinstance(op, StreamMatch)), None)
    if match is not None and view.members is not None:
        in_files = [form for form in match.forms if view.members.tables[form.name].path is not None]
        others = [form for form in match.forms if form not in in_files]
        if in_files and others:
            stages = [replace(stage, plan=with_forms(stage.plan, tuple(forms))) for forms in (in_files, others)]
    return [(one, part) for one in stages for part in _of_segments(view, _SELECTED_ROWS)]


def _of_segments(view: Batch, rows_of_task: int, adds_up: bool = False) -> list[Batch]:
    """Where nothing is added up afterwards, both versions of a tuple that was revised must meet."""
    ((name, log),) = view.logs.items()
    if len(log.fresh) < 2 or (not adds_up and any(segment.minus for segment in log.fresh)):
        return [view]
    groups: list[list[int]] = [[]]
    rows = 0
    for position, segment in enumerate(log.fresh):
        if segment.only_tags:  # few look at tags by themselves, so these are no work for a task of their own
            groups[-1].append(position)
            continue
        if rows >= rows_of_task:
            groups.append([])
            rows = 0
        groups[-1].append(position)
        rows += segment.rows
    return [replace(view, logs={name: _only(log, group)}) for group in groups]


def _only(log: Log, positions: Sequence[int]) -> Log:
    return replace(log, fresh=[log.fresh[position] for position in positions])


def by_windows(stage: Stage, view: Batch, reads: int) -> list[Batch]:
    """The windows of a stage that reads so many rows, in stretches of about as many ticks; one part if it cannot be."""
    parts = -(-reads // _GROUPED_ROWS)
    leaves = windows_of_time(stage.plan) if stage.kind == WINDOWS and parts > 1 else None
    if leaves is None or not _stand_together(stage, view, leaves):
        return [view]
    places = scope_of(stage.plan, view, with_next=False).places
    ticks = sum(high - low + 1 for low, high in places)
    wide = max(width_of(leaf) for leaf in leaves)
    parts = min(parts, ticks // (_WIDTHS * wide))
    if parts < 2:
        return [view]
    return [replace(view, stretch=stretch) for stretch in _stretches(places, ticks, parts)]


def _stand_together(stage: Stage, view: Batch, leaves: Sequence[TimeWindow | HopWindow]) -> bool:
    """Whether all windows stand at the same ticks, so that none is paired with one of another tick."""
    if any(isinstance(op, Scan) and op.interval is not None for op in stage.plan.walk()):
        return False
    return len({(grid.first, grid.step) for grid in (grid_of(leaf, view) for leaf in leaves)}) == 1


def _stretches(places: Spans, ticks: int, parts: int) -> Iterator[tuple[int, int]]:
    """From where to where there are about as many of the ticks.

    >>> list(_stretches(Spans.of([(1, 10), (101, 110)]), 20, 4))
    [(1, 5), (6, 10), (11, 105), (106, 110)]
    """
    low, passed, number = places.low, 0, 1
    for first, last in places:
        while number < parts and passed + last - first + 1 >= number * ticks // parts:
            high = first + number * ticks // parts - passed - 1
            yield low, high
            low, number = high + 1, number + 1
        passed += last - first + 1
    yield low, places.high
