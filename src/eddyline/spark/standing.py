"""A query at work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eddyline.spark.evaluate.batch import Clock
from eddyline.spark.evaluate.members import Members
from eddyline.spark.moment import Beginning
from eddyline.spark.stages import SLICES, STATE, WAITING, Stage

if TYPE_CHECKING:
    from eddyline.log.results import Results
    from eddyline.spark.join_at_work import JoinAtWork
    from eddyline.spark.join_inputs import SharedLog


@dataclass
class Standing:
    """A query at work."""

    name: str
    stages: Sequence[Stage]
    start: int | None  # None: at the first tick that its streams bring
    history: bool  # whether it first answers over everything that has passed
    created: Clock  # when it was created
    entry: int = 0  # of the journal, after which it was created
    since: Mapping[str, int] = field(default_factory=dict)  # by stream, the last index that had come by then
    memory: dict[str, dict[Any, Any]] = field(default_factory=dict)  # by stage, on the driver
    members: Members | None = None  # of a query class
    priority: int = 1  # its share, beside those of the others
    keeps: bool = False  # whether it may keep slices, to be corrected from them
    chooses: bool = False  # whether it does so only while that costs less
    past: int | None = None  # the entries that it looks back at, as long as others may begin together with it
    join: JoinAtWork | None = None  # how its join over many inputs runs, if a tree can run it

    @property
    def beginning(self) -> Beginning:
        return Beginning(self.start, self.entry, self.past)

    def settle(self) -> None:
        """Get ready for a batch."""
        if self.join is not None:
            self.join.settle()
            self.join.reorder()
            self.stages = self.join.stages

    def share(self, shared: tuple[tuple[int, SharedLog], ...]) -> None:
        """Which states of its join are made for others, too."""
        if self.join is not None and self.join.shared != shared:
            self.join.shared = shared
            self.stages = self.join.stages

    def adopt(self, results: Results) -> None:
        """Go on from what was answered and stored before."""
        if self.join is not None:
            self.join.adopt(results)
            self.stages = self.join.stages


def of_the_past(query: Standing, stages: Sequence[Stage]) -> list[Stage]:
    """The stages that answer what has passed: who keeps slices only while that pays keeps none of it, and what joins
    store is that of what is to come. Who waits for an answer goes with the stage that asks."""
    return [
        stage for stage in stages if stage.kind not in (STATE, WAITING) and not (query.chooses and stage.kind == SLICES)
    ]
