"""Matching tags as rows: what a tag join becomes where tuples carry their marks as text."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.marks import KIND, MARKS
from eddyline.algebra.node import StreamOp
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import STRING
from eddyline.algebra.user_function import UserCall

#: what the calls of `TagMatches` are made over: marks, contents as JSON, and numbers of objects
TAGS, ONE, OTHER, BOTH, ALL_OF_ONE, ALL_OF_OTHER = "_m", "_ca", "_cb", "_both", "_all_a", "_all_b"
#: the numbers that stand for both tags of a match
ONE_KEY, OTHER_KEY = "_ka", "_kb"


@dataclass(frozen=True)
class TagMatches(StreamOp):
    """The tagged objects of two sliding windows (in ticks) whose tags match; in front of each match its stix and tags.

    Marks are the last column of both sides. `listed` gives the tags of marks, of the left and of the right side.
    `compared` says of two contents whether they match; if they are compared by the objects that carry them, `counted`
    gives the numbers of objects for each pair of words that marks have, and `compared` takes sums of them.
    `numbered` gives the number of a match that stands for both of its tags.
    """

    listed: tuple[UserCall, UserCall]
    compared: UserCall
    counted: UserCall | None
    numbered: UserCall
    left_range: int
    right_range: int
    left: StreamOp
    right: StreamOp

    @property
    def schema(self) -> Schema:
        own = (*self.left.schema.fields[:-1], *self.right.schema.fields[:-1])
        return Schema((*own, Field(MARKS, STRING), Field(KIND, STRING)))

    @property
    def reach(self) -> int:
        """How many ticks later a tuple can still be joined."""
        return max(self.left_range, self.right_range)
