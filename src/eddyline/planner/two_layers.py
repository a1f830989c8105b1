"""The two-layer algorithm (algorithm 2 of the paper): the plans with least of one resource, then others.

First the mjoin: nothing needs less memory, so if it does not fit, nothing does. Then the bjtree, which computes nothing
twice. If neither is qualified, states are selected from the mjoin on, and if that does not help, removed from the
bjtree on. The paper gives up where the bjtree alone needs too much processor time; but where states do not pay, others
need less than the bjtree, so we go on.
"""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.planner.bjtree import find_bjtree
from eddyline.planner.cost import Limits, Model
from eddyline.planner.mjoin import find_mjoin
from eddyline.planner.plan import Plan
from eddyline.planner.state_removal import remove_states
from eddyline.planner.state_selection import select_states

MJOIN, BJTREE, SELECTION, REMOVAL = "mjoin", "bjtree", "state selection", "state removal"


@dataclass(frozen=True)
class Considered:
    """A plan that was looked at, and which planner has come to it."""

    by: str
    plan: Plan


@dataclass(frozen=True)
class Found:
    """What a planner has come to: the plan, None if none is qualified, and all that was looked at, in order."""

    plan: Plan | None
    considered: tuple[Considered, ...]


def find_in_two_layers(model: Model, limits: Limits) -> Found:
    """A qualified plan; that there is none is certain only if the mjoin does not fit into memory."""
    seen: list[Considered] = []

    def looked_at(by: str, plans: list[Plan]) -> Found | None:
        seen.extend(Considered(by, plan) for plan in plans)
        return Found(plans[-1], tuple(seen)) if limits.allow(plans[-1].used) else None

    mjoin = find_mjoin(model)
    if found := looked_at(MJOIN, [mjoin]):
        return found
    if not limits.holds(mjoin.memory):
        return Found(None, tuple(seen))
    bjtree = find_bjtree(model)
    if found := looked_at(BJTREE, [bjtree]):
        return found
    if found := looked_at(SELECTION, select_states(model, limits, mjoin)):
        return found
    return looked_at(REMOVAL, remove_states(model, limits, bjtree)) or Found(None, tuple(seen))
