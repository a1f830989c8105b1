"""The connection points of a database: they are written down, stand on streams and queries, and can be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from eddyline.binder.connection import ShowPoints
from eddyline.catalog.connection import ConnectionPoint
from eddyline.database.statements import DROP, POINT
from eddyline.language import Statement, syntax, to_sql
from eddyline.log.segment import Segment
from eddyline.spark.evaluate.kept import slices_of
from eddyline.spark.keeping import nothing_to_connect, why_no_slices
from eddyline.spark.stages import LINEAR, LOOKUP, Stage, cut

if TYPE_CHECKING:
    from eddyline.database.core import Core

#: keeps: tuples, answers, or answers and slices, and why no slices; rows, bytes: how much that is; from, to: the ticks
#: and indexes of that; radius: how much history a correction can need that passes the point; needed_by: the query that
#: needs so much
COLUMNS = {
    "name": pa.string(),
    "on": pa.string(),
    "kind": pa.string(),
    "retains": pa.string(),
    "keeps": pa.string(),
    "rows": pa.int64(),
    "bytes": pa.int64(),
    "from_tick": pa.int64(),
    "to_tick": pa.int64(),
    "from_index": pa.int64(),
    "to_index": pa.int64(),
    "radius": pa.string(),
    "needed_by": pa.string(),
}


def connect(core: Core, point: ConnectionPoint, statement: Statement) -> None:
    with core.engine.writing:  # what is out of reach now must be so after a restart
        floor = core.engine.horizon(point.on) if point.is_stream else None
        core.remember(POINT, to_sql(statement.tree), Path.cwd(), floor=floor)
        stand(core, point, floor)
    if (reason := _why_no_slices(core, point)) is not None:
        core.warnings.append(nothing_to_connect(point, reason))


def stand(core: Core, point: ConnectionPoint, floor: int | None) -> None:
    place = point.on if point.is_stream else core.definitions.standing(point.on).record.log
    core.engine.connect(point, place, floor)


def disconnect(core: Core, point: ConnectionPoint, statement: Statement) -> None:
    tree = statement.tree
    if isinstance(tree, syntax.Drop) and tree.args["kind"] != "QUERY":  # that one is written down with its query
        core.remember(DROP, to_sql(tree), Path.cwd())
    core.engine.disconnect(point.name)


def listed(core: Core, step: ShowPoints) -> pa.Table:
    """What is held at each point."""
    rows = []
    for point, (name, on, retains, radius, needed_by) in zip(step.points, step.known, strict=True):
        kind = "stream" if point.is_stream else "query"
        rows.append((name, on, kind, retains, _keeps(core, point), *_held(_segments(core, point)), radius, needed_by))
    columns = zip(*rows, strict=True) if rows else [[]] * len(COLUMNS)
    return pa.table([pa.array(c, t) for c, t in zip(columns, COLUMNS.values(), strict=True)], list(COLUMNS))


def _keeps(core: Core, point: ConnectionPoint) -> str:
    if point.is_stream:
        return "tuples"
    reason = _why_no_slices(core, point)
    if reason is not None:
        return f"answers alone: {reason}"
    return "answers" if _answering(core, point).kind in (LINEAR, LOOKUP) else "answers and slices"


def _why_no_slices(core: Core, point: ConnectionPoint) -> str | None:
    if point.is_stream:
        return None
    return why_no_slices(_answering(core, point), core.definitions.standing(point.on).query.revisions)


def _answering(core: Core, point: ConnectionPoint) -> Stage:
    """The last stage of the query that a point is on, as if it stood alone."""
    found = core.definitions.standing(point.on)
    return cut(found.record.log, core.definitions.plan(found.query), found.query.columns)[-1]


def _segments(core: Core, point: ConnectionPoint) -> list[Segment]:
    if point.is_stream:
        return list(core.engine.journal.state(point.on).segments)
    log, stages = core.definitions.standing(point.on).record.log, core.engine.executor.results.stages
    return [segment for name in (log, slices_of(log)) if name in stages for segment in stages[name].segments]


def _held(segments: Sequence[Segment]) -> tuple[int | None, ...]:
    """Rows, bytes, and from which tick and index to which."""
    counts = sum(segment.rows for segment in segments), sum(segment.size for segment in segments)
    return *counts, *_around([s.tick for s in segments]), *_around([s.index for s in segments])


def _around(bounds: Sequence[tuple[int, int]]) -> tuple[int | None, int | None]:
    real = [(low, high) for low, high in bounds if low <= high]
    return (min(low for low, _ in real), max(high for _, high in real)) if real else (None, None)
