"""How long a search for plans may take, counted in steps: the same on every machine, so that plans are, too.

A step is what it takes to look up what a node costs: three to six microseconds here, whatever is searched. Whoever
searches asks before going on whether steps are left, and otherwise comes with the best that it has found. Where steps
take much longer than they should, the clock ends the search.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

#: steps for all joins that are planned together while queries wait, and to decide which of them change over
FOR_ALL, FOR_CHANGES = 200_000, 20_000
#: steps for a join of which somebody asks how it would run: nobody else waits
FOR_ONE = 600_000
#: seconds for a step at which the clock ends a search: ten times what it takes
_SLOW = 5e-5


@dataclass
class Budget:
    """Steps that are left; `until` is the time of `time.monotonic` at which it ends, whatever is left.

    >>> budget = Budget(10)
    >>> part = budget.part(4)
    >>> part.spend(5)
    >>> part.is_spent, part.is_cut, budget.left, budget.is_spent, budget.is_cut
    (True, True, 5, False, False)
    """

    left: float = math.inf
    until: float = math.inf
    of: Budget | None = None  # that it is a part of
    is_cut: bool = False  # whether something was left out

    @classmethod
    def of_steps(cls, steps: float) -> Budget:
        """So many steps, within a time that is enough for them."""
        return cls(steps, time.monotonic() + steps * _SLOW)

    def spend(self, steps: float = 1.0) -> None:
        self.left -= steps
        if self.of is not None:
            self.of.spend(steps)

    @property
    def is_spent(self) -> bool:
        """To be asked before something that is left out if it is."""
        over = self.left <= 0 or (self.until < math.inf and time.monotonic() > self.until)
        over = over or (self.of is not None and self.of.is_spent)
        self.is_cut = self.is_cut or over
        return over

    def part(self, steps: float) -> Budget:
        """Some of the steps, for one among several searches."""
        return Budget(min(steps, self.left), of=self)
