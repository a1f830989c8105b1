"""What need not be read is not read, and conditions stay short."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.stream import StreamReceive
from eddyline.algebra.types import INTEGER
from eddyline.kernels.sheet import Sheet
from eddyline.log.results import StageResult
from eddyline.log.segment import Segment
from eddyline.spark.spans import Spans
from eddyline.spark.stages import STREAM, Stage
from eddyline.spark.work import _said

spans = st.lists(st.tuples(st.integers(-500, 500), st.integers(0, 9)), max_size=40).map(
    lambda pairs: Spans.of((low, low + width) for low, width in pairs)
)


def test_corrections_read_the_segments_that_they_concern() -> None:
    stage = Stage("q", STREAM, StreamReceive("s", Schema((Field("x", INTEGER),))), ("x",))
    places = {"early": (1, 5), "late": (6, 9), "unknown": None}
    had = StageResult(tuple(Segment(name, 1, 1, (0, 0), (1, 1), (0, 0), 0, place) for name, place in places.items()))
    sheet = Sheet()
    view: Any = SimpleNamespace(frames=sheet, on_read=lambda rows: None, members=None)
    desired: Any = SimpleNamespace(again=Spans.of([(7, 8)]), place="_k0", keys=("_k0",), among=None)
    assert _said(stage, view, desired, had).rows is not None
    assert list(sheet.files.values()) == [("late", "unknown")]


@given(spans, st.integers(1, 8))
def test_coarser_spans_hold_all_of_the_finer(fine: Spans, most: int) -> None:
    coarse = fine.coarser(most)
    assert len(coarse.parts) <= most
    assert all(any(a <= low and high <= b for a, b in coarse) for low, high in fine)
    assert not fine or (coarse.low, coarse.high) == (fine.low, fine.high)
    assert coarse == fine or len(fine.parts) > most
