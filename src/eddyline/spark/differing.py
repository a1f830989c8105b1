"""Which joins are corrected by differences, and when: by what revised tuples change, not from all tuples of windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from eddyline.algebra.sharing import MemberWindow, StreamMatch
from eddyline.algebra.user_function import functions_of
from eddyline.log.results import StageResult
from eddyline.planner.multi_join import join_nodes
from eddyline.planner.tree import mjoin_of
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.changed_rows import is_linear, touched_by
from eddyline.spark.evaluate.lives import FRESH, OLD, living, segments_of
from eddyline.spark.evaluate.outlook import rows_within
from eddyline.spark.evaluate.tuples import log_of
from eddyline.spark.join_inputs import JoinInputs, JoinNode, inputs_or_reason, window_of
from eddyline.spark.pair_costs import Changes, PairCosts
from eddyline.spark.spans import Spans
from eddyline.spark.stages import RELATION, STREAM, WINDOWS, Stage
from eddyline.spark.standing import Standing

#: each input probes all others: with more of them, to read and plan the statement takes longer than to join
_MOST_INPUTS = 6


@lru_cache(maxsize=10_000)
def _has_differing_join(stage: Stage) -> bool:
    return isinstance(differing_join(stage), JoinInputs)


def differing_join(stage: Stage) -> JoinInputs | str | None:
    """The join of a stage that can be corrected by differences; or why it cannot be; None if it has none."""
    nodes = join_nodes(stage.plan)
    if not nodes or stage.kind not in (RELATION, STREAM, WINDOWS):
        return None
    if stage.kind == WINDOWS:  # to read and write all of it takes longer than to join it
        return "a window that is corrected is said as a whole"
    join = inputs_or_reason(stage, nodes[0])
    if isinstance(join, str):
        return join
    if any(isinstance(operator, StreamMatch | MemberWindow) for operator in stage.plan.walk()):
        return "the queries of its class have tuples or windows of their own"
    if not is_linear(stage.plan, join):
        return "what is computed of the pairs of a window needs all of them"
    if join.storable != (1 << len(join.inputs)) - 1:
        return "how long its tuples are in a window, not only their ticks say"
    if len(join.inputs) > _MOST_INPUTS:
        return f"it has more than {_MOST_INPUTS} inputs"
    if stage.revise is not None:
        return "not all corrections are shown"
    if functions_of(stage.plan):  # who knows whether they say of a tuple what they said of it before
        return "it calls functions of the user's own"
    return join


@dataclass
class Differences:
    """Which joins of a batch are corrected by differences, and what that costs; made anew for each batch."""

    costs: PairCosts
    made: set[str] = field(default_factory=set)  # queries that are corrected so
    _chosen: dict[str, tuple[str, Changes, bool]] = field(default_factory=dict)  # by stage

    def seen(self, query: Standing, stage: Stage, view: Batch, had: StageResult | None) -> Batch:
        """What a stage sees, if it is to be corrected by differences in this batch; else the same as before.

        `had` is what it has said: a query that has said nothing yet has nothing to correct.
        """
        if not query.keeps or had is None or not _has_differing_join(stage):
            return view
        join = differing_join(stage)  # of this very plan: others may be equal
        assert isinstance(join, JoinInputs)
        node = view.join
        if node is None:
            node = JoinNode(join, stage.name, mjoin_of((1 << len(join.inputs)) - 1))
        touched = touched_by(node, view)
        if not touched:
            return view
        if query.chooses:
            changes = Changes(*(_tuples(join, view, touched, which) for which in (OLD, FRESH)))
            differs = self.costs.by_differences(query.name, changes)
            self._chosen[stage.name] = query.name, changes, differs
            if not differs:
                return view
        self.made.add(query.name)
        return replace(view, differences=node)

    def learn(self, seconds: Mapping[str, float]) -> None:
        """The batch is done; the processor's seconds by stage, of those that have worked."""
        for stage, (query, changes, differs) in self._chosen.items():
            if seconds.get(stage):
                self.costs.spent(query, changes, differs, seconds[stage])


def _tuples(join: JoinInputs, view: Batch, touched: Spans, which: str) -> float:
    """About how many tuples of the inputs are in the windows that have changed."""
    windows = filter(lambda one: one.inputs, map(window_of, join.inputs))
    return sum(
        rows_within(segments_of(log_of(window.inputs[0], view), which), living(window, view, touched))
        for window in windows
    )
