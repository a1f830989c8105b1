"""Which queries a batch has answered over revisions, for the log of revisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from eddyline.catalog.catalog import DOWNSTREAM, UPSTREAM
from eddyline.log.results import StageResult
from eddyline.log.revision_log import Correction
from eddyline.spark.evaluate.batch import Log
from eddyline.spark.stages import Stage
from eddyline.spark.standing import Standing

if TYPE_CHECKING:
    from eddyline.spark.added import Added
    from eddyline.spark.stretches import Stretch


Way = tuple[Standing, Sequence[Stage], "Stretch"]


def corrections(ways: Iterable[Way], added: Added, batch: int) -> list[Correction]:
    """What is remembered of queries that were answered over revisions, in what a batch commits."""
    # of thousands of queries most go along the same stretch, and most stretches have nothing revised in them
    arrived: dict[int, Mapping[str, int]] = {}  # by the logs of a stretch that has
    found = []
    for query, stages, stretch in ways:
        key = id(stretch.logs)
        if key not in arrived:
            revised = any(entry.revised for entry in stretch.entries)
            arrived[key] = {name: _arrived(log) for name, log in stretch.logs.items()} if revised else {}
        if arrived[key] or query.name in added.asked_again:
            one = _correction(query, stages, stretch, arrived[key], added, batch)
            found += [] if one is None else [one]
    return found


def _correction(
    query: Standing,
    stages: Sequence[Stage],
    stretch: Stretch,
    arrived: Mapping[str, int],
    added: Added,
    batch: int,
) -> Correction | None:
    streams = {name for stage in stages for name in stage.streams}
    revised = any(streams & entry.revised.keys() for entry in stretch.entries)
    # what was withheld before may be shown without any revision
    said = query.name in added.asked_again and bool(added.stages.get(query.name, StageResult()).segments)
    if not revised and not said:
        return None
    before, after = stretch.before, stretch.after
    return Correction(
        batch,
        query.name,
        max(before.entry, query.entry),
        after.entry,
        before.reached,
        before.closed,
        after.reached,
        {name: arrived[name] for name in streams if name in arrived},
        round(added.seconds[query.name], 6),
        added.rows_read[query.name],
        DOWNSTREAM if query.name in added.from_slices | added.by_differences else UPSTREAM,
    )


def _arrived(log: Log) -> int:
    """How many tuples a stream had before the batch."""
    fresh = {segment.path for segment in log.fresh}
    return max((segment.index[1] for segment in log.segments if segment.path not in fresh), default=0)
