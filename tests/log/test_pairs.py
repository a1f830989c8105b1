"""Tuples that are written once, with pairs that tell whose they are, are the answers of all members."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.log.answers import QUERY, Seat, read_segments
from eddyline.log.merging import Merge
from eddyline.log.pairs import answers_in, merged, paired, spread
from eddyline.log.segment import Segment
from eddyline.log.storage import Storage

TUPLES, MEMBERS = 300, 1_000


def _written_once(seed: int, count: int = 200_000) -> pa.Table:
    random = np.random.default_rng(seed)
    members, places = np.sort(random.integers(1, MEMBERS, count)), random.integers(0, TUPLES, count)
    texts = pa.array([f"text {n}" if n % 7 else None for n in range(TUPLES)])
    index = np.arange(TUPLES) + seed * TUPLES
    tuples = pa.table({"_batch": np.full(TUPLES, seed), "_index": index, "x": random.random(TUPLES), "s": texts})
    return paired(tuples, members, places)


def _rows(table: pa.Table) -> list[dict[str, object]]:
    return table.sort_by([(QUERY, "ascending"), ("_index", "ascending")]).to_pylist()


def test_each_member_reads_its_own(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    table = _written_once(1)
    whole = spread(table)
    assert answers_in(table) == whole.num_rows == 200_000
    size = storage.write_table("results/~class1/000000000001-a.once.parquet", table, QUERY)
    segment = Segment("results/~class1/000000000001-a.once.parquet", 200_000, size, (1, 1), (0, 1), (0, 1))
    for number in (1, 500, MEMBERS - 1):
        own = whole.filter(pc.equal(whole.column(QUERY), number))
        found = read_segments(storage, [segment], seat=Seat("~class1", number))
        assert found is not None and QUERY not in found.column_names
        assert found.sort_by("_index").to_pylist() == own.drop_columns([QUERY]).sort_by("_index").to_pylist()
    some = read_segments(storage, [segment], seat=Seat("~class1", 10), before=12)
    numbers = whole.column(QUERY)
    assert some is not None
    assert _rows(some) == _rows(whole.filter(pc.and_(pc.greater_equal(numbers, 10), pc.less(numbers, 12))))


def test_merged_they_are_the_same(tmp_path: Path) -> None:
    once, twice = _written_once(1, 500), _written_once(2, 700)
    wide = spread(_written_once(3, 100))
    for parts in ([once, twice], [once, wide, twice], [wide]):
        together = merged(parts)
        assert _rows(spread(together)) == _rows(pa.concat_tables([spread(part) for part in parts]))
        assert answers_in(together) == sum(map(answers_in, parts))
    storage = Storage(str(tmp_path))
    segments = []
    for number, part in enumerate([once, twice], 1):
        path = (
            f"results/~class1/{number + number // 2:012d}-a.once.parquet"  # the second was committed by another batch
        )
        storage.write_table(path, part, QUERY)
        segments.append(Segment(path, answers_in(part), 1, (number, number), (0, 1), (0, 1)))
    merge = Merge("~class1", tuple(segments), "results/~class1/merged-x.parquet")
    size = merge.run(storage)
    (segment,) = merge.exchange(size).come
    before, after = read_segments(storage, segments), read_segments(storage, [segment])
    assert before is not None and after is not None and _rows(before) == _rows(after)
    assert set(after.column("_batch").to_pylist()) == {1, 2}
