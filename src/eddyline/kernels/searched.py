"""Searches among tags, asked before the kernel looks at rows: segments have few different texts of marks, and which of
them a search finds is a list of constants, by which the kernel filters at once. A function it would have to call for
every row, with a copy of its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import pyarrow as pa

from eddyline.algebra.user_function import UserFunction
from eddyline.kernels.functions import load
from eddyline.log.dealt import is_dealt
from eddyline.log.segment import MARKS
from eddyline.log.storage import Storage, is_own

#: the name of a function that searches among marks as a log has them
SEARCHED = "tags_searched"
#: that of one that writes marks
_MAKING = "tags_added"
#: more texts are not looked up faster than the function is called
_MOST = 1_000


def with_searches(
    statement: str,
    functions: Iterable[UserFunction],
    leaves: Mapping[str, Sequence[str]],
    storage: Storage,
) -> str:
    """A statement in which searches among marks are comparisons with texts; as it is, if that is no gain."""
    called = list(functions)
    searches = [function for function in called if function.name == SEARCHED]
    if any(function.name == _MAKING for function in called):
        return statement  # there are marks that no log has
    texts = _texts([file for files in leaves.values() for file in files], storage) if searches else None
    if texts is None:
        return statement
    for function in searches:
        found = load(storage, function)(texts)
        listed = ", ".join("'" + text.replace("'", "''") + "'" for text in texts.filter(found).to_pylist())
        name = re.compile(rf'\b{function.internal_name}\(("?\w+"?)\)', re.IGNORECASE)
        statement = name.sub(lambda call, of=listed: _among(call[1], of), statement)  # type: ignore[misc]
    return statement


def _among(column: str, listed: str) -> str:
    """Whether a column has one of some texts; coalesce(…, false) would keep the kernel from looking texts up."""
    return f"({column} IS NOT NULL AND {column} IN ({listed}))" if listed else "false"


def _texts(files: Iterable[str], storage: Storage) -> pa.Array | None:
    """The different marks of all segments; None if there are too many."""
    found: dict[str, None] = {}
    for file in files:
        texts = _texts_of(storage.root, file)
        if texts is None or len(found := {**found, **dict.fromkeys(texts)}) > _MOST:
            return None
    return pa.array(list(found), pa.string())


@lru_cache(maxsize=_MOST)
def _texts_of(root: str, file: str) -> tuple[str, ...] | None:
    """Those of one segment, which never changes; whoever else searches in it need not read them again."""
    if not is_own(file) or is_dealt(file):
        return ()  # of a user's rows, or of answers: there are no marks of a log
    return Storage(root).different_texts(file, MARKS, _MOST)
