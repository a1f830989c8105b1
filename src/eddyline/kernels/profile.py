"""What each operator of the kernel did in a task, for EXPLAIN ANALYZE."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from eddyline.kernels.eddy.eddies import Eddies
from eddyline.kernels.leaves import Leaves
from eddyline.kernels.task import Reference, Work, bound, done, filled, kernel
from eddyline.log.linked import linked

#: they are there because somebody is looking
_WRAPPERS = ("RESULT_COLLECTOR", "EXPLAIN_ANALYZE")
_LEFT_OUT = ("Estimated Cardinality", "Table Index", "Execution Mode", "Order Mode")


@dataclass(frozen=True)
class Measured:
    """One operator."""

    text: str
    depth: int
    rows: int
    seconds: float
    size: int  # bytes that it gave


@dataclass(frozen=True)
class Profile:
    """A work that was done, and how."""

    references: tuple[Reference, ...]
    operators: tuple[Measured, ...]
    memory: int  # bytes, at most at once


def profiled(works: Iterable[Work]) -> Iterator[Profile]:
    """What Spark calls in a task. The kernel tells about a statement if it throws its rows away, so it runs twice."""
    for work in works:
        references = tuple(done([work]))
        if any(reference.refused or reference.failed or reference.doubted for reference in references):
            yield Profile(references, (), 0)
        elif work.is_taken:
            yield Profile(references, tuple(_found(work, references)), 0)
        else:
            yield _told(work, references)


def _told(work: Work, references: tuple[Reference, ...]) -> Profile:
    statement = work.statement
    if work.passed is not None and _is_passed_on(references):
        statement = work.passed.tags  # all that was asked
    if not statement:
        return Profile(references, (), 0)
    with closing(Leaves(kernel())) as leaves, bound(work, leaves) as connection:
        next(filled(work, leaves, Eddies(work.known)), None)
        ((_, text),) = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}").fetchall()
    told = json.loads(text)
    operators = tuple(measured for root in told["operator"] for measured in _operators(root, 0))
    return Profile(references, operators, told["system"]["peak_buffer_memory"])


def _found(work: Work, references: Iterable[Reference]) -> Iterator[Measured]:
    """What is found before any statement runs, where that is the answer: all of the work is the filter's."""
    segments = [reference.segment for reference in references if reference.segment is not None]
    rows, size = sum(segment.rows for segment in segments), sum(segment.size for segment in segments)
    for text in work.found[0].described():
        yield Measured(f"GROUPED_FILTER {text}", 0, rows, sum(each.seconds for each in references), size)


def _is_passed_on(references: Iterable[Reference]) -> bool:
    return any(each.segment is not None and linked(each.segment.path) is not None for each in references)


def _operators(node: dict[str, Any], depth: int) -> Iterator[Measured]:
    below = depth
    if node["type"] not in _WRAPPERS:
        below = depth + 1
        yield Measured(
            _text(node), depth, node["intermediate_rows"], node["timing"], node.get("intermediate_size_bytes", 0)
        )
    for child in node.get("children", ()):
        yield from _operators(child, below)


def _text(node: dict[str, Any]) -> str:
    told = [
        f"{key}: {', '.join(value) if isinstance(value, list) else value}"
        for key, value in node["extra_info"].items()
        if key not in _LEFT_OUT and value
    ]
    return f"{node['type']} {'; '.join(told)}".replace("\n", " ").strip()
