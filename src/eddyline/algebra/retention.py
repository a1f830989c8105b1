"""How far back a stream takes what comes late: up to its horizon, which follows its latest tuple at a distance."""

from __future__ import annotations


def horizon_of(top: int | None, retain: int | None) -> int | None:
    """The smallest tick that a stream still takes, given the largest it has taken; None if it takes all.

    >>> horizon_of(100, 10)
    90
    """
    return None if top is None or retain is None else top - retain


def beyond(what: str, tick: int, horizon: int, stream: str) -> str:
    """Why something is set aside whose tick lies before the horizon.

    >>> beyond("tick 78", 78, 90, "readings")
    'tick 78 is 12 ticks beyond the retention of readings'
    """
    ticks = horizon - tick
    return f"{what} is {ticks} tick{'s' if ticks > 1 else ''} {out_of_reach(stream)}"


def out_of_reach(stream: str) -> str:
    return f"beyond the retention of {stream}"
