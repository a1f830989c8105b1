"""What a stream without tags costs because there may be tags, in one process without Spark.

All that is done for rows only because of tags is done twice on one of two sides, and once on the other, batch by batch
in turns. The difference is what it takes. Code from before there were tags would differ in much else.

python -m bench.tags.untagged --rows 100000 --batches 60
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
from tests.laws.without_spark import kernels_alone

from bench.tags.aims import UNTAGGED_AIM
from bench.tags.alone import Alone
from bench.tags.apart import untagged_sides
from bench.tags.experiments import Side
from bench.tags.workload import Stream
from eddyline.log import ingest
from eddyline.log.rows import Rows
from eddyline.log.segment import DIFF, TAG, TICK, Segment, segment_of
from eddyline.sources.kinds import Kinds

_FOR_TAGS = ("has_tick", "tags", "tag")
ONCE, TWICE = "once", "twice"


class _Rows(Rows):
    """What comes in, looked at for tags again."""

    def __init__(self, extent: Any, chunks: Any, arrival_tick: int) -> None:
        super().__init__(extent, chunks, arrival_tick)
        before = [getattr(self, name) for name in _FOR_TAGS]
        self.tag = pa.concat_arrays([chunk.tag for chunk in chunks])
        self.tags = Kinds(self.op).which("#")
        self.has_tick = pc.is_valid(pa.concat_arrays([chunk.tick for chunk in chunks])).to_numpy(zero_copy_only=False)
        assert all(len(one) == len(getattr(self, name)) for one, name in zip(before, _FOR_TAGS, strict=True))

    def tags_with_rows(self, table: pa.Table, refused: Sequence[int]) -> Any:
        super().tags_with_rows(table, refused)
        return super().tags_with_rows(table, refused)


def _segment_of(path: str, size: int, table: pa.Table) -> Segment:
    """Tags are counted again, and rows without weight left out of the ticks that are touched."""
    pc.sum(pc.equal(table.column(DIFF), 0)).as_py()
    table.column(TICK).filter(pc.not_equal(table.column(DIFF), 0))
    return segment_of(path, size, table)


def _with_marks(rows: pa.Table) -> pa.Table:
    """One more column that is always empty is written."""
    rows = _own_with_marks(rows)
    return rows.append_column(f"{TAG}_again", rows.column(TAG))


def _tags_of(self: ingest.Ingest, *arguments: Any) -> Any:
    _own_tags_of(self, *arguments)
    return _own_tags_of(self, *arguments)


_own_with_marks = ingest._with_marks
_own_tags_of: Callable[..., Any] = ingest.Ingest._tags_of


@contextmanager
def twice() -> Iterator[None]:
    patches = {"Rows": _Rows, "segment_of": _segment_of, "_with_marks": _with_marks}
    with ExitStack() as stack:
        for name, other in patches.items():
            stack.enter_context(patch.object(ingest, name, other))
        stack.enter_context(patch.object(ingest.Ingest, "_tags_of", _tags_of))
        yield


def measured(side: Side, rows: int, settle: int, batches: int, folder: Path) -> dict[str, list[float]]:
    """Seconds of each batch, taken in and answered, on both sides."""
    with kernels_alone(), ExitStack() as opened:
        running = {name: opened.enter_context(closing(Alone(side, folder / name))) for name in (ONCE, TWICE)}
        for number, batch in enumerate(Stream(0).batches(settle + batches, rows)):
            for name in (ONCE, TWICE) if number % 2 else (TWICE, ONCE):
                with twice() if name == TWICE else nullcontext():
                    running[name].take(batch)
        told = {name: each.told() for name, each in running.items()}
        assert told[ONCE] == told[TWICE], f"{side.name}: {told}"
    return {
        name: [one + other for one, other in zip(each.taking, each.answering, strict=True)][settle:]
        for name, each in running.items()
    }


def typical(seconds: Sequence[float]) -> float:
    """The mean of the quicker half: what others do on the machine only ever adds."""
    return statistics.mean(sorted(seconds)[: max(1, len(seconds) // 2)])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="of a batch")
    parser.add_argument("--settle", type=int, default=5, help="batches that are not counted")
    parser.add_argument("--batches", type=int, default=60, help="that are counted")
    parser.add_argument("--strict", action="store_true", help=f"end with 1 if any is above {UNTAGGED_AIM:g}")
    options = parser.parse_args(arguments)
    worst = 0.0
    print("| query | once, ms | twice, ms | ÷ |\n|---|---|---|---|")
    for side in untagged_sides():
        with tempfile.TemporaryDirectory() as folder:
            spent = measured(side, options.rows, options.settle, options.batches, Path(folder))
        once, again = typical(spent[ONCE]), typical(spent[TWICE])
        worst = max(worst, again / once)
        print(f"| {side.name} | {once * 1e3:.2f} | {again * 1e3:.2f} | {again / once:.3f}× |", flush=True)
    return 1 if options.strict and worst >= UNTAGGED_AIM else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
