"""Rows that are written once, with who gets them, are read as rows that are written for everybody."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.errors import StorageUnreadable
from eddyline.log.dealt import Dealt
from eddyline.log.storage import Storage

MEMBER = "_query"
rows = st.lists(
    st.tuples(st.integers(-5, 5), st.none() | st.sampled_from(["a", "b", "ü"]), st.none() | st.floats(-1, 1)),
    max_size=8,
)
Row = tuple[int, str | None, float | None]
Hand = list[tuple[int, int]]
hands = st.lists(st.tuples(st.sampled_from([0, 1, 2, 7, 10**12]), st.integers(0, 7)), max_size=20)


def dealt(given_rows: list[Row], hand: Hand) -> Dealt:
    pairs = sorted((member, place) for member, place in hand if place < len(given_rows))
    columns = list(zip(*given_rows, strict=True)) or [(), (), ()]
    table = pa.table(
        [pa.array(columns[0], pa.int64()), pa.array(columns[1], pa.string()).dictionary_encode()],
        ["n", "text"],
    ).append_column("x", pa.array(columns[2], pa.float64()))
    members = np.array([member for member, _ in pairs], np.int64)
    return Dealt.of_pairs(table, MEMBER, 1, members, np.array([place for _, place in pairs], np.int32))


def expanded(given_rows: list[Row], hand: Hand) -> list[dict[str, object]]:
    pairs = sorted((member, place) for member, place in hand if place < len(given_rows))
    made = [(given_rows[place], member) for member, place in pairs]
    return [{"n": n, MEMBER: member, "text": text, "x": x} for (n, text, x), member in made]


@settings(deadline=None)
@given(rows, hands)
def test_everybody_gets_their_rows(given_rows: list[Row], hand: Hand) -> None:
    made = dealt(given_rows, hand)
    again = Dealt.from_batch(made.to_batch())
    wanted = expanded(given_rows, hand)
    for some in (made, again):
        assert len(some) == len(wanted)
        assert some.table().to_pylist() == wanted
        assert some.table().schema.names == ["n", MEMBER, "text", "x"]
        assert some.table(["x", MEMBER]).to_pylist() == [{"x": row["x"], MEMBER: row[MEMBER]} for row in wanted]
        for low, high in ((0, 1), (1, 3), (3, 7), (7, 8), (0, 10**12), (5, 5)):
            own = [row for row in wanted if low <= row[MEMBER] < high]  # type: ignore[operator]
            assert some.table(first=low, end=high).to_pylist() == own
        assert some.sum(pc.less(some.rows.column("n"), 0)) == sum(row["n"] < 0 for row in wanted)  # type: ignore[operator,misc]


spans = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 8), st.integers(0, 8)), unique_by=lambda span: span[0])


@settings(deadline=None)
@given(rows, st.randoms(), spans)
def test_members_whose_rows_overlap(given_rows: list[Row], random: Random, taken: list[tuple[int, int, int]]) -> None:
    """No more places than rows: each member has some of them that are neighbours, and gets them in their order."""
    count = len(given_rows)
    places = list(range(count))
    random.shuffle(places)
    spans = sorted((member, min(a, b, count), min(max(a, b), count)) for member, a, b in taken)
    members, starts, ends = (np.array([span[at] for span in spans], np.int64) for at in range(3))
    table = dealt(given_rows, []).rows
    made = Dealt(table, MEMBER, 1, members, *(each.astype(np.int32) for each in (starts, ends, np.array(places))))
    hand = [(member, place) for member, low, high in spans for place in places[low:high]]
    again = Dealt.from_batch(made.to_batch())
    assert len(again) == len(hand)
    assert again.table().to_pylist() == expanded(given_rows, hand)
    assert again.sum(pc.less(table.column("n"), 0)) == sum(given_rows[place][0] < 0 for _, place in hand)
    for member, low, high in spans:
        own = expanded(given_rows, [(member, place) for place in places[low:high]])
        assert again.table(first=member, end=member + 1).to_pylist() == own
    merged = Dealt.merged([again, made])
    assert merged.places.size == 2 * count, "rows that members share stay shared"
    twice = 2 * expanded(given_rows, hand)
    assert merged.table().num_rows == len(twice)
    for member, low, high in spans:
        own = expanded(given_rows, [(member, place) for place in places[low:high]])
        assert merged.table(first=member, end=member + 1).to_pylist() == own + own
    pieces = [piece.to_pylist() for piece in merged.tables(3)]
    assert [row for piece in pieces for row in piece] == merged.table().to_pylist()
    assert all(len(piece) <= 3 or len({row[MEMBER] for row in piece}) == 1 for piece in pieces)


@settings(deadline=None)
@given(st.lists(st.tuples(rows, hands), min_size=1, max_size=4))
def test_merged_is_one_after_the_other_for_each_member(
    parts: list[tuple[list[Row], Hand]],
) -> None:
    merged = Dealt.from_batch(Dealt.merged([dealt(*part) for part in parts]).to_batch())
    wanted = [row for part in parts for row in expanded(*part)]
    assert merged.table().to_pylist() == sorted(wanted, key=lambda row: row[MEMBER])  # type: ignore[arg-type,return-value]


def test_texts_that_are_numbered_in_some_files_alone_are_merged() -> None:
    """Whether they are is decided by file."""
    one, other = dealt([(1, "a", 0.5)], [(3, 0)]), dealt([(2, "b", None)], [(3, 0), (4, 0)])
    plain = replace(other, rows=other.rows.set_column(1, "text", pa.chunked_array([["b"]])))
    merged = Dealt.from_batch(Dealt.merged([one, plain]).to_batch())
    assert merged.table().to_pylist() == Dealt.merged([one, other]).table().to_pylist()
    assert [row["text"] for row in merged.table().to_pylist()] == ["a", "b", "b"]


def test_columns_may_be_called_as_the_file_calls_its_own() -> None:
    rows = pa.table({"members": ["a", "b"], "row:members": [1, 2], "places": [3, 4]})
    made = Dealt.of_pairs(rows, MEMBER, 0, np.array([5, 6]), np.array([1, 0], np.int32))
    assert Dealt.from_batch(made.to_batch()).table().to_pylist() == [
        {MEMBER: 5, "members": "b", "row:members": 2, "places": 4},
        {MEMBER: 6, "members": "a", "row:members": 1, "places": 3},
    ]


def test_a_file_is_written_as_a_whole_and_a_damaged_one_is_told(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    made = dealt([(1, "a", 0.5), (2, None, None)], [(3, 0), (3, 1), (9, 1)])
    size = storage.write_dealt("results/c/1.dealt", made)
    assert size == (tmp_path / "results/c/1.dealt").stat().st_size
    assert [path.name for path in (tmp_path / "results/c").iterdir()] == ["1.dealt"]
    assert storage.read_table("results/c/1.dealt").to_pylist() == made.table().to_pylist()
    only = storage.read_table("results/c/1.dealt", ["x"], pc.field("n") == 1)
    assert only.to_pylist() == [{"x": 0.5}]
    (tmp_path / "results/c/1.dealt").write_bytes(b"ARROW1 is not all it takes")
    with pytest.raises(StorageUnreadable, match="cannot be read"):
        storage.read_dealt("results/c/1.dealt")
