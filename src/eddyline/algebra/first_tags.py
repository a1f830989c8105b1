"""Tags that wait for their tuples: what SELECT TAGS under conditions on tuples becomes where marks are text."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.marks import KIND, MARKS
from eddyline.algebra.node import StreamOp
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import STRING
from eddyline.algebra.user_function import UserCall

#: what the call of `FirstTags` is made over: the marks of a tuple
CARRIED = "_carried"


@dataclass(frozen=True)
class FirstTags(StreamOp):
    """Each tick-tag once, with the first of the tuples that carries it.

    Marks are the last column of `tuples`; `listed` gives the tags of marks. `tags` are the tick-tags that have passed,
    those that are wanted: the key of each, and its text. The output has the columns of `shown`, all of them NULL, and
    behind them the tag.
    """

    listed: UserCall
    shown: Schema
    tuples: StreamOp
    tags: StreamOp

    @property
    def schema(self) -> Schema:
        return self.shown + Schema((Field(MARKS, STRING), Field(KIND, STRING)))
