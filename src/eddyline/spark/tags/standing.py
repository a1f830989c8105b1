"""Continuous taggers at work: how they begin and end in an engine, and what is kept for the sake of their tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from eddyline.algebra.tag import Tagger
from eddyline.algebra.user_function import functions_in
from eddyline.spark.tags.made import made_mark

if TYPE_CHECKING:
    from eddyline.spark.engine import Engine


def begin_tagging(engine: Engine, tagging: tuple[str, Tagger] | None, arrived: Mapping[str, int] | None = None) -> None:
    """Let a query tag the tuples of a stream that come after the index that is given for it, or from now on.

    No batch that has begun knows of such tuples, so queries that stand need not be told. Most queries tag nothing.
    """
    if tagging is None:
        return
    stream, tagger = tagging
    with engine.writing:
        engine.use_functions(functions_in(made_mark(tagger, whole) for whole in (False, True)))
        last = engine.arrived(stream) if arrived is None else arrived.get(stream, 0)
        engine.executor.taggers.add(stream, tagger, last)


def end_tagging(engine: Engine, name: str, upto: Mapping[str, int] | None = None) -> None:
    """Let a query tag no more: nothing after the index that is given for its stream, or nothing from now on.

    Whoever is no tagging query goes on as before.
    """
    with engine.writing:
        engine.executor.taggers.end(name, engine.arrived if upto is None else lambda stream: upto.get(stream, 0))


def tagged_upto(engine: Engine) -> dict[str, int]:
    """By stream that queries tag, the last index that has come: who is dropped now has tagged up to there."""
    with engine.writing:
        return {stream: engine.arrived(stream) for stream in engine.executor.taggers.streams}


def with_histories(
    tagged: Mapping[str, str],
    horizons: Mapping[str, int | None],
    cuts: Callable[[Mapping[str, int | None]], dict[str, int]],
) -> dict[str, int]:
    """By log, before which tick nobody needs anything; `tagged`: by the names of their histories, streams with taggers.

    The tags of taggers come and go with their tuples, and who needs the history needs the tuples that these are for.
    """
    known = dict(horizons)
    for history, stream in tagged.items():
        given, made = horizons[history], horizons[stream]
        known[history] = made if given is None or made is None else min(given, made)
    found = cuts(known)
    for history, stream in tagged.items():
        if stream in found:
            own = found.pop(stream)
            found.update({stream: min(own, found[history])} if history in found else {})
    return found
