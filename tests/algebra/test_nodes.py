"""Nodes of the algebra: checked when built, frozen, compared by structure."""

from __future__ import annotations

import dataclasses

import pytest

from eddyline.algebra.expression import Aggregate, Call, Column, Literal, Named
from eddyline.algebra.loop import ST, Loop, T
from eddyline.algebra.relational import WindowAggregation, WindowCrossProduct, WindowJoin, WindowProject, WindowSelect
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.stream import IStream, StreamAcquire, StreamAlias, StreamProject, StreamReceive, StreamSelect
from eddyline.algebra.tag import TagFunction, TagSpec
from eddyline.algebra.types import BIGINT, BOOLEAN, INTEGER, STRING
from eddyline.algebra.window import (
    HopWindow,
    LatestRowsWindow,
    RangeWindow,
    RowScope,
    RowWindow,
    Scan,
    TimeScope,
    TimeWindow,
)
from eddyline.errors import EddylineError, InvalidAlgebra, InvalidLoop

SCHEMA = Schema((Field("a", INTEGER, "s"), Field("b", STRING, "s")))
S = StreamReceive("s", SCHEMA)
A = Column("a", INTEGER, "s")
POSITIVE = Call(">", (A, Literal(0, INTEGER)), BOOLEAN)
STRANGE = Call(">", (Column("z", INTEGER, "s"), Literal(0, INTEGER)), BOOLEAN)
WINDOW = TimeWindow(S, TimeScope(-5, 0), 1)


@pytest.mark.parametrize(
    "build",
    [
        lambda: StreamSelect(STRANGE, S),
        lambda: StreamSelect(A, S),  # not a predicate
        lambda: StreamProject((Named(STRANGE, "x"),), S),
        lambda: StreamAcquire("s", SCHEMA, 0, (1,)),
        lambda: WindowSelect(STRANGE, WINDOW),
        lambda: WindowProject((Named(STRANGE, "x"),), WINDOW),
        lambda: WindowJoin(STRANGE, WINDOW, WINDOW),
        lambda: WindowJoin(POSITIVE, WINDOW, WINDOW, "SIDEWAYS"),
        lambda: WindowAggregation((), (Named(A, "x"),), WINDOW),
        lambda: WindowAggregation((Named(STRANGE, "x"),), (), WINDOW),
        lambda: TimeWindow(S, TimeScope(0, -5), 1),
        lambda: TimeWindow(S, TimeScope(-5, 0), 0),
        lambda: RowWindow(S, RowScope(-1, 0), 0),
        lambda: RangeWindow(S, -1),
        lambda: RangeWindow(S, 5, 0),
        lambda: LatestRowsWindow(S, 0),
        lambda: LatestRowsWindow(S, 1, (Column("z", INTEGER, "s"),)),
        lambda: HopWindow(S, 0, 1),
        lambda: Scan("d", SCHEMA, 0),
        lambda: TagFunction("telepathy"),
        lambda: TagSpec("x", sign="?"),
        lambda: TagSpec("x", lifespan=0),
        lambda: TagSpec("x", mode="X"),
    ],
)
def test_parts_that_do_not_fit_are_refused(build: object) -> None:
    with pytest.raises(EddylineError):
        build()  # type: ignore[operator]


def test_schemas_are_derived() -> None:
    project = StreamProject((Named(A, "a"), Named(POSITIVE, "p")), S)
    assert project.schema == Schema((Field("a", INTEGER), Field("p", BOOLEAN)))
    assert StreamAlias("k", project).schema.fields[0].label == "k.a"
    assert WindowCrossProduct(WINDOW, WINDOW).schema == SCHEMA + SCHEMA
    assert dataclasses.replace(S, implicit=True).schema.names == ("a", "b", "tick", "index")
    count = WindowAggregation((Named(A, "a"),), (Named(Aggregate("count", (), BIGINT), "n"),), WINDOW)
    assert [(f.name, f.type) for f in count.schema.fields] == [("a", INTEGER), ("n", BIGINT)]


def test_structure_is_identity() -> None:
    assert IStream(WINDOW) == IStream(TimeWindow(StreamReceive("s", SCHEMA), TimeScope(-5, 0), 1))
    assert hash(IStream(WINDOW)) == hash(IStream(TimeWindow(S, TimeScope(-5, 0), 1)))
    assert IStream(WINDOW) != IStream(TimeWindow(S, TimeScope(-5, 0), 2))
    assert Literal(1, INTEGER) != Literal(True, BOOLEAN)
    with pytest.raises(dataclasses.FrozenInstanceError):
        WINDOW.slide = 2  # type: ignore[misc]


def test_rebuilding_over_other_inputs_checks_again() -> None:
    select = StreamSelect(POSITIVE, S)
    assert select.with_inputs(S) == select
    other = StreamReceive("o", Schema((Field("x", INTEGER, "o"),)))
    with pytest.raises(InvalidAlgebra):
        select.with_inputs(other)


def test_tags_make_every_operator_above_them_tag_aware() -> None:
    tagged = dataclasses.replace(S, tick_tags=True)
    assert IStream(TimeWindow(tagged, TimeScope(-5, 0), 1)).tagged
    assert not IStream(WINDOW).tagged


def test_loops_give_their_values() -> None:
    def number(value: int) -> Literal:
        return Literal(value, BIGINT)

    forward = Loop(ST, Call("<", (T, Call("+", (ST, number(10)), BIGINT)), BOOLEAN), Call("+", (T, number(4)), BIGINT))
    assert list(forward.values(100)) == [100, 104, 108]
    assert not forward.backward
    backward = Loop(number(9), Call(">", (T, number(0)), BOOLEAN), Call("-", (T, number(5)), BIGINT))
    assert list(backward.values(0)) == [9, 4] and backward.backward
    stuck = Loop(number(1), None, T)
    values = stuck.values(0)
    assert next(values) == 1
    with pytest.raises(InvalidLoop, match="never ends"):
        next(values)
    once = Loop(number(0), Call("=", (T, number(0)), BOOLEAN), Call("neg", (number(1),), BIGINT))
    assert list(once.values(7)) == [0]
