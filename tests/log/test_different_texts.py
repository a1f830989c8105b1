"""What a search among tags asks of a segment: the different texts of its marks."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eddyline.log.storage import Storage


@pytest.mark.parametrize(
    "columns, expected",
    [
        ({"_tags": ["a", "b", None, "a"]}, {"a", "b"}),
        ({"_tags": pa.array([None], pa.string())}, set()),
        ({"id": [1, 2]}, set()),
        ({"_tags": ["a", "b", "c", "d"]}, None),
    ],
    ids=["some", "none", "no such column", "too many"],
)
def test_of_a_file(tmp_path: Path, columns: dict[str, object], expected: set[str] | None) -> None:
    pq.write_table(pa.table(columns), tmp_path / "f.parquet", row_group_size=2)
    found = Storage(str(tmp_path)).different_texts("f.parquet", "_tags", 3)
    assert (None if found is None else set(found)) == expected
