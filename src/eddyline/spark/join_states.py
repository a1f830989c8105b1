"""What the stages of a join tree see of its states in a batch: which are there, since when, and which begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from eddyline.log.results import StageResult
from eddyline.planner.probing import Orders
from eddyline.spark.evaluate.batch import Batch, KeptState
from eddyline.spark.evaluate.joining import expanded, life_of_states
from eddyline.spark.spans import LOW
from eddyline.spark.stages import STATE, Stage


def with_states(
    stage: Stage, view: Batch, stored: Mapping[str, KeptState], had: StageResult, probing: Orders | None
) -> Batch | None:
    """The view of a stage that writes or reads states; `stored` are those of this batch, `had` is its own log before.

    None if it is to write a state and one that it reads is not there.

    A state is whole from a while before what is due on, and moves on: what is older is corrected from tuples, and the
    rows that have lived by then go. If it has no beginning, it begins now, with all that lives.
    """
    node = stage.joined
    assert node is not None
    known = [node.name(one) for one in node.tree.nodes() if one is not node.tree]
    below = {name: stored[name] for name in known if name in stored}
    if not below.keys() >= set(node.states):  # the past is being answered, or they have failed
        return None if stage.kind == STATE else view
    if stage.kind != STATE:
        runs = node.of.runs_by(node.tree)
        return replace(view, states=below, join=node, probing=probing) if runs else view
    view = replace(view, states=below, probing=probing)
    begins = had.start is None
    first = LOW if had.start is None else had.start
    if view.before.closed > LOW:
        first = max(first, view.before.closed - life_of_states(node, view))
    probed = node if begins else expanded(node, view)
    first = max([first, *(stored[name].first for name in probed.states)])
    return replace(view, whole_from=first, begins=begins)
