"""What a source hands over: rows that fit their schema, and rows that do not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

INSERT, DELETE, REPLACE, TAG = "+", "-", "=", "#"
#: what stands in place of a file's name where a statement sent the row; its line is its number in the INSERT, or the
#: index of the tuple that the UPDATE revises
INSERT_STATEMENT, UPDATE_STATEMENT, ATTACH_STATEMENT = "INSERT", "UPDATE", "ATTACH"


@dataclass(frozen=True, slots=True)
class Arrival:
    """One row of an extent's input, checked and converted."""

    extent: str
    line: int  # in its file, from 1 for the first data row's line number as an editor shows it
    op: str  # INSERT, DELETE, REPLACE or TAG
    values: tuple[Any, ...] | None  # of INSERT and REPLACE, in the order of the schema; of DELETE by key, its key alone
    tick: int | None  # None if the extent has no TIMESTAMP BY and is not sensed, or on a row without a time
    ref: int | None = None  # the index that DELETE and REPLACE revise; None if they name their tuple by its key
    tag: dict[str, Any] | None = None  # the parsed `_tag` of TAG
    # where it stands and what it says, if it may still turn out not to fit: DELETE, REPLACE and TAG, and whatever comes
    # to a stream that does not take everything
    file: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that was set aside: where it stood, what it said and why it does not fit."""

    extent: str
    file: str
    line: int
    text: str
    reason: str


def said_by(names: Sequence[str], values: Sequence[Any]) -> str:
    """The values of a row as text, for those who have no text of it."""
    return json.dumps(dict(zip(names, values, strict=True)), default=str, ensure_ascii=False)
