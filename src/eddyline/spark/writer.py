"""Results leave through the tasks that made them: each writes Parquet segments and returns references to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from eddyline.columnar.types import arrow_type
from eddyline.kernels.task import Reference
from eddyline.kernels.task import written as written_by_task
from eddyline.log.answers import HEADER, PLACE
from eddyline.log.journal import Spans
from eddyline.log.segment import DIFF, TICK, Segment
from eddyline.log.spans import joined_spans
from eddyline.log.storage import Storage
from eddyline.log.withheld import Stretch
from eddyline.spark.evaluate.evaluate import TICKS, domain
from eddyline.spark.evaluate.frames import Frame
from eddyline.spark.stages import LINEAR, Stage, is_relation, numbered_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

_REFERENCE = (
    "stage STRING, path STRING, rows BIGINT, size BIGINT, seq ARRAY<BIGINT>, index ARRAY<BIGINT>, "
    "tick ARRAY<BIGINT>, minus BIGINT, place ARRAY<BIGINT>, marked BIGINT, withheld ARRAY<ARRAY<BIGINT>>, "
    "touched ARRAY<ARRAY<BIGINT>>"
)
_PAIR = pa.list_(pa.int64())
_ARROW_REFERENCE = pa.schema(
    {
        "stage": pa.string(),
        "path": pa.string(),
        **dict.fromkeys(("rows", "size"), pa.int64()),
        **dict.fromkeys(("seq", "index", "tick"), _PAIR),
        "minus": pa.int64(),
        "place": _PAIR,
        "marked": pa.int64(),
        **dict.fromkeys(("withheld", "touched"), pa.list_(_PAIR)),
    }
)
_SYSTEM = {DIFF: pa.int8(), HEADER: pa.bool_()}


def segment_schema(columns: Sequence[str], stage: Stage) -> pa.Schema:
    """What the segments of a stage have: the columns of its frame, the last of them under the names of the result.

    A DataFrame could not have all these names; a file can.
    """
    system = columns[: len(columns) - len(stage.columns)]
    own = zip(stage.columns, stage.schema.fields, strict=True)
    fields = [
        *((name, _SYSTEM.get(name, pa.int64())) for name in system),
        *((name, arrow_type(field.type)) for name, field in own),
    ]
    return pa.schema(fields)


def folder_of(stage: Stage) -> str:
    """Where the segments of a stage's log are, and the numbers that its members have come to."""
    return f"results/{numbered_by(stage.name)}"


def place_of_withheld(stage: Stage) -> str:
    """The column that tells where a correction is withheld, if the stage withholds any."""
    if stage.revise is None:
        return ""
    by_tick = stage.kind == LINEAR or is_relation(stage.plan) or domain(stage.plan) == TICKS
    return TICK if by_tick else PLACE


def withheld_by_stage(references: Iterable[Reference]) -> dict[str, list[Stretch]]:
    found: dict[str, list[Stretch]] = {}
    for reference in references:
        found.setdefault(reference.stage, []).extend(reference.withheld)
    return found


def touched_by_stage(references: Iterable[Reference]) -> dict[str, Spans]:
    """The ticks of all that each stage has written, as a few stretches."""
    found: dict[str, list[Spans]] = {}
    for reference in references:
        found.setdefault(reference.stage, []).append(reference.touched)
    return {stage: joined_spans(spans) for stage, spans in found.items()}


def written(frame: Frame, stage: Stage, batch: int, storage: Storage, folder: str) -> DataFrame:
    """The rows of a DataFrame as segments of a stage's log; gives references to them."""
    made = cast("DataFrame", frame)
    root, name = storage.root, stage.name
    names, holds = segment_schema(made.columns, stage).names, place_of_withheld(stage)

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        renamed = (batch.rename_columns(names) for batch in batches)
        for reference in written_by_task(renamed, name, batch, Storage(root), folder, holds):
            segment = {} if reference.segment is None else reference.segment.to_json()
            stretches = {"withheld": reference.withheld, "touched": reference.touched}
            lists = {key: [list(stretch) for stretch in some] for key, some in stretches.items()}
            yield pa.RecordBatch.from_pylist([{"stage": name, **segment, **lists}], schema=_ARROW_REFERENCE)

    return made.mapInArrow(write, _REFERENCE)


def references_of(rows: Sequence[Row]) -> list[Reference]:
    """What a frame made by `written` has given."""
    return [_reference(row.asDict()) for row in rows]


def _reference(value: dict[str, Any]) -> Reference:
    stage = value.pop("stage")
    withheld = tuple((low, high, count) for low, high, count in value.pop("withheld"))
    touched = tuple((low, high) for low, high in value.pop("touched"))
    if value["marked"] is None:  # as it is written down: with the way in which tags are kept, or not at all
        del value["marked"]
    segment = None if value["path"] is None else Segment.from_json(value)
    return Reference(stage, segment, withheld=withheld, touched=touched)


def segments_by_stage(references: Iterable[Reference]) -> dict[str, list[Segment]]:
    segments: dict[str, list[Segment]] = {}
    for reference in references:
        if reference.segment is not None:
            segments.setdefault(reference.stage, []).append(reference.segment)
    return segments
