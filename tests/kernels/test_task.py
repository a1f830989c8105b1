"""What a task says when the kernel stops half-way."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from eddyline.kernels.task import Work, done


def test_an_overflow_after_many_rows_is_no_trouble_with_files(tmp_path: Path) -> None:
    """The kernel tells of it through a stream of rows, as it tells of files that cannot be read."""
    statement = """
        SELECT i AS _tick, CAST(1 AS TINYINT) AS _diff, 9223372036854775800 + i AS x FROM range(-3000000, 3000000) t(i)
    """
    schema = pa.schema([("_tick", pa.int64()), ("_diff", pa.int8()), ("x", pa.int64())])
    work = Work(
        stage="s",
        batch=0,
        root=str(tmp_path),
        statement=statement,
        files={},
        tables={},
        schema=schema,
        folder="results/s",
    )
    *before, refused, spent = done([work])
    assert before and all(reference.segment is not None for reference in before)
    assert "Overflow" in refused.refused and refused.segment is None
    assert spent.seconds > 0 and spent.segment is None and not spent.refused
