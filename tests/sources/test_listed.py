"""The stretch of tuples in the text of a tag: found in whichever way it is written, the last if there are several."""

from __future__ import annotations

import re
from itertools import product

import pyarrow as pa
import pytest

from eddyline.sources.listed import ANY_NEXT, ANY_STRETCH, listed_before, listed_in

_RIGHT = re.compile(r'(.*)"tuples"\s*:\s*"([1-9]\d{0,14})-([1-9]\d{0,14})"(.*)', re.DOTALL)

WRITTEN = [
    '{{"content": "{word}", "applies_to": {{"tuples": "{first}-{last}"}}}}',
    '{{"content": "{word}", "applies_to": {{"tuples":"{first}-{last}"}}}}',
    '{{"applies_to": {{"tuples": "{first}-{last}"}}, "content": "{word}"}}',
    '{{"applies_to": {{"tuples": "5-6"}}, "other": {{"tuples" : "{first}-{last}"}}}}',
    '{{"content": "{word}", "applies_to": {{"tuples": "{first}-{last}", "stream": "s"}}}}',
    '{{"content": "{word}", "applies_to": {{"tuples": "{first}-{last}"}} }}',
    '{{"content": "{word}"}}',
]
WORDS = ["sad", "a\nb", "{", "}}", '\\"tuples\\": \\"1-2\\"', "ä"]
ENDS = [(1, 9), (10**14, 10**15 - 1), (0, 3), (7, 10**15)]
ALL = [w.format(word=word, first=a, last=b) for w, word, (a, b) in product(WRITTEN, WORDS, ENDS)]


@pytest.mark.parametrize("texts", [[text] for text in ALL[::5]] + [ALL, ALL[:2], ALL[-3:]])
def test_every_way_of_writing_it(texts: list[str]) -> None:
    found = listed_in(pa.array(texts))
    words, ends = [], []
    for text in texts:
        match = _RIGHT.fullmatch(text)
        words.append(text if match is None else f"{match[1]}{ANY_STRETCH}{match[4]}")
        ends.append((-1, -1) if match is None else (int(match[2]), int(match[3])))
    assert found.words.to_pylist() == words
    assert list(zip(found.first.tolist(), found.last.tolist(), strict=True)) == ends


@pytest.mark.parametrize("beside", [[], ALL[::5]])
def test_how_many_come_next(beside: list[str]) -> None:
    texts = ['{"content": "sad", "applies_to": {"next": 12}}', '{"applies_to":{"next":3}}', *beside]
    found = listed_in(pa.array(texts))
    alone = listed_in(pa.array(ALL[::5]))
    said = [f'{{"content": "sad", "applies_to": {{{ANY_NEXT}}}}}', f'{{"applies_to":{{{ANY_NEXT}}}}}']
    assert found.words.to_pylist() == said + (alone.words.to_pylist() if beside else [])
    assert found.first.tolist()[:2] == [1, 1] and found.last.tolist()[:2] == [12, 3]
    assert found.first.tolist()[2:] == (alone.first.tolist() if beside else [])


def test_who_says_more_is_left_alone() -> None:
    texts = ['{"applies_to": {"next": 3, "attributes": ["v"]}}', '{"applies_to": {"next": 0}}', '{"next": 3}']
    found = listed_in(pa.array(texts))
    assert found.words.to_pylist() == texts
    assert found.first.tolist() == found.last.tolist() == [-1, -1, -1]


def test_a_program_may_write_the_next_texts_where_the_last_ones_were() -> None:
    one, other = (f'{{"content": "{word}", "applies_to": {{"next": {many}}}}}'.encode() for word, many in ["a2", "b7"])
    memory, offsets = bytearray(one), pa.array([0, len(one)], pa.int32()).buffers()[1]

    def texts() -> pa.Array:
        return pa.StringArray.from_buffers(1, offsets, pa.py_buffer(memory))

    assert listed_in(texts()).last.tolist() == listed_before(texts()).last.tolist() == [2]
    memory[:] = other
    assert listed_in(texts()).last.tolist() == listed_before(texts()).last.tolist() == [7]
    assert listed_before(pa.array([one.decode()])).last.tolist() == [2]
