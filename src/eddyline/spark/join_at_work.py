"""The join of a standing query: the tree it runs by, and what was seen of it.

What is stored, and since when, the records of batches say; all that is here may be forgotten.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from eddyline.errors import EddylineError
from eddyline.log.results import Results
from eddyline.planner.cost import Costs, Limits, Model
from eddyline.planner.machine import memory_for_joins, processors
from eddyline.planner.member import read_twice
from eddyline.planner.multi_join import MultiJoin
from eddyline.planner.probing import Probing
from eddyline.planner.tree import JTree, mjoin_of, tree_with
from eddyline.planner.written import tree_written, written
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.join_identity import SharedInputs
from eddyline.spark.join_inputs import JoinInputs, SharedLog, is_state_of, state_mask, state_name, with_tree
from eddyline.spark.observing import Observed
from eddyline.spark.stages import Stage


@dataclass(frozen=True)
class Allowed:
    """What all joins together may take (None: what the machine has), and how long a tick is."""

    cpu: float | None = None
    memory: float | None = None
    tick_seconds: float = 1.0

    @property
    def limits(self) -> Limits:
        return Limits(
            processors() if self.cpu is None else self.cpu, memory_for_joins() if self.memory is None else self.memory
        )


@dataclass
class JoinAtWork:
    """One join, and the stages of its query without what the tree adds."""

    stage: Stage
    plain: Sequence[Stage]
    of: JoinInputs
    allowed: Callable[[], Allowed]
    costs: Callable[[float], Costs]  # for batches of so many seconds of the streams
    written: JTree | None = None  # the tree that somebody has said
    own: Limits = field(default_factory=Limits)  # that hold for this join alone
    tree: JTree = field(init=False)
    observed: Observed = field(init=False)
    adopted: bool = False  # whether it goes on by the tree that a record has
    wanted: JTree | None = None  # by which it is to run from the next batch on
    debt: float = 0.0  # what it has cost not to run by a better one
    changes: int = 0  # how often it was changed
    shared: tuple[tuple[int, SharedLog], ...] = ()  # by set of inputs, the states that are made for others, too
    probing: Probing | None = None  # in which orders parts probe each other in the batch at hand
    probed: Probing | None = None  # those of the last batch in which there was something to join
    reordered: int = 0  # in how many batches they were others than before

    def __post_init__(self) -> None:
        whole = mjoin_of((1 << len(self.of.inputs)) - 1)
        self.tree = self.of.storing(whole if self.written is None else self.written)
        self.observed = Observed(self.of)
        self.identity = SharedInputs(self.of)

    @property
    def stages(self) -> list[Stage]:
        return with_tree(list(self.plain), self.stage, self.of, self.tree, self.shared)

    def log_of(self, state: int) -> str:
        """Under what name the state of a set of inputs is stored."""
        shared = dict(self.shared).get(state)
        return state_name(self.stage.name, state) if shared is None else shared.name

    @property
    def told_tree(self) -> str:
        """The tree as records have it, with the inputs by their numbers."""
        return written(self.tree, self._numbers)

    @property
    def _numbers(self) -> list[str]:
        return [str(at + 1) for at in range(len(self.of.inputs))]

    @property
    def is_new(self) -> bool:
        """Whether nobody has said or chosen by which tree it runs."""
        return self.written is None and not (self.adopted or self.changes or self.observed.is_enough)

    @property
    def how(self) -> str:
        """Why it runs by its tree, in words."""
        if self.written is not None:
            return "as join_tree says"
        if not self.observed.is_enough:
            return "until more of it was seen"
        times = "once" if self.changes == 1 else f"{self.changes} times"
        return f"as it was chosen, and changed {times} since it was begun" if self.changes else "as it began"

    def adopt(self, results: Results) -> None:
        """Go on with what is stored, unless somebody has said by which tree to go."""
        if self.written is not None:
            return
        known = results.stages.get(self.stage.name)
        self.adopted = known is not None
        if known is not None and known.tree:
            self.tree = self.of.storing(tree_written(known.tree, self._numbers))
        else:  # an earlier version told it by the names of states alone
            names = [n for n in self.stored(results) if results.stages[n].start is not None]
            self.tree = tree_with(self.tree.mask, [state_mask(name) for name in names])

    def stored(self, results: Results) -> list[str]:
        """The states that it has for itself, of this tree or one before."""
        return [name for name in results.stages if is_state_of(name, self.stage.name)]

    def see(self, view: Batch, root: str, nodes: Mapping[str, tuple[int, float]]) -> None:
        """A batch is done, as the stage with the join has seen it; by stage, how many tuples it gave, and its cpu."""
        self.observed.see(view, self.allowed().tick_seconds, root, nodes)

    def settle(self) -> None:
        """Between batches: change over to the tree that is wanted (`joins_together.py`)."""
        if self.wanted is not None:
            self.change(self.wanted)

    def reorder(self) -> None:
        """Before each batch: the best orders for what was seen by now. They cost nothing to change."""
        if not self.observed.is_enough_for_orders:
            return
        if self.probing is not None and self.probing.used:
            self.probed = self.probing
        with contextlib.suppress(EddylineError, ArithmeticError):
            self.probing = Probing(self.model())
            self.reordered += self.probed is not None and self.probing.differs(self.probed)

    @property
    def probes(self) -> list[str]:
        """The orders of the last batch that has joined something."""
        if not self.of.runs_by(self.tree):
            return []
        last = self.probing if self.probing is not None and self.probing.used else self.probed
        return [] if last is None else last.told()

    def change(self, tree: JTree) -> None:
        """From the next batch on it runs by another tree."""
        self.tree = self.of.storing(tree)
        self.debt = 0.0
        self.changes += 1
        self.wanted = None

    @property
    def seconds_of_batch(self) -> float:
        """Of the streams, that a batch takes in."""
        return self.observed.batch.seconds / max(self.observed.batch.amount, 1e-9)

    def described(self) -> MultiJoin:
        return self.observed.described(self.allowed().tick_seconds)

    def model(self) -> Model:
        """The join by what was seen, at the prices of this machine."""
        batch = self.observed.batch.rate  # batches in a second
        costs = self.costs(1.0 / batch if batch else 1.0)
        free = read_twice(self.identity.key, len(self.of.inputs))
        return Model(self.described().graph, costs, free=free, storable=self.of.storable)


def ended(join: JoinAtWork, known: Iterable[str], stages: Sequence[Stage]) -> list[str]:
    """The states that a tree before had stored, and this one does not."""
    wanted = {stage.name for stage in stages}
    return [name for name in known if is_state_of(name, join.stage.name) and name not in wanted]
