"""How far back a stream takes what comes late: up to its horizon, which follows its latest tuple at a distance."""

from __future__ import annotations

#: for each connection point on a stream, how many ticks back it reaches, and the tick behind which it never does: what
#: was out of reach when it was created may be gone
Further = tuple[tuple[int, int], ...]
#: more ticks than there are, and a tick before all
FOR_EVER, LOWEST = 2**62, -(2**63)


def horizon_of(top: int | None, retain: int | None, further: Further = ()) -> int | None:
    """The smallest tick that a stream still takes, given the largest it has taken; None if it takes all.

    >>> horizon_of(100, 10), horizon_of(100, 10, ((50, 30),)), horizon_of(100, 10, ((FOR_EVER, 30),))
    (90, 50, 30)
    """
    if top is None or retain is None:
        return None
    return min([top - retain, *(max(top - ticks, floor) for ticks, floor in further)])


def reaching(ticks: int | None, horizon: int | None) -> tuple[int, int]:
    """What a new connection point adds: so many ticks (None: all) from the horizon on that stands when it comes."""
    return (FOR_EVER if ticks is None else ticks), (LOWEST if horizon is None else horizon)


def beyond(what: str, tick: int, horizon: int, stream: str) -> str:
    """Why something is set aside whose tick lies before the horizon.

    >>> beyond("tick 78", 78, 90, "readings")
    'tick 78 is 12 ticks beyond the retention of readings'
    """
    ticks = horizon - tick
    return f"{what} is {ticks} tick{'s' if ticks > 1 else ''} {out_of_reach(stream)}"


def out_of_reach(stream: str) -> str:
    return f"beyond the retention of {stream}"
