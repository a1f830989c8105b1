"""What was said about streams, for plans that read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eddyline.catalog.catalog import BoundQuery
from eddyline.log.said import is_history, stream_of

if TYPE_CHECKING:
    from eddyline.spark.engine import Engine


def keep_histories(engine: Engine, query: BoundQuery) -> None:
    """Let there be the histories that a query reads, before the moment from which it counts."""
    with engine.writing:
        for name in filter(is_history, query.leaves):
            engine.ingest.keep_history(engine.extent(stream_of(name)))
