"""Spark reads rows that stay in files of the user's as everybody else does."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eddyline.kernels.leaves import Leaves
from eddyline.kernels.task import kernel
from eddyline.log.referred import Referred
from eddyline.log.segment import SEQ, SYSTEM
from eddyline.log.storage import Storage
from eddyline.sources.in_place import DAY, MOMENT, NUMBER, InPlace
from eddyline.spark.evaluate.frames import SparkFrames

SYSTEM_TYPES = dict(
    zip(SYSTEM.names, ("BIGINT", "BIGINT", "BIGINT", "TINYINT", "STRING", "BIGINT", "STRING"), strict=True)
)
MOMENTS = [datetime(1969, 12, 31, 23, 59, 58, 500_000), datetime(1970, 1, 1), datetime(2026, 3, 4, 5, 6, 7, 999_999)]
TIMES = {
    NUMBER: ("INT", pa.array([-3, 0, 7], pa.int32()), 0),
    MOMENT: ("TIMESTAMP", pa.array([m.replace(tzinfo=UTC) for m in MOMENTS], pa.timestamp("us", "UTC")), 7_000_000),
    DAY: ("DATE", pa.array([date(1969, 12, 30), date(1970, 1, 1), date(2026, 3, 4)]), 7_000_000),
}


@pytest.mark.parametrize("kind", TIMES)
def test_all_readers_give_the_same(spark: Any, tmp_path: Path, kind: str) -> None:
    type_, times, micros = TIMES[kind]
    table = pa.table({"a time": times, "x": [float("nan"), None, 2.5]})
    file = tmp_path / "it's a file.parquet"
    pq.write_table(pa.concat_tables([table, table]), file, row_group_size=2)
    now, storage = file.stat(), Storage(str(tmp_path / "db"))
    place = InPlace(str(file), now.st_size, now.st_mtime_ns, 1, 4, "a time", kind, micros)
    path = Referred("s", place, 11, 101).path
    wanted = storage.read_table(path).to_pylist()
    assert [row[SEQ] for row in wanted] == [11, 12, 13, 14]

    fields = {**SYSTEM_TYPES, "a time": type_, "x": "DOUBLE"}
    frame: Any = SparkFrames(spark, storage).read([path], fields, [f"`{name}`" for name in fields])
    assert repr(sorted(frame.toArrow().to_pylist(), key=lambda row: row[SEQ])) == repr(wanted)

    leaves = Leaves(kernel())
    leaves.open("leaf0", [path], storage, False)
    assert repr(leaves.connection.sql(f"FROM leaf0 ORDER BY {SEQ}").to_arrow_table().to_pylist()) == repr(wanted)
    leaves.close()
