"""Functions on arrays. A position counts from 1, from the end if it is negative."""

from __future__ import annotations

from typing import Any

from eddyline.reference.functions.implementation import Implementation, null_aware, plain
from eddyline.reference.value import equal, group_key, order_key

Array = tuple[Any, ...]


def _subscript(array: Array, index: int) -> Any:
    """array[i] counts from 0."""
    return array[index] if 0 <= index < len(array) else None


def _element_at(array: Array, position: int) -> Any:
    index = position - 1 if position > 0 else len(array) + position
    return array[index] if position and 0 <= index < len(array) else None


def _contains(array: Array, value: Any) -> bool | None:
    if any(element is not None and equal(element, value) for element in array):
        return True
    return None if None in array else False


def _position(array: Array, value: Any) -> int:
    return next((i for i, element in enumerate(array, 1) if element is not None and equal(element, value)), 0)


def _join(array: Array, separator: str, *null: str) -> str:
    return separator.join(
        element if element is not None else null[0] for element in array if element is not None or null
    )


def _distinct(array: Array) -> Array:
    return tuple({group_key(element): element for element in reversed(array)}[key] for key in _keys(array))


def _keys(array: Array) -> list[Any]:
    return list(dict.fromkeys(map(group_key, array)))


def _present(array: Array) -> list[Any]:
    return [element for element in array if element is not None]


def _sorted(array: Array, ascending: bool = True) -> Array:
    """NULLs first, or last if descending."""
    return tuple(sorted(array, key=order_key, reverse=not ascending))


def _slice(array: Array, start: int, length: int) -> Array | None:
    if start == 0 or length < 0:
        return None
    begin = start - 1 if start > 0 else len(array) + start
    return array[begin : begin + length] if begin >= 0 else ()


IMPLEMENTATIONS: dict[str, Implementation] = {
    "array": null_aware(lambda *elements: elements),
    "[]": plain(_subscript),
    "element_at": plain(_element_at),
    # the size of NULL is -1 in Spark
    "size": null_aware(lambda array: -1 if array is None else len(array)),
    "array_size": plain(len),
    "array_contains": plain(_contains),
    "array_position": plain(_position),
    "array_join": plain(_join),
    "array_distinct": plain(_distinct),
    "array_min": plain(lambda array: min(_present(array), key=order_key, default=None)),
    "array_max": plain(lambda array: max(_present(array), key=order_key, default=None)),
    "sort_array": plain(_sorted),
    "slice": plain(_slice),
}
