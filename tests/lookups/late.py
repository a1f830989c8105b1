"""Answers that come at random moments: batches later, in any order, or never before a restart."""

from __future__ import annotations

import random
from typing import Any

from eddyline.spark.lookups.asking import Job, Lookups


def late_lookups(dice: random.Random) -> type[Lookups]:
    class LateLookups(Lookups):
        """What would be done in threads is done at some later time at which something changes."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._slots = dice.randint(1, 4)
            self._late: list[Job] = []

        def _poke(self) -> None:
            self._late += self._due()[0]
            for job in list(self._late):
                if dice.random() < 0.5:
                    self._late.remove(job)
                    self._at(job)

    return LateLookups
