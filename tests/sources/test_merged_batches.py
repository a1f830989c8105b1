"""Inputs in columns are merged in the same order as inputs in rows."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.sources import Arrival, Reject, Source, merged, open_source
from eddyline.sources.batches import BatchSource, open_batches
from eddyline.sources.chunk import Chunk, chunk_of_arrivals
from eddyline.sources.merged_batches import merged_batches
from sources.batch_rows import arrivals, in_one
from sources.extents import SECOND, extent, write

NOTHING = extent("x INTEGER", timestamp=None)
BAD = -99


@dataclass
class Listed:
    """An input whose rows are given by their ticks; None is a row without one, BAD a reject."""

    name: str
    ticks: list[int | None]
    chunk_rows: int = 1

    def rows(self) -> Iterator[Arrival | Reject]:
        for line, tick in enumerate(self.ticks, 1):
            if tick == BAD:
                yield Reject(self.name, "file", line, "", "bad")
            else:
                yield Arrival(self.name, line, "+", (line,), tick)

    def chunks(self) -> Iterator[Chunk]:
        rows = list(self.rows())
        for start in range(0, len(rows), self.chunk_rows):
            part = rows[start : start + self.chunk_rows]
            good = [row for row in part if isinstance(row, Arrival)]
            bad = [row for row in part if isinstance(row, Reject)]
            chunk = chunk_of_arrivals(NOTHING, "file", good, [None] * len(good), bad, 0)
            yield Chunk(**{**vars(chunk), "extent": self.name})


def batches(inputs: list[Listed], batch_rows: int) -> list[list[Chunk]]:
    return list(merged_batches([cast(BatchSource, input_) for input_ in inputs], batch_rows))


def expected(inputs: list[Listed], batch_rows: int) -> list[list[tuple[str, int]]]:
    rows = [row for row in merged([cast(Source, input_) for input_ in inputs]) if isinstance(row, Arrival)]
    order = {input_.name: number for number, input_ in enumerate(inputs)}
    cut = [rows[start : start + batch_rows] for start in range(0, len(rows), batch_rows)]
    return [sorted(((r.extent, r.line) for r in part), key=lambda row: (order[row[0]], row[1])) for part in cut]


def found(chunks: list[Chunk]) -> list[tuple[str, int]]:
    return [(chunk.extent, line) for chunk in chunks for line in chunk.line.to_pylist()]


def check(inputs: list[Listed], batch_rows: int) -> None:
    cut = batches(inputs, batch_rows)
    with_rows = [chunks for chunks in cut if any(chunk.num_rows for chunk in chunks)]
    assert [found(chunks) for chunks in with_rows] == expected(inputs, batch_rows)
    assert all(len(found(chunks)) == batch_rows for chunks in with_rows[:-1])
    assert all(chunk.num_rows or chunk.rejects for chunks in cut for chunk in chunks)
    for input_ in inputs:
        rejects = [r for chunks in cut for chunk in chunks if chunk.extent == input_.name for r in chunk.rejects]
        assert rejects == [row for row in input_.rows() if isinstance(row, Reject)]


def test_by_tick_and_then_by_order_of_creation() -> None:
    cut = batches([Listed("0", [1, 3]), Listed("1", [1, 2])], 1)
    assert [found(chunks) for chunks in cut] == [[("0", 1)], [("1", 1)], [("1", 2)], [("0", 2)]]


def test_a_late_row_stays_late() -> None:
    cut = batches([Listed("0", [10, 1]), Listed("1", [5, 10])], 1)
    assert [found(chunks) for chunks in cut] == [[("1", 1)], [("0", 1)], [("0", 2)], [("1", 2)]]


def test_no_inputs_and_rejects_alone() -> None:
    assert batches([], 5) == []
    [[chunk]] = batches([Listed("0", [BAD])], 5)
    assert (chunk.num_rows, len(chunk.rejects)) == (0, 1)


INPUT = st.lists(st.one_of(st.integers(-3, 9), st.none(), st.just(BAD)), max_size=14)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(INPUT, st.integers(1, 5)), max_size=4), st.sampled_from([1, 2, 3, 7, 100]))
def test_the_same_order_as_row_by_row(inputs: list[tuple[list[int | None], int]], batch_rows: int) -> None:
    check([Listed(str(number), ticks, size) for number, (ticks, size) in enumerate(inputs)], batch_rows)


def test_files(tmp_path: Path) -> None:
    write(
        tmp_path / "a.csv",
        "time,_op,_ref\n" + "".join(f"{n * 3 % 50},,\n{'' if n % 3 else 'x'},-,1\n" for n in range(90)),
    )
    write(tmp_path / "b.csv", "time\n" + "".join(f"{n // 2}\n" for n in range(120)))
    extents = [extent("time INTEGER", path, name=path[0]) for path in ("a.csv", "b.csv")]
    sources = [open_source(of, tmp_path, SECOND) for of in extents]
    rows = list(merged([source for source in sources if source is not None]))
    good = [row for row in rows if isinstance(row, Arrival)]
    for chunk_rows, batch_rows in ((1, 7), (10, 7), (1000, 13), (64, 1), (1000, 1000)):
        opened = [open_batches(of, tmp_path, SECOND, chunk_rows) for of in extents]
        cut = list(merged_batches([source for source in opened if source is not None], batch_rows))
        for start, chunks in zip(range(0, len(good), batch_rows), cut, strict=True):
            part = sorted(good[start : start + batch_rows], key=lambda row: (row.extent, row.line))
            read = [row for chunk in chunks for row in arrivals(chunk, extents["ab".index(chunk.extent)])]
            assert in_one(read) == in_one(part)


def test_memory_is_bounded() -> None:
    class Endless(Listed):
        def chunks(self) -> Iterator[Chunk]:
            rows = [Arrival(self.name, line, "+", (line,), None) for line in range(2000)]
            chunk = chunk_of_arrivals(NOTHING, "file", rows, [None] * len(rows), [], 0)
            for start in range(0, 400_000, 2000):
                ticks = (chunk.line.to_numpy() + start) // (1 + int(self.name))
                yield Chunk(**{**vars(chunk), "extent": self.name, "tick": _array(ticks)})

    passing = merged_batches([cast(BatchSource, Endless(str(number), [])) for number in range(3)], 1500)
    count, largest = 0, 0
    tracemalloc.start()
    for chunks in passing:
        count += sum(chunk.num_rows for chunk in chunks)
        largest = max(largest, tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert count == 1_200_000
    assert largest < 3_000_000


def _array(ticks: object) -> object:
    import pyarrow as pa

    return pa.array(ticks)
