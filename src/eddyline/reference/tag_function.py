"""How close two tags are, by their contents or by the objects that carry them (Stream Tag Framework section 4.1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any

from eddyline.algebra.dictionary import Dictionary, word_of
from eddyline.algebra.tag import TagFunction
from eddyline.algebra.user_function import UserFunction
from eddyline.errors import InvalidAlgebra
from eddyline.reference.element import Mark


class Occurrences:
    """The objects that carry each content. An object is a tuple, or one attribute of a tuple."""

    def __init__(self) -> None:
        self._objects: defaultdict[str, set[Hashable]] = defaultdict(set)

    def add(self, tuple_: Hashable, mark: Mark) -> None:
        fields: frozenset[int | None] = frozenset({None}) if mark.fields is None else frozenset(mark.fields)
        self._objects[word_of(mark.tag.content)].update((tuple_, field) for field in fields)

    def of(self, content: str) -> set[Hashable]:
        return self._objects.get(word_of(content), set())


Closeness = Callable[[str, str], float]


def closeness(function: TagFunction, dictionary: Dictionary, occurrences: Occurrences) -> Closeness:
    """The tag function E: for two contents a number above 0 if they match, greater the closer they are, else 0."""
    if function.definition is not None:
        return _of_the_user(function.definition, function.threshold)
    return _FUNCTIONS[function.name](function.threshold, dictionary, occurrences)


def _equality(threshold: float, dictionary: Dictionary, occurrences: Occurrences) -> Closeness:
    """The same words, whatever their case."""
    return lambda a, b: float(word_of(a) == word_of(b))


def _dictionary(threshold: float, dictionary: Dictionary, occurrences: Occurrences) -> Closeness:
    """The same meaning; the same word is closer still, but less than two words of the same meaning."""
    return lambda a, b: 1.0 if word_of(a) == word_of(b) else 0.75 * dictionary.same_meaning(a, b)


def _cooccurrence(threshold: float, dictionary: Dictionary, occurrences: Occurrences) -> Closeness:
    """|A ∩ B|, if it reaches the threshold; A and B are the objects that carry the one and the other content."""

    def both(a: str, b: str) -> float:
        objects = len(occurrences.of(a) & occurrences.of(b))
        return float(objects) if objects >= threshold else 0.0

    return both


def _jaccard(threshold: float, dictionary: Dictionary, occurrences: Occurrences) -> Closeness:
    """|A ∩ B| / |A ∪ B|, if it reaches the threshold."""

    def share(a: str, b: str) -> float:
        both, either = occurrences.of(a) & occurrences.of(b), occurrences.of(a) | occurrences.of(b)
        shared = len(both) / len(either) if either else 0.0
        return shared if shared >= threshold else 0.0

    return share


def _of_the_user(definition: UserFunction, threshold: float) -> Closeness:
    """Whether they match, or a score that reaches the threshold; NULL does neither."""

    def close(a: str, b: str) -> float:
        given = _asked(definition, a, b)
        if given is None or isinstance(given, bool):
            return float(bool(given))
        return float(given) if given >= threshold else 0.0  # NaN reaches nothing

    return close


@lru_cache(maxsize=100_000)
def _asked(definition: UserFunction, a: str, b: str) -> Any:
    """The same contents always have the same value, and a call costs far more than remembering."""
    if definition.compute is None:
        raise InvalidAlgebra(f"the code of {definition.name} is not here")
    return definition.compute(a, b)


_FUNCTIONS: Mapping[str, Callable[[float, Dictionary, Occurrences], Closeness]] = {
    "equality": _equality,
    "dictionary": _dictionary,
    "cooccurrence": _cooccurrence,
    "jaccard": _jaccard,
}
