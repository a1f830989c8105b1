"""SHOW TAGS: the tags that tuples carry or may come to carry, and how many tuples there are of each.

Spark lists the tags of tuples and those of the log, joins both by their numbers and counts; lines reach the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from eddyline.algebra.answer import TagLine
from eddyline.algebra.marks import MADE, MARKS, PLACES_ROLE, mark_of
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.stream import StreamReceive
from eddyline.algebra.tag import Tagger
from eddyline.algebra.tag_places import HERE
from eddyline.algebra.types import STRING
from eddyline.catalog.extent import Extent
from eddyline.log.borne import LINE, NUMBER, TagKey, borne, listed
from eddyline.log.detached import Detached
from eddyline.log.said import left_of, taken_back
from eddyline.log.segment import DIFF, INDEX, OP, PLACES, SEQ, TICK
from eddyline.log.segment import MARKS as MARKS_COLUMN
from eddyline.spark.evaluate.batch import Log
from eddyline.spark.evaluate.tuples import tuples
from eddyline.spark.tags.made import satisfied, text_of
from eddyline.spark.trouble import told_plainly

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from eddyline.spark.engine import Engine

#: by line, how many tags there are, how many of them may cover tuples to come, and how many tuples carry one
Counts = Mapping[str, tuple[int, int, int]]
Taken = Sequence[tuple[int, Detached]]
_NAMES = (MARKS, f"{MARKS}{PLACES_ROLE}")
_BORNE = f"{INDEX} BIGINT, {NUMBER} BIGINT, {LINE} STRING"
_LISTED = f"{NUMBER} BIGINT, {LINE} STRING"
_TAG = {SEQ: "BIGINT", INDEX: "BIGINT", TICK: "BIGINT", MARKS_COLUMN: "STRING", PLACES: "STRING"}


def tag_lines(engine: Engine, extent: Extent) -> list[TagLine]:
    """The tags of a stream as they stand; those on most rows first."""
    with engine.writing:
        logs, state = engine.logs(), engine.journal.state(extent.name)
        active = engine.ingest.active_tags(engine.extent(extent.name))
        taggers = engine.executor.taggers.of(extent.name)
    if not taggers and not any(segment.marked for segment in logs[extent.name].segments):
        return []
    counts = counted_lines(engine, logs, extent, taggers, taken_back(engine.storage, state), active)
    found = [TagLine(extent.name, *TagKey.from_line(line), *numbers) for line, numbers in counts.items()]
    return sorted(found, key=lambda line: (-line.rows, -line.tags, line.content, line.sign or "", line.on or ""))


def never_applied(engine: Engine, extent: Extent) -> list[str]:
    """What the tags of a stream say that no tuple has ever carried, those that still wait for their first one too."""
    with engine.writing:
        log, state = engine.logs()[extent.name], engine.journal.state(extent.name)
        waiting = engine.ingest.waiting_tags(engine.extent(extent.name))
    if not any(segment.only_tags and segment.marked for segment in log.segments):
        return waiting  # all that was said is told by the tuples that carry it
    idle = idle_lines(engine, log, extent, taken_back(engine.storage, state))
    return [*(TagKey.from_line(line).content for line in idle), *waiting]


def line_of(tagger: Tagger, extent: Extent) -> str:
    """Where the tags of a continuous tagger are listed."""
    tag = tagger.tag_for(extent.name, 0, 0)
    return TagKey.of(mark_of(tag, tag.applies_to.positions(extent.schema), MADE), extent.schema.names).line


def counted_lines(
    engine: Engine,
    logs: Mapping[str, Log],
    extent: Extent,
    taggers: Sequence[Tagger],
    taken: Taken,
    active: Mapping[int, str],
) -> Counts:
    """What the tuples that stand carry, and the tags that are `active`. Those of which the log tells are listed by all
    that they are on, others by what is known of them."""
    carried = _carried(engine, logs, extent, taggers)
    known = pa.table({NUMBER: pa.array(list(active), pa.int64()), LINE: pa.array(list(active.values()), pa.string())})
    still = cast("DataFrame", engine.executor.frames.table(known))
    nothing = f"CAST(NULL AS BIGINT) AS {INDEX}", NUMBER, LINE
    rows = carried.selectExpr("*", "false AS active").unionAll(still.selectExpr(*nothing, "true AS active"))
    told = _told(engine, logs[extent.name], extent, taken, alone=True).withColumnRenamed(LINE, "told")
    rows = rows.join(told, NUMBER, "left").selectExpr(INDEX, NUMBER, f"coalesce(told, {LINE}) AS {LINE}", "active")
    counts = rows.selectExpr(LINE, NUMBER, f"CASE WHEN active THEN {NUMBER} END AS active", INDEX)
    from pyspark.sql import functions as F

    each = (F.countDistinct(name) for name in (NUMBER, "active", INDEX))
    with told_plainly("Spark cannot count tags"):
        return {row[0]: (row[1], row[2], row[3]) for row in counts.groupBy(LINE).agg(*each).toLocalIterator()}


def idle_lines(engine: Engine, log: Log, extent: Extent, taken: Taken) -> list[str]:
    """Where the tags are listed that no tuple has ever carried, in the order in which they came."""
    marks, places = (f"c{len(log.schema) + at}" for at in range(2))
    marked = [segment for segment in log.segments if segment.marked and not segment.only_tags]
    rows = cast("DataFrame", engine.batch({log.name: log}).read(log, marked, _NAMES))
    rows = rows.where(f"{DIFF} <> 0 AND {places} IS NOT NULL")  # the others tell of tags that are nowhere else
    rows = rows.selectExpr(INDEX, f"{marks} AS {MARKS_COLUMN}", f"{places} AS {PLACES}")
    ever = rows.mapInArrow(partial(_borne_in, (), extent.schema.names), _BORNE)
    idle = _told(engine, log, extent, taken, alone=False).join(ever, NUMBER, "left_anti")
    from pyspark.sql import functions as F

    first = idle.groupBy(LINE).agg(F.min(NUMBER).alias(NUMBER)).orderBy(NUMBER)
    with told_plainly("Spark cannot look for tags that never applied"):
        return [row[0] for row in first.toLocalIterator()]


def _carried(engine: Engine, logs: Mapping[str, Log], extent: Extent, taggers: Sequence[Tagger]) -> DataFrame:
    """The tags of the tuples that stand, a row for each."""
    relation, width = extent.name.rsplit(".", 1)[-1], len(extent.schema)
    declared = extent.schema.renamed(relation) + Schema(tuple(Field(name, STRING, relation) for name in _NAMES))
    given = {**logs, extent.name: replace(logs[extent.name], taggers=())}  # what these make is counted by itself
    frame = cast("DataFrame", tuples(StreamReceive(extent.name, declared), engine.batch(given)))
    marks, places = (f"c{width + at}" for at in range(2))
    made = {f"m{place}": tagger for place, tagger in enumerate(taggers)}
    asked = (f"coalesce({text_of(satisfied(t), t, marks)}, false) AS {name}" for name, t in made.items())
    frame = frame.selectExpr(INDEX, f"{marks} AS {MARKS_COLUMN}", f"{places} AS {PLACES}", *asked)
    frame = frame.where(" OR ".join([f"{MARKS_COLUMN} IS NOT NULL", *made]))
    lines = tuple((name, line_of(tagger, extent)) for name, tagger in made.items())
    return frame.mapInArrow(partial(_borne_in, lines, extent.schema.names), _BORNE)


def _told(engine: Engine, log: Log, extent: Extent, taken: Taken, alone: bool) -> DataFrame:
    """The tags of a log, as they stand after what was `taken` back.

    With `alone` also those of which tuples tell as they came, if some may have other places by now.
    """
    frames = engine.executor.frames
    paths = [segment.path for segment in log.segments if segment.only_tags and segment.marked]
    rows = cast("DataFrame", frames.read(paths, _TAG, list(_TAG))).where(f"{MARKS_COLUMN} IS NOT NULL")
    marked = [segment for segment in log.segments if segment.marked and not segment.only_tags]
    if alone and any(segment.minus for segment in marked):
        new = [segment.path for segment in marked if not segment.minus]
        columns = f"{SEQ} - 1L AS {SEQ}", f"{INDEX} - 1L AS {INDEX}", TICK, MARKS_COLUMN, f"'{HERE}' AS {PLACES}"
        found = cast("DataFrame", frames.read(new, {**_TAG, OP: "STRING"}, [*_TAG, OP]))
        found = found.where(f"{MARKS_COLUMN} IS NOT NULL AND {PLACES} IS NULL AND {OP} = '+'")
        rows = rows.unionAll(found.selectExpr(*columns))
    return rows.mapInArrow(partial(_listed_in, taken, extent.schema.names), _LISTED)


def _borne_in(
    made: Sequence[tuple[str, str]], names: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The work of a task, as is the next."""
    for batch in batches:
        yield from borne(pa.Table.from_batches([batch]), made, names).to_batches()


def _listed_in(taken: Taken, names: Sequence[str], batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    for batch in batches:
        tags = left_of(pa.Table.from_batches([batch]), taken)
        if tags is not None:
            yield from listed(tags, names).to_batches()
