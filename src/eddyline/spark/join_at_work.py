"""The join of a standing query: the tree it runs by, and when it changes over to another.

The planner is asked now and then, with what was seen by then. Whoever is at a disadvantage pays until it has paid the
price of the change: the difference between what the tree at work and the best one cost is added up as a debt, and the
tree is changed when the debt is as large as what it takes to make the new states from their tuples. A tree that no
longer fits into the limits goes at once, if another one does. What is stored, and since when, the records of batches
say; all that is here may be forgotten.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from eddyline.errors import EddylineError
from eddyline.log.results import Results
from eddyline.planner.choice import Choice, choose
from eddyline.planner.cost import Costs, Limits, Model
from eddyline.planner.machine import memory_for_joins, processors
from eddyline.planner.multi_join import MultiJoin
from eddyline.planner.plan import Plan, planned
from eddyline.planner.probing import Probing
from eddyline.planner.tree import JTree, mjoin_of, tree_with
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.join_inputs import JoinInputs, is_state_of, state_mask, with_tree
from eddyline.spark.observing import Observed
from eddyline.spark.stages import Stage

#: the planner is asked once in so many batches, and of the debt so much is left at its next question
_EVERY, _FADING = 4, 0.9
#: seconds for a batch that planning may take; who takes longer, where nothing fits for one, is asked less often
_PLANNING = 0.05
#: a tree must be better by this part of the one at work to be worth a thought: estimates are no better than that
_BETTER = 0.1


@dataclass(frozen=True)
class Allowed:
    """What a join may take (None: what the machine has), and how long a tick is."""

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
    written: JTree | None = None  # the tree that somebody wants
    tree: JTree = field(init=False)
    observed: Observed = field(init=False)
    debt: float = 0.0
    changes: int = 0  # how often it was changed
    probing: Probing | None = None  # in which orders parts probe each other in the batch at hand
    probed: Probing | None = None  # those of the last batch in which there was something to join
    reordered: int = 0  # in how many batches they were others than before
    _asked: int = 0  # the number of batches when the planner was last asked
    _pause: int = 0  # after how many more it is asked again, unless something turns out to be another than before
    _turns: int = 0  # how often that had been so when it was last asked

    def __post_init__(self) -> None:
        whole = mjoin_of((1 << len(self.of.inputs)) - 1)
        self.tree = self.of.storing(whole if self.written is None else self.written)
        self.observed = Observed(self.of)

    @property
    def stages(self) -> list[Stage]:
        return with_tree(list(self.plain), self.stage, self.of, self.tree)

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
        if self.written is None:
            names = [n for n in self.stored(results) if results.stages[n].start is not None]
            self.tree = tree_with(self.tree.mask, [state_mask(name) for name in names])

    def stored(self, results: Results) -> list[str]:
        """The states that there are, of this tree or one before."""
        return [name for name in results.stages if is_state_of(name, self.stage.name)]

    def see(self, view: Batch, root: str, nodes: Mapping[str, tuple[int, float]]) -> None:
        """A batch is done, as the stage with the join has seen it; by stage, how many tuples it gave, and its cpu."""
        self.observed.see(view, self.allowed().tick_seconds, root, nodes)

    def settle(self) -> None:
        """Between batches: change the tree if it is time."""
        if self.written is not None or not self.observed.is_enough:
            return
        turns = self.observed.turns
        if self.observed.batches < self._asked + self._pause and self._asked and turns == self._turns:
            return
        batches, self._turns = self.observed.batches - self._asked, turns
        self._asked = self.observed.batches
        began = time.monotonic()
        # a plan that cannot be made is no reason to stop answering
        with contextlib.suppress(EddylineError, ArithmeticError):
            self._weigh(batches)
        self._pause = max(_EVERY, int((time.monotonic() - began) / _PLANNING))

    def reorder(self) -> None:
        """Before each batch: the best orders for what was seen by now. They cost nothing to change."""
        if not self.observed.is_enough:
            return
        if self.probing is not None and self.probing.used:
            self.probed = self.probing
        with contextlib.suppress(EddylineError, ArithmeticError):
            self.probing = Probing(self.model())
            self.reordered += self.probed is not None and self.probing.differs(self.probed)

    @property
    def probes(self) -> list[str]:
        """The orders of the last batch that has joined something."""
        last = self.probing if self.probing is not None and self.probing.used else self.probed
        return [] if last is None else last.told()

    def _weigh(self, batches: int) -> None:
        model, limits = self.model(), self.allowed().limits
        best = self.best(choose(model, limits), model)
        now = planned(model, self.tree)
        self.debt *= _FADING
        if best.tree == self.tree or (limits.allow(now.used) and best.cpu > now.cpu * (1 - _BETTER)):
            return
        seconds = batches * (self.observed.batch.seconds / max(self.observed.batch.amount, 1e-9))
        self.debt += max(0.0, now.cpu - best.cpu) * seconds
        must = not limits.allow(now.used) and limits.strain(best.used) < limits.strain(now.used)
        if must or self.debt >= self.price(model, best.tree):
            self.change(best.tree)

    def change(self, tree: JTree) -> None:
        """From the next batch on it runs by another tree."""
        self.tree = self.of.storing(tree)
        self.debt = 0.0
        self.changes += 1

    def best(self, choice: Choice, model: Model) -> Plan:
        """What is to run: the plan, or the one that is nearest to fitting; without what cannot be stored."""
        plan = choice.plan
        if plan is None:
            assert choice.missing is not None
            plan = choice.missing.nearest
        return planned(model, self.of.storing(plan.tree))

    def described(self) -> MultiJoin:
        return self.observed.described(self.allowed().tick_seconds)

    def model(self) -> Model:
        """The join by what was seen, at the prices of this machine."""
        batch = self.observed.batch.rate  # batches in a second
        return Model(self.described().graph, self.costs(1.0 / batch if batch else 1.0))

    def price(self, model: Model, tree: JTree) -> float:
        """Seconds that it takes to make the states of a tree that are not there."""
        had = set(self.tree.states())
        graph, costs = model.graph, model.costs
        return sum(graph.size(state) * (costs.join + costs.insert) for state in tree.states() if state not in had)


def ended(join: JoinAtWork, known: Iterable[str], stages: Sequence[Stage]) -> list[str]:
    """The states that a tree before had stored, and this one does not."""
    wanted = {stage.name for stage in stages}
    return [name for name in known if is_state_of(name, join.stage.name) and name not in wanted]
