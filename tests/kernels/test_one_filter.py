"""One filter for several matches finds for each what its own would find."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from eddyline.kernels.direct import Reading
from eddyline.kernels.eddy.eddies import Eddies
from eddyline.kernels.grouped.form import Bound, Form, Range, equal
from eddyline.kernels.matching import Asked, Filter, Match
from eddyline.kernels.one_filter import OneFilter, found_together
from eddyline.log.storage import Storage

ROWS, MEMBERS = 2_000, 40
FORMS = {
    "above": (Range("_x0", Bound("_p0", inclusive=False)),),
    "below": (Range("_x0", None, Bound("_p0")),),
    "named": (equal("_x1", "_p1"), Range("_x0", Bound("_p0"))),
}


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    made = Storage(str(tmp_path))
    random = np.random.default_rng(1)
    texts = pa.array(["a", "b", None, "d", "é"]).take(pa.array(random.integers(0, 5, ROWS)))
    made.write_table("rows.parquet", pa.table({"_tick": np.arange(ROWS), "x": random.random(ROWS), "s": texts}))
    for name in FORMS:
        numbers = pa.array(random.permutation(MEMBERS) + 1)
        texts = pa.array(["a", "b", "c", "é"]).take(pa.array(random.integers(0, 4, MEMBERS)))
        made.write_table(name, pa.table({"_query": numbers, "_p0": random.random(MEMBERS), "_p1": texts}))
    return made


def _match(form: str, condition: str, kept: tuple[str, ...]) -> Match:
    ranges = FORMS[form]
    names = {"_x0": "c0", "_x1": "c1"}
    used = {range_.attribute for range_ in ranges}
    types = {"_x0": pa.float64(), "_x1": pa.string()}
    casts = {"_p0": pa.float64(), "_p1": pa.string()}
    filter_ = Filter(form, Form((ranges,)), {name: types[name] for name in sorted(used)}, casts, MEMBERS)
    # the same attributes have other names in each
    columns = {name: f"{form}{name}" for name in sorted(used)}
    given = {**dict.fromkeys(kept), **{columns[name]: f"{names[name]} AS {columns[name]}" for name in columns}}
    texts = {name: text or name for name, text in given.items()}
    source = ("_tick", '"x" AS c0', '"s" AS c1')
    rows = f"SELECT {', '.join(source)} FROM leaf0"
    statement = f"SELECT {', '.join(texts.values())} FROM ({rows}) WHERE {condition}"
    reading = Reading("leaf0", ("rows.parquet",), source, (), texts, condition)
    return Match(statement, (Asked("leaf1", form, filter_, columns),), kept, "_query", {}, reading)


def test_each_gets_its_own(storage: Storage) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW leaf0 AS FROM read_parquet('{storage.path('rows.parquet')}')")
    matches = (
        _match("above", "_tick < 1500", ("_tick", "c1")),
        _match("below", "_tick >= 400", ("c0",)),
        _match("above", "_tick < 1500", ("_tick",)),
        _match("named", "true", ("_tick", "c0", "c1")),
    )
    shared = OneFilter("f", matches)
    assert matches[0].reading is not None
    found = found_together(shared, matches[0].reading, connection, storage)
    assert found is not None
    for place, match in enumerate(matches):
        theirs = found.tables(place, match)
        assert theirs is not None
        one, other = (_rows(tables) for tables in (theirs, match.tables(connection, storage, Eddies({}))))
        assert one == other and one


def _rows(tables: object) -> list[tuple[object, ...]]:
    together = pa.concat_tables([table for _, table in tables])  # type: ignore[attr-defined]
    return sorted(zip(*together.to_pydict().values(), strict=True), key=repr)
