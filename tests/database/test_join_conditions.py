"""What conditions of joins mean, whatever their constants look like."""

from __future__ import annotations

from pathlib import Path

import pytest

import eddyline
from laws.test_sharing import BUSY
from laws.without_spark import kernels_alone


@pytest.mark.parametrize("text", ["`_t`", "`_x`", "l_t"])
def test_a_constant_may_look_like_the_column_of_the_windows_tick(tmp_path: Path, text: str) -> None:
    window = "[FROM NOW-3 TO NOW SLIDE 1 SEC]"
    with kernels_alone():
        db = eddyline.connect(tmp_path / "db", heartbeat=None, clock=lambda: 0, pace=BUSY)
        for name in "ab":
            db.sql(f"CREATE STREAM {name} (k STRING, t INTEGER) TIMESTAMP BY t")
        where = f"concat(a.k, '{text}') = b.k AND wtime(*) < 100"
        db.sql(f"CREATE QUERY q AS SELECT a.k AS x, b.k AS y FROM a {window}, b {window} WHERE {where}")
        db.stream("a").push([("u", 1), ("w", 3)])
        db.stream("b").push([(f"u{text}", 1), ("w", 3)])
        db.flush()
        told = [row for answer in db.query("q").fetch() for row in answer.rows]
        db.close()
    assert told and set(told) == {("u", f"u{text}")}
