"""Which ticks an entry of the journal touches, as a few stretches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from eddyline.log.journal import Spans

Array = Any
#: how many stretches an entry keeps apart
_SPANS = 32
#: how many stretches of single places are kept apart
PLACES = 64


def spans_of(ticks: Array, most: int = _SPANS) -> Spans:
    """The ticks as few stretches; where there are too many, those with the smallest gaps between them are joined.

    >>> spans_of(pa.array([1, 2, 3, 9, 2]))
    ((1, 3), (9, 9))
    """
    values = _different(ticks.to_numpy(zero_copy_only=False) if isinstance(ticks, pa.Array) else ticks.to_numpy())
    if not len(values):
        return ()
    return _few(values, values, most)


def spans_of_places(places: Array, most: int = PLACES) -> Spans:
    """The same for places in any order, as a numpy array; of these more stretches are kept apart.

    >>> spans_of_places(np.array([9, 2, 1, 3, 2]))
    ((1, 3), (9, 9))
    """
    values = np.unique(places)
    return _few(values, values, most) if len(values) else ()


def joined_spans(some: Iterable[Spans], most: int = _SPANS) -> Spans:
    """Several such lists of stretches as one.

    >>> joined_spans([((1, 3), (9, 9)), ((2, 5), (10, 12))])
    ((1, 5), (9, 12))
    """
    spans = np.array(sorted(span for spans in some for span in spans), dtype=np.int64).reshape(-1, 2)
    if not len(spans):
        return ()
    return _few(spans[:, 0], np.maximum.accumulate(spans[:, 1]), most)


def _few(first: Array, last: Array, most: int) -> Spans:
    return tuple((int(first[a]), int(last[b])) for a, b in zip(*parts_of(first, last, most), strict=True))


def parts_of(first: Array, last: Array, most: int) -> tuple[Array, Array]:
    """Of stretches in order, given where each begins and how far it and those before it go: which make up one.

    Those that meet are one, and where there are too many, those with the smallest gaps between them.
    """
    gaps = first[1:] - last[:-1]
    cuts = np.flatnonzero(gaps > 1)
    if len(cuts) > most - 1:
        cuts = np.sort(cuts[np.argsort(gaps[cuts])[-(most - 1) :]])
    starts = np.concatenate([[0], cuts + 1])
    return starts, np.concatenate([cuts, [len(first) - 1]])


def _different(values: Array) -> Array:
    """The values in order, each once. Most streams bring them in order."""
    if (values[1:] >= values[:-1]).all():
        return values[np.concatenate([[True], values[1:] != values[:-1]])] if len(values) else values
    return np.unique(values)
