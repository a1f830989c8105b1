"""How close tags are, for all that a window has at once; `reference.tag_function` says the same of two of them."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eddyline.algebra.dictionary import word_of
from eddyline.algebra.marks import Marks
from eddyline.algebra.tag import TagFunction
from eddyline.algebra.user_function import UserFunction
from eddyline.columnar.vectorised import Vectorised, vectorised

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
#: of so many contents it is known what they can mean
_MOST_CONTENTS = 10_000


@dataclass(frozen=True)
class Comparison:
    """A tag function as it goes to workers: that of a user with its code."""

    function: TagFunction
    code: bytes | None = None
    _known: dict[str, frozenset[str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def with_code(self, code: bytes) -> Comparison:
        return replace(self, code=code)

    @property
    def by_objects(self) -> bool:
        """Whether tags are compared by the objects that carry them, not by what they say."""
        return self.function.definition is None and self.function.name in ("cooccurrence", "jaccard")

    def of_contents(self, contents: Sequence[str], other: str) -> list[float]:
        """How close each content is to another one: above 0 if they match, greater the closer they are."""
        definition, threshold = self.function.definition, self.function.threshold
        if definition is not None:
            assert self.code is not None
            given = _of_the_user(definition, self.code)(pa.array(contents, pa.string()), _repeated(other, contents))
            return [_score(value, threshold) for value in given.to_pylist()]
        words, word = [word_of(content) for content in contents], word_of(other)
        if self.function.name == "equality":
            return [float(each == word) for each in words]
        senses = self._senses(other)
        same = [1.0 if each == word else 0.75 for each in words]
        return [
            close if close == 1.0 or not senses.isdisjoint(self._senses(content)) else 0.0
            for close, content in zip(same, contents, strict=True)
        ]

    def _senses(self, content: str) -> frozenset[str]:
        """Contents come again and again, and it takes all groups of the dictionary to tell."""
        found = self._known.get(content)
        if found is None:
            if len(self._known) >= _MOST_CONTENTS:
                self._known.clear()
            found = self._known[content] = self.function.dictionary.senses(content)
        return found

    def of_objects(self, both: Numbers, one: Numbers, other: Numbers) -> Floats:
        """The same from how many objects carry both, the one and the other content."""
        found = both.astype(np.float64)
        if self.function.name == "jaccard":
            either = one + other - both
            found = np.divide(found, either, out=np.zeros_like(found), where=either > 0)
        return np.where(found >= self.function.threshold, found, 0.0)


def _repeated(text: str, beside: Sequence[str]) -> pa.Array:
    return pa.array([text] * len(beside), pa.string())


def _score(value: Any, threshold: float) -> float:
    """NULL matches nothing, and NaN reaches nothing."""
    if value is None or isinstance(value, bool):
        return float(bool(value))
    return float(value) if value >= threshold else 0.0


@lru_cache(maxsize=64)
def _of_the_user(definition: UserFunction, code: bytes) -> Vectorised:
    return vectorised(definition, pickle.loads(code))


def objects_of(marks: Marks) -> Mapping[str, frozenset[int | None]]:
    """The objects of a tuple that carry each word: the tuple itself (None), or some of its fields."""
    found: dict[str, set[int | None]] = {}
    for mark in marks:
        found.setdefault(word_of(mark.content), set()).update((None,) if mark.fields is None else mark.fields)
    return {word: frozenset(fields) for word, fields in found.items()}


def added_up(parts: Floats) -> Floats:
    """The sums of columns, added one after the other as the reference engine does, so that ties are the same."""
    total = np.zeros(parts.shape[1])
    for part in parts:
        total = total + part
    return total
