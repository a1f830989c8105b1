"""Conditions on rows before any log has them: the kernel says what it cannot compute."""

from __future__ import annotations

import pyarrow as pa

from eddyline.kernels.conditions import satisfied, why_not_asked


def test_what_is_unknown_does_not_hold_and_what_overflows_is_not_computed() -> None:
    rows = pa.table({"x": pa.array([2**31 - 1, 3, None, 1], pa.int32()), "t": pa.array([5] * 4, pa.int32())})
    assert satisfied(rows, "c0 * c0 > c1") is None
    assert satisfied(rows.slice(1), "c0 * c0 > c1").tolist() == [True, False, False]
    assert satisfied(rows, "c0 > c1").tolist() == [True, False, False, False]


def test_what_the_kernel_cannot_take_at_all() -> None:
    rows = pa.table({"x": pa.array([1, 2], pa.int32())})
    assert satisfied(rows, "c0 = 'a' AND c7 > 1") is None
    assert why_not_asked(rows.slice(0, 0), "c7 > 1") is not None
    assert why_not_asked(rows.slice(0, 0), "c0 * c0 > 2147483647 + c0") is None
