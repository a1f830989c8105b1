"""What is done with the texts of marks before the kernel looks at rows: segments have few different ones.

Which of them a search finds is a list of constants, by which the kernel filters at once; a function it would have to
call for every row, with a copy of its text. And where marks are only taken along, numbers stand for them: a join would
copy every text, twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache

import duckdb
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
#: marks as statements read them, and the type of their numbers
_AS_TEXT, _TYPE = f"CAST({MARKS} AS TEXT)", "marks_of_leaves"


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
        listed = _listed(texts.filter(found).to_pylist())
        name = re.compile(rf'\b{function.internal_name}\(("?\w+"?)\)', re.IGNORECASE)
        statement = name.sub(lambda call, of=listed: _among(call[1], of), statement)  # type: ignore[misc]
    return statement


@contextmanager
def with_numbers(
    connection: duckdb.DuckDBPyConnection, statement: str, leaves: Mapping[str, Sequence[str]], storage: Storage
) -> Iterator[str]:
    """A statement in which marks are values of a type that lists their texts, in the order that these have."""
    texts = _texts([file for files in leaves.values() for file in files], storage) if _AS_TEXT in statement else None
    if not texts:
        yield statement
        return
    connection.execute(f"CREATE OR REPLACE TYPE {_TYPE} AS ENUM ({_listed(sorted(texts.to_pylist()))})")
    try:
        yield statement.replace(_AS_TEXT, f"CAST({MARKS} AS {_TYPE})")
    finally:
        connection.execute(f"DROP TYPE {_TYPE}")


def _listed(texts: Iterable[str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


def _among(column: str, listed: str) -> str:
    """Whether a column has one of some texts; coalesce(…, false) would keep the kernel from looking texts up."""
    return f"({column} IS NOT NULL AND {column} IN ({listed}))" if listed else "false"


def _texts(files: Iterable[str], storage: Storage) -> pa.Array | None:
    """The different marks of all segments; None if there are too many."""
    found: dict[str, None] = {}
    for file in files:
        if not is_own(file) or is_dealt(file):
            continue  # of a user's rows, or of answers: there are no marks of a log
        texts = _texts_of(storage.root, file, storage.version_of(file))
        if texts is None or len(found := {**found, **dict.fromkeys(texts)}) > _MOST:
            return None
    return pa.array(list(found), pa.string())


@lru_cache(maxsize=_MOST)
def _texts_of(root: str, file: str, version: object) -> tuple[str, ...] | None:
    """Those of one segment; whoever else searches in it need not read them again. Its `version` tells it from one of
    the same name in a database that was there before."""
    return Storage(root).different_texts(file, MARKS, _MOST)
