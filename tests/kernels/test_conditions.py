"""Conditions on rows before any log has them: what cannot be computed does not keep rows out."""

from __future__ import annotations

import pyarrow as pa

from eddyline.kernels.conditions import satisfied


def test_unknown_and_what_overflows_do_not_hold() -> None:
    rows = pa.table({"x": pa.array([2**31 - 1, 3, None, 1], pa.int32()), "t": pa.array([5] * 4, pa.int32())})
    assert satisfied(rows, "c0 * c0 > c1").tolist() == [False, True, False, False]
    assert satisfied(rows.slice(1), "c0 * c0 > c1").tolist() == [True, False, False]
    assert satisfied(rows, "c0 > c1").tolist() == [True, False, False, False]
