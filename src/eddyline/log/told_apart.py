"""Marks that tell their tags apart, for whole columns: texts with numbers in them, which are looked at once for all
rows that say the same and have their tags at the same places."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.marks import MarkText, read
from eddyline.algebra.tag_places import TAGS_BETWEEN, TagPlace, moved, places_of

Array = Any
#: what a number in a text counts from: the tick of the tuple, its index, or the index as in numbers of tags
_TICK, _INDEX, _NUMBER = range(3)
_REMEMBERED = 8_192


class _Form(NamedTuple):
    """A text with gaps: what stands around them, what the number in each counts from, and how far it is from there."""

    texts: tuple[str, ...]  # one more than there are gaps
    kinds: tuple[int, ...]
    offsets: tuple[int, ...]


def told_apart(tags: pa.Array, places: pa.Array, tick: pa.Array, index: pa.Array) -> pa.Array:
    """Marks with what tells their tags from others; where they stand is told from tuples at these ticks and indexes."""
    if tags.null_count == len(tags):
        return pa.nulls(len(tags), pa.string())
    forms, which = _forms(tags, places)
    ticks, indexes = (pc.fill_null(column, 0).to_numpy(zero_copy_only=False) for column in (tick, index))
    bases = {_TICK: ticks, _INDEX: indexes, _NUMBER: indexes << TAGS_BETWEEN}
    found: list[pa.Array] = []
    order = np.full(len(tags), -1, np.int64)
    done = 0
    for kinds in dict.fromkeys(form.kinds for form in forms):
        alike = [number for number, form in enumerate(forms) if form.kinds == kinds]
        of_form = np.full(len(forms) + 1, -1, np.int64)
        of_form[alike] = np.arange(len(alike))
        rows = np.flatnonzero(of_form[which] >= 0)
        found.append(_filled([forms[number] for number in alike], of_form[which[rows]], rows, bases))
        order[rows] = done + np.arange(len(rows))
        done += len(rows)
    return pa.concat_arrays(found).take(pa.array(order, mask=order < 0))


def _forms(tags: pa.Array, places: pa.Array) -> tuple[list[_Form], Array]:
    """The different texts of some rows, and which of them each has; the last for rows without marks."""
    one, other = (column.dictionary_encode() for column in (tags, places))
    texts, beside = one.dictionary.to_pylist(), [*other.dictionary.to_pylist(), None]
    left, right = map(_codes, (one, other))
    pairs, which = np.unique(np.where(left < 0, -1, left * len(beside) + right % len(beside)), return_inverse=True)
    forms = [_form(texts[pair // len(beside)], beside[pair % len(beside)]) for pair in pairs.tolist() if pair >= 0]
    none = len(pairs) - len(forms)  # the first, if there is one
    return forms, np.where(which < none, len(forms), which - none)


def _codes(numbered: pa.DictionaryArray) -> Array:
    return pc.fill_null(numbered.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)


def _filled(forms: list[_Form], which: Array, rows: Array, bases: dict[int, Array]) -> pa.Array:
    """Texts of rows whose gaps are of the same kinds."""
    of_row = pa.array(which)
    kinds = forms[0].kinds
    offsets = np.array([form.offsets for form in forms], np.int64).reshape(len(forms), len(kinds))
    parts: list[Any] = []
    for gap, kind in enumerate(kinds):
        parts.append(pa.array([form.texts[gap] for form in forms]).take(of_row))
        parts.append(pa.array(bases[kind][rows] + offsets[which, gap]).cast(pa.string()))
    parts.append(pa.array([form.texts[-1] for form in forms]).take(of_row))
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, "")


@lru_cache(maxsize=_REMEMBERED)
def _form(tags: str, places: str | None) -> _Form:
    pieces: list[str | tuple[int, int]] = ["["]
    where = iter(places_of(places))
    for number, mark in enumerate(read(tags)):
        known = [_json(mark)[1:]] if mark.made else _pieces(mark, next(where))  # who makes a mark knows its place
        pieces += [",[" if number else "[", *known]
    pieces.append("]")
    texts, kinds, offsets = [""], [], []
    for piece in pieces:
        if isinstance(piece, str):
            texts[-1] += piece
        else:
            kinds.append(piece[0])
            offsets.append(piece[1])
            texts.append("")
    return _Form(tuple(texts), tuple(kinds), tuple(offsets))


def _pieces(mark: MarkText, place: TagPlace) -> list[str | tuple[int, int]]:
    """A mark as JSON behind its opening bracket, with gaps."""
    between = f",{mark.made},"
    if place.fixed:
        found: list[str | tuple[int, int]] = [f"{place.timestamp}{between}{place.number},"]
    else:
        found = [(_TICK, place.timestamp), between, (_NUMBER, place.number), ","]
    objects = mark.objects
    if isinstance(objects, str) or objects[1] is None:
        found.append(_json(objects))
    else:
        found.append(f"[{_json(objects[0])},[")
        for number, each in enumerate(objects[1]):  # type: ignore[arg-type,var-annotated]
            found += ["," if number else "", (_INDEX, each)]
        found.append(f"],{_json(objects[2:])[1:]}")
    return [*found, f",{_json(mark[4:])[1:]}"]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def moved_places(tags: pa.Array, places: pa.Array, by: Array) -> pa.Array:
    """The places of the tags of tuples whose ticks have become greater by so much each."""
    if not np.any(by):
        return places
    encoded = places.dictionary_encode()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    pairs, which = np.unique(np.stack([codes, by]), axis=1, return_inverse=True)
    texts = [*encoded.dictionary.to_pylist(), None]
    made = pa.array([moved(texts[code], delta) for code, delta in pairs.T.tolist()], pa.string())
    return pc.if_else(pc.is_valid(tags), made.take(pa.array(which.ravel())), pa.scalar(None, pa.string()))
