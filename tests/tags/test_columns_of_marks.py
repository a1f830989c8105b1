"""Functions on columns of marks give what the functions on marks give, text by text."""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pytest

from eddyline.algebra import marks as of
from eddyline.columnar import tags

ROWS = 400


class _SaysA:
    """A search that does not ask when a tag came."""

    reads_time = False

    def __call__(self, marks: of.Marks) -> bool:
        return any(mark.content == "a" for mark in marks)


class _Early:
    def __call__(self, marks: of.Marks) -> bool:
        return any(mark.timestamp < 1 for mark in marks)


def _mark(draw: random.Random) -> of.MarkText:
    """Few numbers, so that the same tag is on several tuples; contents that look like the border of two marks."""
    return of.MarkText(
        draw.randint(-2, 3),
        draw.randint(0, 1),
        draw.randint(0, 2),
        draw.choice(["s", ("s", (1, 2), None, None, False, None)]),
        "u",
        draw.choice(["a", "b],[", 'c"d\n', "é"]),
        draw.choice([None, "+"]),
        "objective",
        draw.choice([None, 3]),
        "O",
        draw.choice([None, (0,), (1, 2), (2,)]),
    )


def _column(draw: random.Random) -> pa.Array:
    counts = [draw.choice([0, 1, 1, 1, 2, 3]) for _ in range(ROWS)]
    return pa.array([of.written([_mark(draw) for _ in range(count)]) for count in counts], pa.string())


@pytest.mark.parametrize("seed", range(4))
def test_projected(seed: int) -> None:
    column = _column(random.Random(seed))
    for reads in ([[0], [1], [2, 0]], [[0]], []):
        right = [of.written(of.projected(of.read(text), reads)) for text in column.to_pylist()]
        assert tags.projected(column, pa.array([json.dumps(reads)] * ROWS)).to_pylist() == right


@pytest.mark.parametrize("seed", range(4))
def test_joined(seed: int) -> None:
    draw = random.Random(seed)
    left, right, none = _column(draw), _column(draw), pa.nulls(ROWS, pa.string())
    for one, other in ((left, right), (left, left), (left, none), (none, right), (none, none)):
        pairs = zip(one.to_pylist(), other.to_pylist(), strict=True)
        expected = [of.written(of.joined(of.read(a), 3, of.read(b), 3)) for a, b in pairs]
        assert tags.joined(one, other, pa.array(["[3,3]"] * ROWS)).to_pylist() == expected


@pytest.mark.parametrize("reads", [[[0], [4, 1]], [[5]], []])
def test_joined_and_projected(reads: list[list[int]]) -> None:
    draw = random.Random(9)
    left, right = _column(draw), _column(draw)
    for one, other in ((left, right), (left, left), (left, pa.nulls(ROWS, pa.string()))):
        pairs = zip(one.to_pylist(), other.to_pylist(), strict=True)
        expected = [of.written(of.projected(of.joined(of.read(a), 3, of.read(b), 3), reads)) for a, b in pairs]
        assert tags.joined(one, other, pa.array([json.dumps([3, 3, reads])] * ROWS)).to_pylist() == expected


@pytest.mark.parametrize("search", [_SaysA(), _Early()])
def test_searched(search: _SaysA | _Early) -> None:
    column = _column(random.Random(1))
    texts = column.to_pylist()
    assert tags.found(search, column).to_pylist() == [search(of.read(text)) for text in texts]
    kept = [of.written([mark for mark in of.read(text) if search((mark,))]) for text in texts]
    assert tags.selected(search, column).to_pylist() == kept


def test_a_made_mark_stands_behind_those_that_are_there() -> None:
    rest = tags.rest_of(of.MarkText(0, of.MADE, 0, "s", "q", "it's, [so]", None, "subjective", None, "O", None))
    own = of.written([of.MarkText(3, of.GIVEN, 4, "s", "s", "sad", "-", "subjective", None, "O", None)])
    for before in ([own, None, own], [None, None, None], [own, own, own]):
        made = tags.added(pa.array(before, pa.string()), pa.array([7, 8, 9]), pa.array([1, 2, 3]), pa.array([rest] * 3))
        for text, had, tick, index in zip(made.to_pylist(), before, (7, 8, 9), (1, 2, 3), strict=True):
            *others, mark = of.read(text)
            assert others == list(of.read(had))
            assert (mark.timestamp, mark.made, mark.number, mark.content) == (tick, of.MADE, index, "it's, [so]")


@pytest.mark.parametrize("words", [2, 40, 250])
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_marks_of_two_streams_stand_one_behind_the_other(words: int, share: float) -> None:
    """Where the same two meet again and again, and where hardly any two do."""
    draw = random.Random(words)
    reads = [[0], [2], [1, 3]]
    given = [
        [
            of.written([of.MarkText(0, of.GIVEN, 0, stream, stream, f"w{word}", None, "junk", None, "O", on)])
            for word, on in zip(range(words), [None, (0,), (1,)] * words, strict=False)
        ]
        for stream in ("a", "b")
    ]
    left, right = ([draw.choice(some) if draw.random() <= share else None for _ in range(300)] for some in given)
    about = pa.array([json.dumps([2, 2, reads])] * 300)
    sides = pa.array(left, pa.string()), pa.array(right, pa.string())
    found = tags.side_by_side(*sides, about)
    right_ones = [
        of.written(of.projected(of.beside(of.read(one), 2, of.read(other), 2), reads))
        for one, other in zip(left, right, strict=True)
    ]
    assert found.to_pylist() == right_ones
    assert tags.side_by_side(*(side.dictionary_encode() for side in sides), about).to_pylist() == right_ones
