"""What becomes of tags, as functions on columns of marks: what stages call wherever a plan carries tags along.

Each is computed once for every text that occurs, not for every row: a column has few different ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra import marks as of


def projected(tags: pa.Array, reads: pa.Array) -> pa.Array:
    """Marks after a projection; `reads` is a constant: the input fields of each output column, as JSON."""
    sources = _constant(reads)
    return each_text(tags, lambda text: of.written(of.projected(of.read(text), sources)))


def joined(left: pa.Array, right: pa.Array, widths: pa.Array) -> pa.Array:
    """Marks of two tuples that became one; `widths` is a constant: the fields of both sides, as JSON."""
    left_width, right_width = _constant(widths) or (0, 0)
    pairs = pa.table({"left": left, "right": right})
    rows = pairs.append_column("row", pa.array(range(len(left)), pa.int64()))
    found = rows.group_by(["left", "right"], use_threads=False).aggregate([("row", "list")])
    texts = [
        of.written(of.joined(of.read(one), left_width, of.read(other), right_width))
        for one, other in zip(found.column("left").to_pylist(), found.column("right").to_pylist(), strict=True)
    ]
    lists = found.column("row_list").combine_chunks()
    order = pc.sort_indices(lists.flatten())
    return pa.array(texts, pa.string()).take(pc.list_parent_indices(lists).take(order))


def grouped(tags: pa.Array, reads: pa.Array) -> pa.Array:
    """Marks of an aggregate from those of its tuples, which follow each other with commas between."""
    sources = _constant(reads)
    return each_text(tags, lambda text: of.written(of.grouped(of.read_all(text), sources)))


def of_tag_group(tags: pa.Array, reads: pa.Array) -> pa.Array:
    """The same of a tag group, which has those of its tuples' marks that match."""
    sources = _constant(reads)
    return each_text(tags, lambda text: of.written(of.of_tag_group(of.read_all(text), sources)))


def of_copies(tags: pa.Array) -> pa.Array:
    """Marks of a tuple that stands for several alike."""
    return each_text(tags, lambda text: of.written(of.of_copies(of.read_all(text))))


def counted(tags: pa.Array, which: pa.Array) -> pa.Array:
    """How many tags tuples carry; `which` is a constant: the sign and the field, as JSON."""
    sign, field = _constant(which) or (None, None)
    found = each_text(tags, lambda text: of.counted(of.read_all(text), sign, field), pa.int64())
    return pc.fill_null(found, 0)


def added(tags: pa.Array, tick: pa.Array, index: pa.Array, rest: pa.Array) -> pa.Array:
    """Marks with one more behind them, that of a tag made for each tuple; `rest` is what its text ends with."""
    mark = pc.binary_join_element_wise(
        "[", tick.cast(pa.string()), f",{of.MADE},", index.cast(pa.string()), ",", rest, ""
    )
    first = pc.binary_join_element_wise("[", mark, "]", "")
    before = pc.utf8_slice_codeunits(tags, 0, -1)
    behind = pc.binary_join_element_wise(before, ",", mark, "]", "")
    return pc.if_else(pc.is_null(tags), first, behind)


def rest_of(mark: of.MarkText) -> str:
    """What the text of a made mark ends with, behind its tick and index."""
    return json.dumps(mark[3:], separators=(",", ":"), ensure_ascii=False)[1:]


def _constant(array: pa.Array) -> Any:
    return json.loads(array[0].as_py()) if len(array) else None


def each_text(array: pa.Array, compute: Callable[[str], Any], type_: pa.DataType | None = None) -> pa.Array:
    """A function of texts, computed once for each of them; nothing of nothing."""
    type_ = type_ or pa.string()
    if array.null_count == len(array):
        return pa.nulls(len(array), type_)
    encoded = array.dictionary_encode()
    made = pa.array([compute(text) for text in encoded.dictionary.to_pylist()], type_)
    return made.take(encoded.indices)


def number_of(text: str) -> int:
    """A number that stands for a text, and is the same in every process."""
    return int.from_bytes(sha256(text.encode()).digest()[:7], "big")


def selected(search: Callable[[of.Marks], bool], tags: pa.Array) -> pa.Array:
    """Those of the marks that satisfy a search, each for itself."""
    return each_text(tags, lambda text: of.written([mark for mark in of.read(text) if search((mark,))]))


def found(search: Callable[[of.Marks], bool], tags: pa.Array) -> pa.Array:
    """Whether marks satisfy a search; no marks do not."""
    return pc.fill_null(each_text(tags, lambda text: search(of.read(text)), pa.bool_()), False)


def with_search(code: Callable[..., pa.Array], search: Callable[[of.Marks], bool]) -> Callable[[pa.Array], pa.Array]:
    """A function with its search, which can be sent to workers."""
    return partial(code, search)
