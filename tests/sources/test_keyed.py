"""Rows of streams with a KEY, in files and pushes: revisions need no `_ref`, and no tuple comes without its key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eddyline.sources import Reject
from eddyline.sources.batch_intake import Stretch
from eddyline.sources.batches import open_batches
from eddyline.sources.chunk import Chunk
from eddyline.sources.pushed import chunk_of
from sources.batch_rows import check_same
from sources.extents import SECOND, extent, write

CSV = replace(extent("k STRING, n INTEGER, v INTEGER, time INTEGER", "in.csv"), key=("k", "n"))
JSON = replace(CSV, format="json", options=(("path", "in.json"),))
BY_TIME = replace(CSV, key=("time",))


def test_csv(tmp_path: Path) -> None:
    write(
        tmp_path / "in.csv", "_op,_ref,k,n,v,time\n,,a,1,2,3\n-,,a,1,,\n-,7,,,,\n=,,a,1,5,6\n=,7,a,1,5,6\n-,,a,1,x,9\n"
    )
    rows = check_same(tmp_path, CSV)
    assert [(row.op, row.ref, row.values, row.tick) for row in rows if not isinstance(row, Reject)] == [
        ("+", None, ("a", 1, 2, 3), 3),
        ("-", None, ("a", 1, None, None), None),
        ("-", 7, None, None),
        ("=", None, ("a", 1, 5, 6), 6),
        ("=", 7, ("a", 1, 5, 6), 6),
        ("-", None, ("a", 1, None, None), 9),
    ]


def test_rows_without_a_key_are_set_aside(tmp_path: Path) -> None:
    write(tmp_path / "in.csv", "_op,_ref,k,n,v,time\n,,,1,2,3\n-,,a,,,\n-,,a,x,,\n=,,,1,5,6\n=,7,,1,5,6\n=, ,a,1,5,6\n")
    rows = check_same(tmp_path, CSV)
    assert [row.reason for row in rows if isinstance(row, Reject)] == [
        "k: no value, but it is a KEY column",
        "n: no value, but it is a KEY column",
        "n: 'x' is not an INTEGER",
        "k: no value, but it is a KEY column",
        "k: no value, but it is a KEY column",
        "_ref: ' ' is not a positive whole number",
    ]


@pytest.mark.parametrize(
    ("of", "content"),
    [
        (CSV, "_op,k,n,v,time\n,a,1,2,3\n-,a,1,,\n=,a,1,5,6\n"),
        (CSV, "_op,_ref,k,n,v,time\n,,a,1,2,3\n-,,a,1,,\n=,,a,1,5,6\n=,5,a,1,5,6\n-,5,,,,\n"),
        (BY_TIME, "_op,k,n,v,time\n,a,1,2,3\n-,,,,3\n=,a,1,5,3\n"),
        (
            JSON,
            '{"k": "a", "n": 1, "time": 3}\n{"_op": "-", "k": "a", "n": 1}\n'
            '{"_op": "=", "k": "a", "n": 1, "time": 4}\n',
        ),
    ],
)
def test_plain_files_are_not_read_row_by_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: Any, content: str
) -> None:
    monkeypatch.setattr(Stretch, "take", lambda *_: pytest.fail("taken row by row"))
    write(tmp_path / (of.option("path") or ""), content)
    assert not [row for row in check_same(tmp_path, of) if isinstance(row, Reject)]


fields = st.sampled_from(["", "1", "2", "a", " ", "-1"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(["", "+", "-", "=", "?"]), fields, fields, fields, fields, fields), max_size=8)
)
def test_whatever_a_file_holds(tmp_path: Path, rows: list[tuple[str, ...]]) -> None:
    write(tmp_path / "in.csv", "\n".join(["_op,_ref,k,n,v,time", *(",".join(row) for row in rows), ""]))
    for of in (CSV, BY_TIME, replace(CSV, retain=5)):
        check_same(tmp_path, of, (3,))


def told(chunk: Chunk) -> tuple[list[Any], list[Any]]:
    rows = zip(
        chunk.op.to_pylist(), chunk.ref.to_pylist(), chunk.tick.to_pylist(), chunk.values.to_pylist(), strict=True
    )
    return list(rows), [(reject.line, reject.reason) for reject in chunk.rejects]


def test_pushes_and_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, tables and files of all kinds say the same, and tables without `_ref` are not taken apart."""
    rows: list[dict[str, Any]] = [
        {"_op": "+", "k": "a", "n": 1, "v": 2, "time": 3},
        {"_op": "=", "k": "a", "n": 1, "v": 3, "time": 4},
        {"_op": "-", "k": "a", "n": 1, "v": None, "time": None},
    ]
    expected = told(chunk_of(CSV, rows, SECOND))
    assert [(op, ref, tick) for op, ref, tick, _ in expected[0]] == [("+", None, 3), ("=", None, 4), ("-", None, None)]
    assert expected[0][2][3] == {"k": "a", "n": 1, "v": None, "time": None}
    assert told(chunk_of(CSV, [{"_op": "-", "k": "a", "n": 1}], SECOND))[0] == expected[0][2:]
    assert told(chunk_of(CSV, [{"_op": "-", "k": "a"}], SECOND))[1] == [(1, "n: no value, but it is a KEY column")]
    table = pa.Table.from_pylist(rows)
    assert told(chunk_of(CSV, table.append_column("_ref", pa.nulls(3, pa.int64())), SECOND)) == expected
    parquet.write_table(table, tmp_path / "in.parquet")
    with monkeypatch.context() as patch:
        patch.setattr(Stretch, "take", lambda *_: pytest.fail("taken row by row"))
        assert told(chunk_of(CSV, table, SECOND)) == expected
        assert told(chunk_of(CSV, pd.DataFrame(rows), SECOND)) == expected
        assert told(chunk_of(CSV, table.slice(2).select(["_op", "k", "n"]), SECOND))[0] == expected[0][2:]
        source = open_batches(replace(CSV, format="parquet", options=(("path", "in.parquet"),)), tmp_path, SECOND)
        assert source is not None and [told(chunk) for chunk in source.chunks()] == [expected]
    nameless = table.set_column(1, "k", pa.nulls(3, pa.string()))
    assert [line for line, _ in told(chunk_of(CSV, nameless, SECOND))[1]] == [1, 2, 3]
