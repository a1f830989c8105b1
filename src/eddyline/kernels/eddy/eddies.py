"""The eddies of one work: what they begin with, and what they report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eddyline.kernels.eddy.eddy import Eddy, Operator
from eddyline.kernels.eddy.knowledge import Knowledge
from eddyline.kernels.eddy.report import Report


@dataclass
class Eddies:
    known: Mapping[str, Knowledge] = field(default_factory=dict)  # by what tuples are routed for
    reports: dict[str, Report] = field(default_factory=dict)

    def eddy(self, name: str, operators: Mapping[str, Operator]) -> Eddy:
        """One that goes on with what is known about these operators."""
        names = tuple(operators)
        known = self.known.get(name)
        if known is None or known.operators != names:
            known = Knowledge(names)
        made = Eddy(tuple(operators.values()), known.copy())
        self.reports[name] = made.report
        return made
