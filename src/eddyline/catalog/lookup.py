"""How a table is asked for the rows of a key, as CREATE TABLE … USING lookup says it."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.user_function import UserFunction

#: seconds before a call that has failed is made again; each time twice as many, up to the second number
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 30.0


@dataclass(frozen=True)
class Lookup:
    """The function takes an Arrow array of distinct keys and gives an Arrow table with the columns of the table."""

    function: UserFunction
    key: str  # a column of the table
    batch: int = 500  # so many keys are asked for in one call
    fresh: float = 600.0  # seconds for which an answer holds
    patience: float = 600.0  # seconds after which those who wait are told that there is nothing
    size: int = 1_000_000  # so many rows are kept
