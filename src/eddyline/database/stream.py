"""A stream in the user's hands: rows are pushed into it, and tuples in it corrected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from eddyline.catalog.extent import Extent
from eddyline.errors import InvalidDefinition, noted

if TYPE_CHECKING:
    from eddyline.database.revisions import Effect, Revisions


@dataclass(frozen=True)
class Pushed:
    """How many rows were taken in, and how many set aside because they do not fit; `db.rejects` tells why."""

    accepted: int
    rejected: int


class Intake(Protocol):
    """What a stream needs of its database."""

    revisions: Revisions

    def take(self, extent: Extent, rows: Any, tags: Any = None) -> Pushed: ...

    def check(self) -> None: ...


class StreamHandle:
    """Where rows are pushed."""

    def __init__(self, home: Intake, extent: Extent) -> None:
        self._home = home
        self._extent = extent

    @property
    def name(self) -> str:
        return self._extent.name

    @property
    def columns(self) -> tuple[str, ...]:
        return self._extent.schema.names

    def push(self, rows: Any, tags: Any = None) -> Pushed:
        """Take rows in: dicts, tuples, an Arrow table or a pandas frame.

        When this returns, they are in the stream for good; their answers come a moment later. The columns `_op`, `_ref`
        and `_tag` say what they say in a file; in a stream with a KEY, `_op` alone is enough to correct a tuple.

        Tags stand among the rows (`_op` is `#`), or come beside them, which costs less: as `tags`, dicts or a table
        with `_tag` and `_before`, the number of the row that a tag stands in front of, from 1.
        """
        with noted():
            return self._home.take(self._extent, rows, tags)

    def update(self, index: int, **values: Any) -> Pushed:
        """Replace the tuple with this index by the values, all of them."""
        return self.push([{"_op": "=", "_ref": index, **values}])

    def delete(self, index: int | Sequence[int]) -> Pushed:
        """Take tuples back by their indexes."""
        if isinstance(index, str) or not isinstance(index, int | Iterable):
            with noted():
                raise InvalidDefinition(f"tuples are taken back by their indexes, not by {index!r:.60}")
        indexes = [index] if isinstance(index, int) else index
        return self.push([{"_op": "-", "_ref": each} for each in indexes])

    def effects(self, index: int) -> Sequence[Effect]:
        """The answers that revisions of the tuple with this index have changed, of every query: `query`, `answer`, …"""
        with noted():
            self._home.check()
            return self._home.revisions.effects(self._extent.name, index)

    def __repr__(self) -> str:
        return f"<stream {self.name} ({', '.join(self.columns)})>"
