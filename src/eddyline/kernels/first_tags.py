"""What SELECT TAGS under conditions on tuples asks of marks: which tags they are of, for each text once."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from eddyline.algebra.marks import Marks, MarkText, read, written
from eddyline.columnar.tags import each_text, number_of

Search = Callable[[Marks], bool]


def listed(search: Search | None, tags: pa.Array) -> pa.Array:
    """The tags of marks, one a line: the key and the time of each.

    A tag that a query has made for the tuple is in no log, so it brings its own text, and is looked at here.
    """

    def lines(text: str) -> str | None:
        wanted = (m for m in read(text) if not m.made or search is None or search((m,)))
        found = (f"{_key(m)}\t{m.timestamp}\t{(written([m]) or '') if m.made else ''}" for m in wanted)
        return "\n".join(found) or None

    return each_text(tags, lines)


def keys(tags: pa.Array) -> pa.Array:
    """The keys of single tags."""
    return each_text(tags, lambda text: _key(read(text)[0]), pa.int64())


def _key(mark: MarkText) -> int:
    """What tells a tag from the others of its stream. Those that were said are numbered as they come; of those that
    queries make, each of a query's has the index of its tuple."""
    return 2 * number_of(f"{mark.number} {mark.tagger}") + 1 if mark.made else 2 * mark.number
