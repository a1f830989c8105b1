"""What work is done with: the means of an executor, the queries along their stretches, and the states they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eddyline.log.results import Results
from eddyline.log.storage import Storage
from eddyline.planner.probing import Orders
from eddyline.spark.correcting import Corrections
from eddyline.spark.evaluate.frames import Frames
from eddyline.spark.evaluate.members import Members
from eddyline.spark.lookups.asking import Lookups
from eddyline.spark.routes import Routes
from eddyline.spark.shared_states import SharedStates
from eddyline.spark.stages import Stage, numbered_by
from eddyline.spark.standing import Standing
from eddyline.spark.stretches import Stretch, Stretches
from eddyline.spark.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Turn:
    """When work may be done: at once and all together, or after a wait and only so many tasks at a time."""

    taken: Callable[[], AbstractContextManager[None]] = nullcontext
    width: int | None = None


@dataclass(frozen=True)
class Means:
    """What work is done with. It is the same for all works of an executor."""

    spark: SparkSession
    storage: Storage
    tables: Tables
    frames: Frames
    kernels: bool
    refused: dict[str, str]  # by stage, why the kernel could not do it
    routes: Routes  # what eddies have learned
    changing: AbstractContextManager[Any]  # held while something is taken in about queries that stand
    stands: Callable[[Standing], bool]
    corrections: Corrections  # which way answers are corrected
    points: Mapping[str, int]  # by query, how many ticks back a connection point wants it to be corrected from slices
    lookups: Lookups

    def forget_what_is_gone(self, queries: Sequence[Standing]) -> None:
        """What was learned of stages that are no more: states of join trees come and go while their queries stand."""
        standing = {stage.name for query in queries for stage in query.stages}
        learned: list[dict[str, Any]] = [self.refused, self.routes.by_stage, *(query.memory for query in queries)]
        for known in learned:
            for name in [name for name in list(known) if numbered_by(name) not in standing]:
                del known[name]


@dataclass(frozen=True)
class Way:
    """A query along its stretch, as it is when the work begins: a class may get new members and stages meanwhile."""

    query: Standing
    stretch: Stretch
    stages: Sequence[Stage]
    members: Members | None
    probing: Orders | None  # how its join is to be made
    tree: str = ""  # by which it is made


@dataclass(frozen=True)
class Shared:
    """The states that are made for several queries: who makes them, along which stretch, and who reads which."""

    standing: Standing
    stretch: Stretch
    kept: Sequence[str]  # all that there are, wanted or not
    readers: Mapping[str, tuple[str, ...]]
    probings: Mapping[str, Orders | None]

    @property
    def states(self) -> Sequence[str]:
        return [stage.name for stage in self.standing.stages]

    def users(self, state: str) -> tuple[str, ...]:
        """The queries that read a state, or one that is made of it; none if it is no state of these."""
        return self.readers.get(state, ())

    def probing(self, state: str) -> Orders | None:
        return self.probings.get(state)


def shared_of(states: SharedStates, results: Results, stretches: Stretches) -> Shared:
    """The states of a batch, as they were arranged."""
    probings = {stage.name: states.probing(stage.name) for stage in states.stages}
    stretch = stretches.after(results.last.position, states.standing)
    kept = SharedStates.kept(results.stages)
    return Shared(states.standing, stretch, kept, states.users, probings)


def probing_of(query: Standing) -> Orders | None:
    return None if query.join is None else query.join.probing


def tree_of(query: Standing) -> str:
    return "" if query.join is None else query.join.told_tree


def levels_of(ways: Sequence[Way]) -> list[list[tuple[Way, Stage]]]:
    """The stages, each on a later level than those whose logs it reads."""
    waiting = [(way, stage) for way in ways for stage in way.stages]
    known: set[str] = set()
    levels = []
    while waiting:
        ready = [
            (way, stage)
            for way, stage in waiting
            if all(name in known or name in way.stretch.logs for name in stage.streams)
            and known.issuperset(stage.states)
        ]
        if not ready:
            break  # they read a stream that was dropped
        levels.append(ready)
        made = {stage.name for _, stage in ready}
        known |= made
        waiting = [found for found in waiting if found[1].name not in made]
    return levels
