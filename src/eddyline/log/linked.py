"""Answers that are rows of a stream as they are: the segment of the result log is the file of the stream.

Who passes all tuples on has nothing to write: the rows are on the disk. A hard link gives the file to both logs, and it
is there until neither needs it. What an answer has beside the tuple follows from the name of the link (the batch, and
that a row is a tuple), or stands in a small file beside it: the tags of those tuples that have some.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.marks import KIND, MARKS
from eddyline.log.segment import BATCH, DIFF, INDEX, SYSTEM, TICK
from eddyline.log.segment import MARKS as MARKS_OF_STREAM
from eddyline.log.segment import PLACES as PLACES_OF_STREAM

#: what the path of such a segment ends with, and behind it that of the file with tags
SUFFIX, TAGS_SUFFIX = ".linked", ".tags"
#: what an answer has behind the columns of the stream, by the word for it in the name: nothing, tags, tags and whether
#: the row is a tuple or a tag
SHAPES: dict[str, tuple[str, ...]] = {"rows": (), "tagged": (MARKS,), "told": (MARKS, KIND)}
#: … if tuples have tags, so that there is a file of them
_SOME = "-some"
_NAME = re.compile(rf"(?:.*/)?(\d{{12}})-[0-9a-f]{{32}}\.({'|'.join(SHAPES)})({_SOME})?\{SUFFIX}")
#: what a log has beside the columns of its stream and answers have not
_NOT_ANSWERED = frozenset([*SYSTEM.names, MARKS_OF_STREAM, PLACES_OF_STREAM]) - {INDEX, TICK, DIFF}
#: the kind of a row that is a tuple
TUPLE = "+"


@dataclass(frozen=True)
class Linked:
    """What the path of such a segment says."""

    path: str
    batch: int
    shape: str
    some: bool  # whether there is a file of tags

    @classmethod
    def path_of(cls, start: str, shape: str, some: bool) -> str:
        """The path of one whose name starts with its batch and what no other has."""
        return f"{start}.{shape}{_SOME if some else ''}{SUFFIX}"

    @property
    def tags(self) -> str:
        """The path of the file of tags: `_index` and marks of the tuples that have some."""
        return f"{self.path}{TAGS_SUFFIX}"

    @property
    def behind(self) -> tuple[str, ...]:
        return SHAPES[self.shape]

    def read(self, names: Sequence[str]) -> list[str]:
        """The columns of the stream's file, which has these, that an answer has; those of ours come first."""
        own = [name for name in names if name not in _NOT_ANSWERED and name not in (INDEX, TICK, DIFF)]
        return [INDEX, TICK, DIFF, *own]

    def names(self, names: Sequence[str]) -> list[str]:
        """The columns of the answer."""
        return [BATCH, *self.read(names), *self.behind]

    def schema(self, file: pa.Schema) -> pa.Schema:
        """The answer's, from that of the file; texts are texts."""
        ours = {BATCH: pa.int64(), MARKS: pa.string(), KIND: pa.string()}
        return pa.schema([(name, ours.get(name) or _plain(file.field(name).type)) for name in self.names(file.names)])

    def table(self, rows: pa.Table, tags: pa.Table | None, columns: Sequence[str] | None = None) -> pa.Table:
        """The answers, or some columns of them, from rows of the stream's file and the file of tags."""
        wanted = [BATCH, *rows.column_names, *self.behind] if columns is None else columns
        made = [self._column(name, rows, tags) for name in wanted]
        return pa.table(made, list(wanted))

    def _column(self, name: str, rows: pa.Table, tags: pa.Table | None) -> Any:
        if name == BATCH:
            return pa.repeat(pa.scalar(self.batch, pa.int64()), rows.num_rows)
        if name == KIND and KIND in self.behind:
            return pa.repeat(pa.scalar(TUPLE), rows.num_rows)
        if name == MARKS and MARKS in self.behind:
            if tags is None:
                return pa.nulls(rows.num_rows, pa.string())
            places = pc.index_in(rows.column(INDEX), value_set=tags.column(INDEX).combine_chunks())
            return tags.column(MARKS).cast(pa.string()).take(places)
        return rows.column(name)

    def needed(self, columns: Sequence[str] | None, names: Sequence[str]) -> list[str]:
        """What has to be read of the file, which has columns of these names, for some columns of the answer."""
        there = self.read(names)
        if columns is None:
            return there
        with_index = [INDEX, *columns]  # by which tags are found, and rows counted
        return [name for name in there if name in with_index]


@lru_cache(maxsize=10_000)
def linked(path: str) -> Linked | None:
    """What the path of a segment says; None if it is a file of its own.

    >>> linked(f"results/q/{7:012d}-{'0' * 32}.told-some.linked").some
    True
    """
    name = _NAME.fullmatch(path)
    return None if name is None else Linked(path, int(name[1]), name[2], name[3] is not None)


def rows_of_tags(path: str) -> str:
    """The segment that a file of tags belongs to; of any other file, its own path."""
    return path.removesuffix(TAGS_SUFFIX) if path.endswith(f"{SUFFIX}{TAGS_SUFFIX}") else path


class OpenedLinked:
    """What merging uses of an opened Parquet file, with the rows as answers."""

    def __init__(self, segment: Linked, file: Any, tags: pa.Table | None) -> None:
        self._segment, self._file, self._tags = segment, file, tags
        self._names = segment.read(file.schema_arrow.names)
        self.num_row_groups = file.num_row_groups
        self.schema_arrow = segment.schema(file.schema_arrow)

    def read_row_group(self, group: int) -> pa.Table:
        rows = self._file.read_row_group(group, self._names).select(self._names)
        return self._segment.table(rows, self._tags).cast(self.schema_arrow)


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_
