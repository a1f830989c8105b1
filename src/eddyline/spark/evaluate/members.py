"""The members of a query class beside the data, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from eddyline.algebra.sharing import QUERY
from eddyline.log.answers import python_rows
from eddyline.spark.evaluate.frames import Frame, Frames, few

#: in tables of members: the last index that had come before one was created
SINCE = "_since"
#: the tick from which on it is answered, if its answers are about ticks
BEGIN = "_begin"
#: the ticks from one of its windows to the next
SLIDE = "_slide"
#: whether it shows tags
ASKS = "_asks"


@dataclass(frozen=True)
class MemberTable:
    """The members of one form: `_query`, `_since`, `_begin`, and the constants as _p0, …, _a0, …

    Few come along with the work, as `rows`; many are in a file, where workers find them and keep them. Those who have
    left since it was written are in `gone`.
    """

    fields: Mapping[str, str]  # the columns with their types in Spark
    rows: pa.Table | None
    path: str | None = None
    gone: pa.Table | None = None
    count: int = 0  # how many there are in the file
    asks: bool = False  # whether they show tags

    @cached_property
    def only(self) -> Mapping[str, Any] | None:
        """What is known of the only member, by column; None if there are others, or of years that Python has not."""
        if self.rows is None or self.gone is not None or self.rows.num_rows != 1:
            return None
        names = self.rows.column_names
        try:
            return dict(zip(names, python_rows(names, self.rows)[0], strict=True))
        except (OverflowError, ValueError):
            return None

    def frame(self, frames: Frames) -> Frame:
        if self.path is not None:
            return self.standing(frames.read([self.path], self.fields, list(self.fields)), frames)
        assert self.rows is not None
        return self.standing(frames.table(self.rows), frames)

    def standing(self, frame: Frame, frames: Frames) -> Frame:
        """The rows without those of members who have left."""
        return frame if self.gone is None else frame.join(few(frames.table(self.gone)), QUERY, "left_anti")


@dataclass(frozen=True)
class Members:
    """All members, by the name of their form.

    From which window on a member is answered is for its reader to know: windows before that cost little. Of relations
    it must be known here: what stands at that tick is said then, whenever it has come.
    """

    tables: Mapping[str, MemberTable]
    above: int  # how many constants of HAVING each has
    since: int  # the largest `_since`
    begin: int  # the largest `_begin`
    together: bool = False  # whether all began at the same moment, and have the same windows with the same numbers
    latest: int = 0  # the largest number that one was ever given

    def frame(self, form: str, frames: Frames) -> Frame:
        return few(self.tables[form].frame(frames))

    def everyone(self, frames: Frames) -> Frame:
        """All members, of whatever form: number, whether they show tags, and the constants of HAVING."""
        return self._all_with([ASKS, *(f"_a{i}" for i in range(self.above))], frames)

    def begins(self, frames: Frames) -> Frame:
        """From which tick on each is answered."""
        return self._all_with([BEGIN], frames)

    def own_slides(self, frames: Frames) -> Frame:
        """The slide of each, where they have windows of their own; these are the last that is known of a member."""
        return self._all_with([f"_a{self.above - 1}"], frames).selectExpr(QUERY, f"_a{self.above - 1} AS {SLIDE}")

    def _all_with(self, more: Sequence[str], frames: Frames) -> Frame:
        columns = [QUERY, *more]
        found: Frame | None = None
        for table in self.tables.values():
            named = [f"{sql_of(table.asks)} AS {ASKS}" if name == ASKS else name for name in columns]
            part = table.frame(frames).selectExpr(*named)
            found = part if found is None else found.unionAll(part)
        assert found is not None
        return few(found)


def sql_of(asks: bool) -> str:
    """Whether members of a form show tags, as SQL."""
    return "true" if asks else "false"
