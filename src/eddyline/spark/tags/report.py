"""SHOW TAGS: the tags that tuples carry or may come to carry, and how many tuples there are of each.

Spark counts the tuples with the same marks; what tags are on now, the log of the stream tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, cast

import pyarrow.compute as pc

from eddyline.algebra.answer import TagLine
from eddyline.algebra.marks import MARKS, MarkText, read
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.stream import StreamReceive
from eddyline.algebra.types import STRING
from eddyline.catalog.extent import Extent
from eddyline.log.detached import DETACH, Detached, detached_by, is_conditional
from eddyline.log.journal import StreamState
from eddyline.log.segment import DIFF, SEQ, TAG
from eddyline.log.segment import MARKS as COLUMN_OF_MARKS
from eddyline.log.storage import Storage
from eddyline.spark.evaluate.batch import Log
from eddyline.spark.evaluate.tuples import tuples
from eddyline.spark.trouble import told_plainly

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from eddyline.spark.engine import Engine


def tag_lines(engine: Engine, extent: Extent) -> list[TagLine]:
    """The tags of a stream as they stand; those on most rows first."""
    with engine.writing:
        logs, state = engine.logs(), engine.journal.state(extent.name)
        active = engine.ingest.active_tags(engine.extent(extent.name))
        segments = list(state.segments)
    carried: set[int] = set()
    texts: list[tuple[frozenset[int], int]] = []
    if any(segment.marked for segment in segments):
        for text, count in counted_marks(engine, logs, extent):
            numbers = frozenset(mark.number for mark in read(text))
            texts.append((numbers, count))
            carried |= numbers
    tags = _tags(engine.storage, state, carried | active)
    return _lines(extent, tags, texts, active)


def counted_marks(engine: Engine, logs: Mapping[str, Log], extent: Extent) -> Iterable[tuple[str, int]]:
    """The different marks of the tuples that stand, and how many have them."""
    relation = extent.name.rsplit(".", 1)[-1]
    declared = extent.schema.renamed(relation) + Schema((Field(MARKS, STRING, relation),))
    frame = cast("DataFrame", tuples(StreamReceive(extent.name, declared), engine.batch(logs)))
    with told_plainly("Spark cannot count tags"):
        found = frame.where(f"c{len(extent.schema)} IS NOT NULL").groupBy(f"c{len(extent.schema)}").count()
        for row in found.toLocalIterator():
            yield row[0], row[1]


def _tags(storage: Storage, state: StreamState, wanted: Iterable[int]) -> dict[int, MarkText]:
    """By number, those of the tags of a stream that are wanted, with the fields that they still are on."""
    numbers = set(wanted)
    found: dict[int, MarkText] = {}
    for text, mark in _said(storage, state):
        if text is not None and text.startswith(DETACH):
            if not is_conditional(text):
                found = {number: left for number, tag in found.items() if (left := _left(tag, detached_by(text)))}
        elif mark is not None:
            for tag in read(mark):
                if tag.number in numbers:
                    found[tag.number] = tag
    return found


def _left(tag: MarkText, what: Detached) -> MarkText | None:
    return next(iter(what.after([tag])), None)


def _said(storage: Storage, state: StreamState) -> Iterator[tuple[str | None, str | None]]:
    """The texts and marks of the tick-tags of a log, in its order."""
    for segment in sorted(state.segments, key=lambda segment: segment.seq):
        if segment.tags:
            marks = [COLUMN_OF_MARKS] if segment.marked else []
            table = storage.read_table(segment.path, [SEQ, TAG, *marks], rows=pc.field(DIFF) == 0).sort_by(SEQ)
            texts = table.column(TAG).to_pylist()
            yield from zip(texts, table.column(marks[0]).to_pylist() if marks else [None] * len(texts), strict=True)


def _lines(
    extent: Extent, tags: Mapping[int, MarkText], texts: Iterable[tuple[frozenset[int], int]], active: set[int]
) -> list[TagLine]:
    key_of = {number: (tag.content, tag.sign, tag.type, _on(tag, extent)) for number, tag in tags.items()}
    rows = dict.fromkeys(key_of.values(), 0)
    alike = Counter(key_of.values())
    still = Counter(key for number, key in key_of.items() if number in active)
    for numbers, count in texts:
        for key in {key_of[number] for number in numbers if number in key_of}:
            rows[key] += count
    found = [TagLine(extent.name, *key, alike[key], still[key], count) for key, count in rows.items()]
    return sorted(found, key=lambda line: (-line.rows, -line.tags, line.content, line.sign or "", line.on or ""))


def _on(tag: MarkText, extent: Extent) -> str | None:
    if tag.fields is None:
        return None
    suffix = ".value" if tag.is_by_value else ""
    return ", ".join(extent.schema.names[field] + suffix for field in tag.fields)
