"""What the eddies of all stages have done and learned. Tasks report it; those of the next batch begin with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eddyline.kernels.eddy.knowledge import Knowledge
from eddyline.kernels.eddy.report import Report
from eddyline.kernels.task import Reference


class Routes:
    def __init__(self) -> None:
        self._reports: dict[str, dict[str, Report]] = {}  # by stage, then by what tuples are routed for

    def known(self, stage: str) -> Mapping[str, Knowledge]:
        found = self.of(stage).items()
        return {name: report.learned for name, report in found if report.learned is not None}

    def of(self, stage: str) -> Mapping[str, Report]:
        return self._reports.get(stage, {})

    def taken(self, references: Iterable[Reference]) -> list[Reference]:
        """Take in what is reported; gives the other references."""
        others = []
        for reference in references:
            if not reference.reports:
                others.append(reference)
            for name, report in reference.reports.items():
                self._take(reference.stage, name, report)
        return others

    def forget(self, stage: str) -> None:
        self._reports.pop(stage, None)

    def _take(self, stage: str, name: str, report: Report) -> None:
        mine = self._reports.setdefault(stage, {})
        if name in mine and mine[name].operators == report.operators:
            mine[name].add(report)
        else:
            mine[name] = report
