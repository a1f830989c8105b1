"""How long time may go on without a tuple: a row with a wrong time would make windows without end."""

from __future__ import annotations

#: empty windows of one query in a row
MOST_EMPTY = 10_000_000


def too_long_a_pause(low: int, high: int, most: int = MOST_EMPTY) -> str:
    """What is said to a query that would have more than `most` windows between two ticks, all of them empty.

    >>> too_long_a_pause(9, 1_700_000_000_000)
    'time has gone from tick 9 to tick 1700000000000 without a tuple, and that is more than 10,000,000 empty windows'
    """
    return f"time has gone from tick {low} to tick {high} without a tuple, and that is more than {most:,} empty windows"
