"""Grouped filters in tasks: their indexes are kept, and follow the data."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from eddyline.kernels import matching
from eddyline.kernels.grouped.filter import GroupedFilter
from eddyline.kernels.grouped.form import Bound, Form, Range


def test_members_are_found_by_what_tells_them_apart_in_the_latest_tuples(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the constants, x tells members apart better than y; but the tuples are where a tenth of its ranges meet."""
    monkeypatch.setattr(matching, "_WORTH_A_LOOK", 10_000)
    count = 1000
    at = np.arange(count)
    low = np.where(at % 10 == 0, -10, 10 * at)
    members = pa.table({"a": low, "b": low + 30, "c": at, "d": at + 30})
    form = Form(((Range("x", Bound("a"), Bound("b")), Range("y", Bound("c"), Bound("d"))),))
    filter_ = GroupedFilter(form, members, pa.array(at))
    tuples = pa.table({"x": np.full(500, 5), "y": np.arange(500) % 5})

    def candidates() -> tuple[int, int]:
        before = filter_.statistics.candidates
        found = filter_.matches(tuples)
        return filter_.statistics.candidates - before, len(found)

    at_first = candidates()
    assert matching.adapt(filter_)
    later = candidates()
    assert later[1] == at_first[1] and later[0] < at_first[0] / 5
    assert not matching.adapt(filter_)  # it has just been looked at


def test_a_filter_that_turns_nobody_down_is_left_alone() -> None:
    at = np.arange(100)
    form = Form(((Range("x", Bound("a"), Bound("b")),),))
    filter_ = GroupedFilter(form, pa.table({"a": at, "b": at}), pa.array(at))
    filter_.matches(pa.table({"x": np.zeros(1_000_000, np.int64)}))
    assert not matching.adapt(filter_)
