"""Queries whose texts are alike but for their constants: the first is parsed and bound, the others are derived from it.

Which constants may differ is not guessed: the shape of a bound query tells which of them it has taken out, and where
these stand in the text. All others belong to what texts must have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import accumulate
from typing import Any

from eddyline.algebra.expression import Literal
from eddyline.algebra.literals import literals_of, with_literals
from eddyline.algebra.user_function import UserFunction
from eddyline.binder.literal import written_again
from eddyline.catalog.catalog import BoundQuery
from eddyline.language.pieces import Key, Outline, Piece, outline
from eddyline.spark.shapes import HARMLESS, SHAPE, shared_shape

#: so many queries are remembered for others like them; beyond, all are forgotten
_MOST = 10_000


class LikeAnother(BoundQuery):
    """A query that differs from another in constants. Its plan is made when somebody asks for it."""

    def __init__(self, model: Model, texts: Mapping[int, str], shape: Any) -> None:
        known = {f.name: getattr(model.query, f.name) for f in fields(BoundQuery) if f.name != "plan"}
        self.__dict__.update(known, **{SHAPE: shape, HARMLESS: True, "_model": model, "_texts": texts})

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        model: Model = self._model
        return model.query.functions  # other constants call nothing else, and no plan need be made

    @property
    def leaves(self) -> frozenset[str]:
        model: Model = self._model
        return model.query.leaves

    def __getattr__(self, name: str) -> Any:
        if name != "plan":
            raise AttributeError(name)
        plan = self.__dict__["plan"] = with_literals(self._model.query.plan, self._written_again)
        return plan

    def _written_again(self, literal: Literal) -> Literal:
        text = None if literal.place is None else self._texts.get(literal.place)
        return literal if text is None else written_again(text, literal) or literal


@dataclass(frozen=True)
class Model:
    """A query that others are like."""

    query: BoundQuery
    shape: Any  # its constants have their places in the text
    places: tuple[int, ...]  # of all constants in its text

    def like(self, constants: tuple[str, ...]) -> LikeAnother | None:
        """The query with these texts in place of its constants; None if one of them cannot stand there."""
        texts = dict(zip(self.places, constants, strict=True))
        values = []
        types = (*self.shape.where, *self.shape.above)
        for value, type_, place in zip(self.shape.constants, types, self.shape.places, strict=True):
            if place is None:
                values.append(value)
                continue
            found = written_again(texts[place], Literal(value, type_))
            if found is None:
                return None
            values.append(found.value)
        free = {place: texts[place] for place in self.shape.places if place is not None}
        return LikeAnother(self, free, self.shape.with_constants(tuple(values)))


@dataclass
class _Alike:
    """Texts with one outline: those of their constants that have been taken out may differ."""

    free: frozenset[int]  # which of the constants
    models: dict[tuple[str, ...], Model] = field(default_factory=dict)  # by the other constants

    def fixed(self, constants: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(text for at, text in enumerate(constants) if at not in self.free)


class Alike:
    """What has been bound, by outline. Whoever changes what names mean must have it forgotten."""

    def __init__(self) -> None:
        self._known: dict[Key, _Alike] = {}
        self._parsed: set[Key] = set()
        self._models = 0

    def forget(self, name: str | None = None) -> None:
        """Begin anew; if a query went, only what may have read it is forgotten."""
        self._known = {
            key: alike for key, alike in self._known.items() if name is not None and not _mentions(key, name.lower())
        }
        self._models = sum(len(alike.models) for alike in self._known.values())

    def is_read(self, piece: Piece) -> bool:
        """Whether a text with the same outline has been parsed before, so that this one can be."""
        return piece.name is not None and outline(piece.body).key in self._parsed

    def was_read(self, piece: Piece) -> None:
        if piece.name is not None:
            if len(self._parsed) >= _MOST:
                self._parsed.clear()
            self._parsed.add(outline(piece.body).key)

    def find(self, piece: Piece) -> LikeAnother | None:
        """The query that a text means, if one like it is known."""
        written = outline(piece.body)
        known = self._known.get(written.key)
        model = None if known is None else known.models.get(known.fixed(written.constants))
        return None if model is None else model.like(written.constants)

    def learn(self, piece: Piece, query: BoundQuery) -> None:
        """A text was bound: others like it need not be, if they can be answered together with it."""
        shape = None if piece.name is None or query.history else shared_shape(query)
        if shape is None:
            return
        written, base = outline(piece.body), piece.start + piece.body_at
        places = tuple(base + place for place in _places(written))
        texts = dict(zip(places, written.constants, strict=True))
        left = {literal.place for literal in literals_of((shape.plan, shape.marked, shape.predicate))}
        taken = {place for at, place in enumerate(shape.places) if _is_as_written(place, texts, shape, at)} - left
        free = frozenset(at for at, place in enumerate(places) if place in taken)
        if self._models >= _MOST:
            self.forget()
        known = self._known.setdefault(written.key, _Alike(free))
        before = len(known.models)
        if not known.free <= free:  # what may differ depends on what else is there
            known.free &= free
            known.models.clear()
        differing = {places[at] for at in known.free}
        shape = replace(shape, places=tuple(place if place in differing else None for place in shape.places))
        known.models[known.fixed(written.constants)] = Model(query, shape, places)
        self._models += len(known.models) - before


def _mentions(key: Key, name: str) -> bool:
    return any(name in text.lower() for text in key[0])


def _places(written: Outline) -> Iterator[int]:
    """Where in the text the constants of an outline stand."""
    between, _, _ = written.key
    lengths = [len(text) + len(constant) for text, constant in zip(between, written.constants, strict=False)]
    ends = accumulate(lengths)
    return (end - len(constant) for end, constant in zip(ends, written.constants, strict=True))


def _is_as_written(place: int | None, texts: Mapping[int, str], shape: Any, at: int) -> bool:
    """Whether a constant that was taken out is what is written in its place."""
    if place is None or place not in texts:
        return False
    value, type_ = shape.constants[at], (*shape.where, *shape.above)[at]
    return written_again(texts[place], Literal(value, type_)) == Literal(value, type_)
