"""Tags that say the usual in the usual way, recognised for whole columns: nothing can be wrong with such a tag.

They are as many as tuples where every tuple is tagged. What they say is read once for all that say the same.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.sources.converted import Mask, mask
from eddyline.sources.listed import ANY_NEXT, ANY_STRETCH, listed_in

_STRETCHES = ("null", f"{{{ANY_STRETCH}}}", f"{{{ANY_NEXT}}}")
_SIGNS, _MODES, _LIFESPANS = (None, "+", "-"), (None, "O", "C"), (None, "I")
#: of tags with different words, and of tuples that one lists: more of them are looked at one by one
_MOST = 1_000


def are_usual(texts: pa.Array) -> Mask:
    """Which of some texts are tags with a content, a sign, a mode and a stretch of tuples, or less, as JSON.

    >>> are_usual(pa.array(['{"content": "sad"}', '{"content": ""}', None, '{"content": "x", "lifespan": 3}'])).tolist()
    [True, False, False, False]
    """
    each = texts if pa.types.is_dictionary(texts.type) else texts.dictionary_encode()
    words, first, last = listed_in(each.dictionary)
    usual = np.array([*map(_is_usual, words.dictionary.to_pylist()[:_MOST]), False])
    which = words.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    found: Mask = usual[np.where(which < len(usual) - 1, which, -1)]
    size = last - first
    found &= (size >= 0) & (size < _MOST)
    if found.all():
        return mask(pc.is_valid(each))
    codes = pc.fill_null(each.indices, -1).to_numpy(zero_copy_only=False)
    usual_of_each: Mask = np.append(found, False)[codes]
    return usual_of_each


@lru_cache(maxsize=4_096)
def _is_usual(text: str) -> bool:
    try:
        tag = json.loads(text)
    except ValueError:
        return False
    if not isinstance(tag, dict) or not tag.keys() <= {"content", "sign", "mode", "lifespan", "applies_to"}:
        return False
    content = tag.get("content")
    fields = (
        _one_of(tag.get("sign"), _SIGNS),
        _one_of(tag.get("mode"), _MODES),
        _one_of(tag.get("lifespan"), _LIFESPANS),
    )
    return (
        isinstance(content, str)
        and bool(content.strip())
        and _is_text(content)
        and all(fields)
        and json.dumps(tag.get("applies_to"), separators=(",", ":")) in _STRETCHES
    )


def _one_of(value: Any, some: tuple[str | None, ...]) -> bool:
    return (value is None or isinstance(value, str)) and value in some


def _is_text(content: str) -> bool:
    """Whether it can be written down: half of a surrogate pair cannot."""
    try:
        content.encode()
    except UnicodeEncodeError:
        return False
    return True
