"""What eddies have learned about their operators. Tasks report it; those of the next batch begin with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eddyline.kernels.eddy.knowledge import Knowledge
from eddyline.kernels.task import Reference

#: a stage has an eddy for each form of its class; those of forms that are gone make room for others
_MOST = 64


class Routes:
    def __init__(self) -> None:
        self.by_stage: dict[str, dict[str, Knowledge]] = {}  # by stage, then by what tuples are routed for

    def known(self, stage: str) -> Mapping[str, Knowledge]:
        return self.by_stage.get(stage, {})

    def taken(self, references: Iterable[Reference]) -> list[Reference]:
        """Take in what is reported; gives the other references."""
        others = []
        for reference in references:
            if not reference.reports:
                others.append(reference)
                continue
            mine = self.by_stage.setdefault(reference.stage, {})
            for name, report in reference.reports.items():
                if report.learned is not None:
                    mine.pop(name, None)
                    mine[name] = report.learned
            for name in [*mine][:-_MOST]:
                del mine[name]
        return others

    def forget(self, stage: str) -> None:
        self.by_stage.pop(stage, None)
