"""How much history a correction can need, worked out by hand."""

from __future__ import annotations

import pytest

from eddyline.algebra.radius import radius_of
from eddyline.binder.statement import Register, StatementBinder
from eddyline.language import parse_script

STREAM = "CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t;"
CHANGES = "ISTREAM(SELECT x FROM s [FROM NOW-1 TO NOW SLIDE 10 SEC])"


@pytest.mark.parametrize(
    ("query", "radius"),
    [
        ("SELECT x FROM s WHERE x > 1", "0 ticks"),
        ("SELECT x FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC]", "9 ticks"),
        ("RSTREAM(SELECT x FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC])", "9 ticks"),
        # the window before, in which the same tuple may be, begins a slide earlier
        (CHANGES, "11 ticks"),
        ("DSTREAM(SELECT x FROM s [FROM NOW TO NOW SLIDE 10 SEC])", "10 ticks"),
        ("ISTREAM(SELECT x FROM s [FROM NOW-4 TO NOW SLIDE 3 ROWS])", "7 tuples"),
        ("ISTREAM(SELECT x FROM s [RANGE 7 SEC])", "8 ticks"),
        ("DSTREAM(SELECT x FROM s [ROWS 5])", "6 tuples"),
        # windows over a stream that was made of others; these do not move with the outer ones
        (f"SELECT x FROM ({CHANGES}) [FROM NOW-3 TO NOW SLIDE 1 SEC] AS i", "14 ticks"),
    ],
)
def test_the_radius_reaches_as_far_back_as_a_correction_looks(query: str, radius: str) -> None:
    binder = StatementBinder()
    *_, step = [step for statement in parse_script(f"{STREAM}{query}") for step in binder.bind(statement.tree)]
    assert isinstance(step, Register)
    assert str(radius_of(step.query.plan)) == radius
