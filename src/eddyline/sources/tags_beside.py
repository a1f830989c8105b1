"""Tags that come beside the rows they stand among, each with the row that it stands in front of.

Among the rows, tags are as many rows again, in every column of which there is nothing, and have to be told apart from
the others before anything else. Beside them they cost what they say. It means the same either way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.sources.arrival import TAG
from eddyline.sources.chunk import Chunk

Positions = npt.NDArray[np.int64]
#: of a chunk, beside the values
_COLUMNS = ("tick", "op", "ref", "tag", "line", "text")


@dataclass(frozen=True, eq=False)
class TagsBeside:
    """Tags in the order in which they stand; `before` is the place of the row behind each, among those that fit."""

    tags: Chunk  # of nothing but tags, without values
    before: Positions

    def __len__(self) -> int:
        return self.tags.num_rows

    @classmethod
    def of(cls, rows: Chunk, tags: Chunk, row: Positions) -> TagsBeside:
        """`row`: the numbers of the rows that tags stand in front of, whose time a tag has if it says none."""
        all_fit = rows.num_rows == 0 or rows.line[rows.num_rows - 1].as_py() == rows.num_rows
        before = np.minimum(row - 1, rows.num_rows) if all_fit else np.searchsorted(rows.line.to_numpy(), row)
        if (before[1:] < before[:-1]).any():
            order = np.argsort(before, kind="stable")
            before, tags = before[order], _taken(tags, order)
        if tags.tick.null_count:
            behind = before == rows.num_rows
            theirs = rows.tick.take(pa.array(before, mask=behind))
            tags = replace(
                tags, tick=theirs if tags.tick.null_count == len(tags.tick) else pc.coalesce(tags.tick, theirs)
            )
        return cls(tags, before)

    def up_to(self, rows: int) -> Positions:
        """How many tags stand in front of each of so many rows, or before."""
        counts: Positions = np.cumsum(np.bincount(self.before, minlength=rows + 1)[:rows])
        return counts

    def among(self, rows: Chunk) -> Chunk:
        """The rows with the tags where they stand."""
        size = rows.num_rows + len(self)
        at = self.before + np.arange(len(self))
        is_tag = np.zeros(size, bool)
        is_tag[at] = True
        place = np.where(is_tag, np.cumsum(is_tag) - 1 + rows.num_rows, np.cumsum(~is_tag) - 1)
        values = rows.values.combine_chunks().take(pa.array(place, mask=is_tag))
        together = {
            name: _concatenated(getattr(rows, name), getattr(self.tags, name)).take(pa.array(place))
            for name in _COLUMNS
        }
        together["text"] = pc.coalesce(together["text"], together["tag"])  # what is told of a tag that means nothing
        return replace(rows, values=values, **together, beside=None, tags_file=self.tags.file)


def without_row(number: int) -> str:
    """Why a tag is set aside whose row is: in front of another row it would say something of that one."""
    return f"_before: row {number}, which the tag stands in front of, is set aside"


def tags_alone(extent: str, file: str, texts: pa.Array, lines: Positions, schema: pa.Schema) -> Chunk:
    """Tags of which nothing but the texts is known, as a chunk."""
    count = len(texts)
    nothing = pa.table([pa.nulls(0, field.type) for field in schema], schema=schema)
    times, nobody = pa.nulls(count, pa.int64()), pa.nulls(count, pa.string())
    return Chunk(extent, file, nothing, times, pa.repeat(TAG, count), times, texts, pa.array(lines), nobody, (), 0)


def _taken(tags: Chunk, order: Positions) -> Chunk:
    places = pa.array(order)
    return replace(tags, **{name: getattr(tags, name).take(places) for name in _COLUMNS})


def _concatenated(*columns: pa.Array) -> pa.Array:
    """Texts that are numbered in some of them become texts."""
    return pa.concat_arrays([each.cast(pa.string()) if pa.types.is_dictionary(each.type) else each for each in columns])
