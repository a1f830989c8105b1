"""Rows that Spark read for a stream and wrote down as Parquet pieces, as chunks like those of a file."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.catalog.extent import Extent
from eddyline.errors import InvalidDefinition
from eddyline.sources.batch_intake import BatchIntake, Stretch
from eddyline.sources.chunk import Chunk
from eddyline.sources.columns import columns_by_name
from eddyline.sources.conversion import RowConversion
from eddyline.sources.intake import BadRow
from eddyline.sources.native_value import native_converter
from eddyline.sources.parquet_batches import take_batch

#: the option that says after how many rows a stream has ended
LIMIT = "maxrows"
#: columns of a piece: why a row does not fit, NULL if it does, and what it said. A declared column has no such name.
UNFIT, TEXT = "eddyline: unfit", "eddyline: text"


def limit_of(extent: Extent) -> int | None:
    """After how many rows the stream has ended; None if it goes on."""
    text = extent.option(LIMIT)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text)):
        raise InvalidDefinition(f"{extent.name}: maxRows '{text}' is not a positive whole number of rows")
    return int(text)


def chunk_of_piece(extent: Extent, piece: pa.Table, first: int, tick_micros: int) -> Chunk:
    """The rows of a piece; the number of its first row, counted from the beginning of the stream, is `first`."""
    # every row of a sensor without a clock takes a turn, so there are as many turns as rows before it
    intake = BatchIntake(extent, RowConversion(extent.schema, native_converter), tick_micros, first - 1)
    intake.file = extent.format or ""
    stretch = Stretch(intake, intake.file)
    lines = np.arange(first, first + piece.num_rows)
    unfit = pc.is_valid(piece.column(UNFIT)).combine_chunks()
    bad = piece.select([UNFIT, TEXT]).filter(unfit)
    rows = piece.drop_columns([UNFIT, TEXT]).filter(pc.invert(unfit)).combine_chunks()
    plan = columns_by_name(extent, rows.column_names, intake.file)
    fit = pc.invert(unfit).to_numpy(zero_copy_only=False)
    sure = [take_batch(batch, plan, lines[fit], stretch) for batch in rows.to_batches()]
    texts = zip(lines[~fit].tolist(), bad.column(UNFIT).to_pylist(), bad.column(TEXT).to_pylist(), strict=True)
    for line, reason, text in texts:  # only those that do not fit: there are few
        _set_aside(stretch, line, reason, text)
    return stretch.chunk(sure, 0)


def _set_aside(stretch: Stretch, line: int, reason: str, text: str) -> None:
    def lost() -> NoReturn:
        stretch.intake.lost()
        raise BadRow(reason)

    stretch.take(line, lost, lambda: text)
