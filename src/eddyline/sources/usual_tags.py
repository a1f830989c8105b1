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

from eddyline.algebra.tag import wrong_content
from eddyline.algebra.tag_json import why_not_taken
from eddyline.sources.converted import Mask, mask
from eddyline.sources.listed import ANY_NEXT, ANY_STRETCH, listed_in

_STRETCHES = ("null", f"{{{ANY_STRETCH}}}", f"{{{ANY_NEXT}}}")
_FIELDS = {"content", "sign", "mode", "lifespan", "applies_to"}
_SIGNS, _MODES, _LIFESPANS = (None, "+", "-"), (None, "O", "C"), (None, "I")
#: of tags with different words, and of tuples that one lists: more of them are looked at one by one
_MOST = 1_000


def are_usual(texts: pa.Array) -> Mask:
    """Which of some texts are tags with a content, a sign, a mode and a stretch of tuples, or less, as JSON.

    >>> are_usual(pa.array(['{"content": "sad"}', '{"content": ""}', None, '{"content": "x", "lifespan": 3}'])).tolist()
    [True, False, False, False]
    """
    each = numbered(texts)
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


def numbered(texts: pa.Array) -> pa.DictionaryArray:
    """Texts as numbers of a dictionary in which all are texts: who pushes numbers may have NULL among the values.

    >>> numbered(pa.DictionaryArray.from_arrays([0, 1, 0], pa.array(["a", None]))).indices.to_pylist()
    [0, None, 0]
    """
    if pa.types.is_dictionary(texts.type):
        if not texts.dictionary.null_count:
            return texts
        texts = texts.dictionary.take(texts.indices)
    return texts.dictionary_encode()


@lru_cache(maxsize=4_096)
def _is_usual(text: str) -> bool:
    try:
        tag = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(tag, dict) or why_not_taken(tag) is not None or not tag.keys() <= _FIELDS:
        return False
    content = tag.get("content")
    fields = (
        _one_of(tag.get("sign"), _SIGNS),
        _one_of(tag.get("mode"), _MODES),
        _one_of(tag.get("lifespan"), _LIFESPANS),
    )
    return (
        isinstance(content, str)
        and wrong_content(content) is None
        and all(fields)
        and json.dumps(tag.get("applies_to"), separators=(",", ":")) in _STRETCHES
    )


def _one_of(value: Any, some: tuple[str | None, ...]) -> bool:
    return (value is None or isinstance(value, str)) and value in some
