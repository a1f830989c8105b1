"""Which queries a batch has answered over revisions, for the log of revisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eddyline.catalog.catalog import DOWNSTREAM, UPSTREAM
from eddyline.log.revision_log import Correction
from eddyline.spark.evaluate.batch import Log
from eddyline.spark.stages import SLICES, Stage
from eddyline.spark.standing import Standing

if TYPE_CHECKING:
    from eddyline.spark.batch_work import Added
    from eddyline.spark.stretches import Stretch


def correction(
    query: Standing, stages: Sequence[Stage], stretch: Stretch, added: Added, batch: int
) -> Correction | None:
    """What is remembered of a query along a stretch that a batch commits; None if nothing was revised there."""
    streams = {name for stage in stages for name in stage.streams}
    if not any(streams & entry.revised.keys() for entry in stretch.entries):
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
        {name: _arrived(log) for name, log in stretch.logs.items() if name in streams},
        round(added.seconds[query.name], 6),
        added.rows_read[query.name],
        DOWNSTREAM if any(stage.kind == SLICES for stage in stages) else UPSTREAM,
    )


def _arrived(log: Log) -> int:
    """How many tuples a stream had before the batch."""
    fresh = {segment.path for segment in log.fresh}
    return max((segment.index[1] for segment in log.segments if segment.path not in fresh), default=0)
