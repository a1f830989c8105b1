"""A table that lies elsewhere, as functions that are asked for keys; `lines` are the same rows in a file.

They are pickled by value, so what they remember is in the modules that they import.
"""

from __future__ import annotations

import json
import random

import pyarrow as pa

ROWS = [(-1, "minus", 7), (0, "zero", 0), (1, "one", 1), (1, "uno", 2), (2, None, 3), (3, "three", None)]


def find(keys: pa.Array) -> pa.Table:
    """For some keys one row, for some several, for some none."""
    wanted = set(keys.to_pylist())
    assert None not in wanted and len(wanted) == len(keys), "keys are distinct"
    rows = [row for row in ROWS if row[0] in wanted]
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    types = (pa.int32(), pa.string(), pa.int64())
    return pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], ["key", "name", "size"])


def find_or_fail(keys: pa.Array) -> pa.Table:
    """The same, if one is lucky."""
    if random.random() < 0.4:
        raise ConnectionError("nobody is there")
    return find(keys)


def fail(keys: pa.Array) -> pa.Table:
    raise ConnectionError(f"nobody is there for {len(keys)} keys")


def lines() -> str:
    """All rows, as a file has them."""
    return "\n".join(json.dumps(dict(zip(("key", "name", "size"), row, strict=True))) for row in ROWS) + "\n"
