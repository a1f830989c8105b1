"""Which tags stand in a stream at a place of its log, as the log tells it before anything goes from it.

A tag with a long life, or one that waits for its tuple, may outlast the rows that tell of it and of what has become of
it. So where a stream forgets, its log begins anew with what stands: whoever puts the tags together reads on from there.
"""

from __future__ import annotations

import base64
import io
import pickle
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.schema import Schema
from eddyline.log.active_tag import Condition
from eddyline.log.journal import StreamState
from eddyline.log.segment import SEQ, TAG
from eddyline.log.storage import Storage

#: what the text of such a row begins with
STANDS = "STANDS "
ConditionOf = Callable[[TypedExpr, Schema], Condition]


@dataclass(frozen=True)
class Asked:
    """A condition that can be written down."""

    where: TypedExpr
    schema: Schema
    ask: Condition

    def __call__(self, values: pa.Table) -> Any:
        return self.ask(values)


def asked(condition_of: ConditionOf) -> ConditionOf:
    return lambda where, schema: Asked(where, schema, condition_of(where, schema))


class _Writer(pickle.Pickler):
    def persistent_id(self, what: Any) -> Any:
        return (what.where, what.schema) if isinstance(what, Asked) else None


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, condition_of: ConditionOf) -> None:
        super().__init__(file)
        self._condition_of = condition_of

    def persistent_load(self, what: Any) -> Asked:
        where, schema = what
        return Asked(where, schema, self._condition_of(where, schema))


def standing_text(what: dict[str, Any]) -> str:
    file = io.BytesIO()
    _Writer(file).dump(what)
    return STANDS + base64.b64encode(zlib.compress(file.getvalue(), 1)).decode()


def standing_of(text: str, condition_of: ConditionOf) -> dict[str, Any]:
    content = zlib.decompress(base64.b64decode(text.removeprefix(STANDS)))
    found: dict[str, Any] = _Reader(io.BytesIO(content), condition_of).load()
    return found


def latest_standing(storage: Storage, state: StreamState) -> tuple[int, str] | None:
    """Where it was written down in a log last what stands, and how; None if it never was."""
    for segment in sorted((each for each in state.segments if each.only_tags), key=lambda each: each.seq, reverse=True):
        if TAG in storage.schema_of(segment.path).names:
            rows = without_standings(storage.read_table(segment.path, [SEQ, TAG]), wanted=True).sort_by(SEQ)
            if rows.num_rows:
                return rows.column(SEQ)[-1].as_py(), rows.column(TAG)[-1].as_py()
    return None


def without_standings(rows: pa.Table, wanted: bool = False) -> pa.Table:
    """Rows of a log that do not tell what stands; or those that do."""
    tells = pc.starts_with(pc.fill_null(rows.column(TAG).cast(pa.string()), ""), STANDS)
    return rows.filter(tells if wanted else pc.invert(tells))
