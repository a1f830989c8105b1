"""Which segments are merged, and which may go."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from eddyline.log.answers import BATCH, batch_by_batch, read_segments
from eddyline.log.cutting import beyond
from eddyline.log.merging import Limits, merges
from eddyline.log.segment import Segment
from eddyline.log.storage import Storage


def segment(at: int, size: int = 10, minus: int = 0, **bounds: tuple[int, int]) -> Segment:
    place = (at, at)
    zones = {"seq": place, "index": place, "tick": place, **bounds}
    return Segment(f"{at}", 1, size, zones["seq"], zones["index"], zones["tick"], minus)


def parts(segments: list[Segment], widest: int | None = None) -> list[list[str]]:
    found = merges("s", "streams/s", segments, Limits(3, 1000, widest))
    return [[part.path for part in merge.parts] for merge in found]


def test_neighbours_of_one_size_are_merged() -> None:
    assert parts([segment(i) for i in range(2)]) == []
    assert parts([segment(i) for i in range(5)]) == [["0", "1", "2", "3", "4"]]
    # one that is much larger is not written again for a few small ones beside it
    assert parts([segment(0, 900), *(segment(i) for i in range(1, 3))]) == []
    assert parts([segment(0, 900), *(segment(i) for i in range(1, 4))]) == [["1", "2", "3"]]
    assert parts([segment(i, 900) for i in range(3)]) == [["0", "1", "2"]]
    assert parts([segment(i, 1000) for i in range(30)]) == []  # large enough
    assert all(len(run) * 900 <= 3000 for run in parts([segment(i, 900) for i in range(30)]))


def test_where_old_ones_go_segments_stay_narrow() -> None:
    assert parts([segment(i) for i in range(9)], widest=3) == [["0", "1", "2", "3"], ["4", "5", "6", "7"]]
    assert parts([segment(i) for i in range(9)], widest=1) == []


def test_revisions_stay_apart() -> None:
    mixed = [segment(i, minus=i % 2) for i in range(8)]
    assert parts(mixed) == [["0", "2", "4", "6"], ["1", "3", "5", "7"]]


def test_a_merged_segment_is_known_without_reading_it() -> None:
    some = [segment(3, tick=(7, 9)), segment(4, tick=(1, 2)), segment(5, index=(0, -1), tick=(0, -1))]
    (merge,) = merges("s", "streams/s", some, Limits(3, 1000))
    (merged,) = merge.exchange(77).come
    assert (merged.rows, merged.size, merged.seq, merged.index, merged.tick) == (3, 77, (3, 5), (3, 4), (1, 9))
    assert merge.exchange(77).applied([segment(9), *some, segment(1)]) == [segment(1), merged, segment(9)]


def test_rows_of_several_batches_are_read_batch_by_batch(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    first, second = pa.table({BATCH: [1, 1, 3], "x": [1, 2, 3]}), pa.table({BATCH: [2, 5], "y": ["b", "e"]})
    for name, table in (("a", first), ("b", second), ("c", pa.table({BATCH: [7]}))):
        storage.write_table(name, table)
    assert storage.merge_tables("ab", ["a", "b"]) > 0
    assert storage.read_table("ab").to_pydict() == {
        BATCH: [1, 1, 3, 2, 5],
        "x": [1, 2, 3, None, None],
        "y": [None, None, None, "b", "e"],
    }
    segments = [Segment("ab", 5, 1, (1, 5), (0, -1), (0, 9)), Segment("c", 1, 1, (7, 7), (0, -1), (0, 9))]
    assert [(b, t.num_rows) for b, t in batch_by_batch(storage, segments)] == [(1, 2), (2, 1), (3, 1), (5, 1), (7, 1)]
    assert [batch for batch, _ in batch_by_batch(storage, segments, since=2)] == [3, 5, 7]
    rest = read_segments(storage, segments, since=2)
    assert rest is not None and rest.column(BATCH).to_pylist() == [3, 5, 7]


@pytest.mark.parametrize("numbered", [(True, True), (True, False), (False, True)])
def test_texts_may_be_numbers_of_a_dictionary_in_some_of_the_files(tmp_path: Path, numbered: tuple[bool, bool]) -> None:
    storage = Storage(str(tmp_path))
    for name, text, as_numbers in zip("ab", ("one", "two"), numbered, strict=True):
        texts = pa.array([text, None, text])
        storage.write_table(name, pa.table({BATCH: [1, 1, 2], "x": texts.dictionary_encode() if as_numbers else texts}))
    assert storage.merge_tables("ab", ["a", "b"]) > 0
    assert storage.read_table("ab").column("x").to_pylist() == ["one", None, "one", "two", None, "two"]


def test_a_revision_goes_with_what_it_speaks_of() -> None:
    wide = segment(1, index=(1, 50), tick=(10, 200))
    deletion = segment(2, minus=1, index=(7, 7), tick=(20, 20))
    elsewhere = segment(3, minus=1, index=(60, 60), tick=(20, 20))
    old, new = segment(0, index=(60, 70), tick=(5, 20)), segment(4, index=(80, 90), tick=(300, 300))
    assert beyond([old, wide, deletion, elsewhere, new], 100).gone == {"0", "3"}
    assert beyond([old, wide, deletion, elsewhere, new], 201).gone == {"0", "1", "2", "3"}
    assert beyond([old, wide], 5).gone == frozenset()
