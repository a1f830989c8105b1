"""The stretch of tuples in the text of a tag: found in whichever way it is written, the last if there are several."""

from __future__ import annotations

import re
from itertools import product

import pyarrow as pa
import pytest

from eddyline.sources.listed import ANY_STRETCH, listed_in

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
