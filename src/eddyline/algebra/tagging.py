"""The continuous taggers on streams: which of them tag which tuples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from eddyline.algebra.dictionary import shipped
from eddyline.algebra.expression import Call, Column, Expr, Literal
from eddyline.algebra.stream import StreamAcquire, StreamReceive
from eddyline.algebra.tag import Tagger, TagPredicate

#: in place of the name of a tagger, up to which tags are wanted: those of nobody
NOBODY = ""
#: in the history of a stream's tags, how far the indexes of the tags of one tagger are from those of the next
NUMBERS = 10**12
_NEGATED = {True: False, False: True, None: None}


class Taggers:
    """The continuous taggers on all streams, in the order of their creation, with those that have ended.

    A tagger tags the tuples that come while it stands, and a tuple is known by its index. So a tuple has the same tags
    for whoever looks at it and whenever, also when it is revised after the tagger has ended.
    """

    def __init__(self) -> None:
        self._on: dict[str, tuple[Tagger, ...]] = {}  # by stream

    def add(self, stream: str, tagger: Tagger, arrived: int) -> None:
        """Let a tagger tag what comes after the last index of its stream."""
        self._on[stream] = (*self._on.get(stream, ()), replace(tagger, after=arrived))

    def end(self, name: str, arrived: Callable[[str], int]) -> None:
        """Let a tagger tag no more; `arrived` tells the last index of a stream. Does nothing if there is none."""
        for stream, taggers in self._on.items():
            if any(_stands(tagger, name) for tagger in taggers):
                last = arrived(stream)
                self._on[stream] = tuple(replace(t, until=last) if _stands(t, name) else t for t in taggers)

    @property
    def streams(self) -> list[str]:
        """Those that somebody tags now."""
        return [stream for stream, taggers in self._on.items() if any(tagger.until is None for tagger in taggers)]

    @property
    def names(self) -> frozenset[str]:
        """Of all that stand or stood, in lower case."""
        return frozenset(tagger.tagger.lower() for taggers in self._on.values() for tagger in taggers)

    def of(self, stream: str) -> tuple[Tagger, ...]:
        """All that stand or stood on a stream."""
        return self._on.get(stream, ())


def _stands(tagger: Tagger, name: str) -> bool:
    return tagger.until is None and tagger.tagger.lower() == name.lower()


def taggers_for(leaf: StreamReceive | StreamAcquire, taggers: Sequence[Tagger]) -> list[Tagger]:
    """Those of a stream's taggers whose tags a query wants to see that reads the stream."""
    upto = leaf.taggers_upto
    if upto == NOBODY:
        return []
    if upto is not None:
        places = [place for place, tagger in enumerate(taggers, 1) if tagger.tagger.lower() == upto.lower()]
        taggers = taggers[: places[-1]] if places else taggers
    wanted = leaf.tags_wanted
    return [tagger for tagger in taggers if wanted is None or may_satisfy(tagger, wanted)]


def may_satisfy(tagger: Tagger, predicate: TagPredicate) -> bool:
    """Whether a tag of a tagger can be one that is searched for. All that its tags say is known, except when."""
    on = tagger.tag.attributes
    if predicate.whole and on is not None:
        return False
    if predicate.attributes and (on is None or any(attribute not in on for attribute in predicate.attributes)):
        return False
    return predicate.where is None or _truth(predicate.where, tagger) is not False


def _truth(expr: Expr, tagger: Tagger) -> bool | None:
    """Whether a condition holds for every tag of the tagger; None if that cannot be told beforehand."""
    if isinstance(expr, Literal):
        return expr.value if isinstance(expr.value, bool) else None
    if not isinstance(expr, Call):
        return None
    if expr.function == "not":
        return _NEGATED[_truth(expr.arguments[0], tagger)]
    if expr.function in ("and", "or"):
        decisive = expr.function == "or"
        truths = [_truth(argument, tagger) for argument in expr.arguments]
        if decisive in truths:
            return decisive
        return None if None in truths else not decisive
    if expr.function in ("=", "!=", "in"):
        values = [_constant(argument, tagger) for argument in expr.arguments]
        if any(not isinstance(value, str) for value in values):
            return None
        return (values[0] in values[1:]) != (expr.function == "!=")
    return None


def _constant(expr: Expr, tagger: Tagger) -> object:
    if isinstance(expr, Literal):
        return expr.value
    if isinstance(expr, Column):
        spec = tagger.tag
        known = {
            "TAG": spec.content,
            "TAG_SIGN": spec.sign,
            "TAG_MODE": spec.mode,
            "TAGGER": tagger.tagger,
            "TAG_TYPE": spec.type or shipped().classify(spec.content),
        }
        return known.get(expr.name)
    return None
