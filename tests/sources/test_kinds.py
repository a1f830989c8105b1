"""Kinds of rows are told by bytes where that is possible, and by texts where it is not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from eddyline.sources.kinds import Kinds


@pytest.mark.parametrize(
    "given", [["+", "#", "-", "+"], ["+", None, "", "#"], ["++", "", "é", "+"], ["+-", "", "=", "#"], []]
)
@pytest.mark.parametrize("offset", [0, 1])
def test_which_rows_are_of_a_kind(given: list[str | None], offset: int) -> None:
    kinds, rows = Kinds(pa.array(given, pa.string()).slice(offset)), given[offset:]
    for name in ("+", "#", "-", "=", ""):
        assert kinds.which(name).tolist() == [(text or "") == name for text in rows]
        assert (name in kinds) == any((text or "") == name for text in rows)
    assert kinds.which("+", "").tolist() == [(text or "") in ("+", "") for text in rows]
