"""All joins of a database within limits that hold for them together: which trees they run by, and when they change.

The planner is asked now and then, with what was seen by then, whenever a join comes or goes, and when a rate or a
selectivity has turned out to be clearly another. It divides what there is (`planner/division.py`).

A tree is changed when that has paid: the difference between what the trees at work and the best ones cost is added up
as a debt, and when the debt is as large as what it takes to make the new states from their tuples, they are changed.
First each join for itself, as far as it is better off without anybody else changing; the others together, because one
gives up what another needs. If what is at work no longer fits, all change at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from eddyline.errors import EddylineError
from eddyline.planner.budget import FOR_ALL, FOR_CHANGES, Budget
from eddyline.planner.cost import ROUNDING, Limits, Resources
from eddyline.planner.division import Divided, Missing, divide
from eddyline.planner.member import Division, Member, Taking, used_by, worth
from eddyline.planner.tree import JTree, with_state
from eddyline.spark.join_at_work import Allowed, JoinAtWork
from eddyline.spark.join_identity import JoinedSet
from eddyline.spark.standing import Standing

#: the planner is asked once in so many batches, and of the debt so much is left at its next question
_EVERY, _FADING = 4, 0.9
#: seconds for a batch that planning may take; who takes longer, where nothing fits for one, is asked less often
_PLANNING = 0.05
#: trees must be better by this part of those at work to be worth a thought: estimates are no better than that
_BETTER = 0.1


@dataclass(frozen=True)
class Taken:
    """What the joins at work take, each beside those before it, and together; and what is missing if it is too much."""

    limits: Limits
    parts: Mapping[str, Resources]
    missing: Missing | None = None
    exceeded: Mapping[str, tuple[Resources, Limits]] = field(default_factory=dict)  # what a query needs, and may
    is_cut: bool = False  # whether the search for trees was ended before its end

    @property
    def used(self) -> Resources:
        return sum(self.parts.values(), Resources(0.0, 0.0))


@dataclass(frozen=True)
class Beside:
    """What others leave for a join: sets of its inputs that they keep, and what is left of the limits for all."""

    free: frozenset[int]
    left: Limits
    others: int
    taken: Resources  # by the others


class JoinsTogether:
    """Asked by the thread that runs batches, before each of them."""

    def __init__(self, on_trouble: Callable[[str], None] = lambda text: None) -> None:
        self.allowed: Callable[[], Allowed] = Allowed
        self.apart = False  # True: each join as if there were no others, to measure what it costs
        self.taken: Taken | None = None
        self._debt = 0.0
        self._known: dict[str, int] = {}  # the joins, and how often something has turned out to be another for them
        self._batches = self._asked = self._pause = 0
        self._on_trouble = on_trouble
        self._said = ""  # of what could not be planned: once
        self._next = 0  # which of them is tried first when it is asked again

    def settle(self, common: Sequence[Standing], aside: Sequence[Standing] = ()) -> None:
        """Say by which trees joins are to run; those with lanes of their own share nothing but their inputs."""
        joins = {query.name: query.join for query in common if query.join is not None}
        if not self.apart:
            _begin_with_what_is_there(list(joins.values()))
        alone = {query.name: query.join for query in aside if query.join is not None}
        seen = {name: join for name, join in {**joins, **alone}.items() if join.observed.is_enough}
        self._batches += 1
        known = {name: join.observed.turns for name, join in seen.items()}
        if not self._is_due(known):
            return
        since, self._asked, self._known = self._batches - self._asked, self._batches, known
        if not seen:
            self.taken = None
            return
        began = time.monotonic()
        try:
            for some in [{name: join} for name, join in seen.items()] if self.apart else [seen]:
                self._weigh(some, set(alone), since)
            self._said = ""
        except (EddylineError, ArithmeticError) as problem:  # no reason to stop answering, but somebody should know
            said = f"join trees cannot be planned: {problem or type(problem).__name__}; joins go on by those they have"
            if said != self._said:
                self._said = said
                self._on_trouble(said)
        self._pause = int((time.monotonic() - began) / _PLANNING)

    def _is_due(self, known: Mapping[str, int]) -> bool:
        """At once if a join has come or gone; sooner if something has turned out to be another, but never so often that
        planning takes more than its part of the time.
        """
        pause = max(_EVERY, self._pause) if known == self._known else self._pause
        return known.keys() != self._known.keys() or self._batches >= self._asked + pause

    def beside(self, name: str, common: Sequence[Standing], aside: Sequence[Standing]) -> Beside:
        """What is left for a join, and what the others keep that it could read."""
        joins = {query.name: query.join for query in (*common, *aside) if query.join is not None}
        joins = {at: join for at, join in joins.items() if at == name or join.observed.is_enough}
        alone, limits = {query.name for query in aside}, self.allowed().limits
        members = _members(joins, alone)
        others = [member for member in members if member.name != name]
        taking = Taking(others, [joins[member.name].tree for member in others])
        (own,) = (member for member in members if member.name == name)
        return Beside(own.free(taking.kept, own.sets()), limits.left(taking.used), len(others), taking.used)

    def _weigh(self, joins: Mapping[str, JoinAtWork], alone: set[str], since: int) -> None:
        members, limits = _members(joins, alone), self.allowed().limits
        at_work = list(joins.values())
        now = used_by(members, [join.tree for join in at_work])
        found = divide(members, limits, now.trees, Budget.of_steps(FOR_ALL))
        now = self._nearer(members, limits, at_work, now, found)
        weighed = [
            member.settled(tree) if member.name in found.beyond else member for member, tree in _of(members, now)
        ]
        now = self._relieved(weighed, limits, at_work, now, found.division)
        now = self._change_alone(weighed, limits, at_work, now, found.division, since)
        now = self._change_together(weighed, at_work, now, found.division, since)
        self.taken = _taken(members, now, found)

    def _nearer(
        self, members: Sequence[Member], limits: Limits, joins: Sequence[JoinAtWork], now: Division, found: Divided
    ) -> Division:
        """Joins that cannot keep their own limits: by trees that exceed these clearly less, at once."""
        for at, member in enumerate(members):
            tree = found.division.trees[at]
            if member.name not in found.beyond or member.strain(tree) >= member.strain(now.trees[at]) * (1 - _BETTER):
                continue
            tried = used_by(members, _with(now.trees, at, tree))
            if found.missing is None or limits.strain(tried.used) <= max(1.0, limits.strain(now.used)):
                now = self._change(joins, [at], now, tried)
        return now

    def _relieved(
        self, members: Sequence[Member], limits: Limits, joins: Sequence[JoinAtWork], now: Division, best: Division
    ) -> Division:
        """If what is at work does not fit, and something fits, or exceeds limits clearly less: that, at once.

        Of all that would change only what brings it there, what costs most left first: the others wait until it pays.
        """
        before, after = worth(members, now, limits)[0], worth(members, best, limits)[0]
        if before <= 1 or after > max(1.0, before * (1 - _BETTER)):
            return now
        self._debt = 0.0
        changing = [at for at, tree in enumerate(best.trees) if tree != now.trees[at]]
        prices = {at: _price(members, now, best, [at]) for at in changing}
        budget, to = Budget.of_steps(FOR_CHANGES), best
        weighed = [member.within(budget) for member in members]
        for at in sorted(changing, key=lambda at: -prices[at]):
            if budget.is_spent:
                break
            tried = used_by(weighed, _with(to.trees, at, now.trees[at]))
            if worth(weighed, tried, limits)[0] <= after * (1 + ROUNDING):
                to = tried
        return self._change(joins, changing, now, to)

    def _change_alone(
        self,
        members: Sequence[Member],
        limits: Limits,
        joins: Sequence[JoinAtWork],
        now: Division,
        best: Division,
        since: int,
    ) -> Division:
        budget = Budget.of_steps(FOR_CHANGES)
        members = [member.within(budget) for member in members]
        for join in joins:
            join.debt *= _FADING
        changing = [at for at, tree in enumerate(best.trees) if tree != now.trees[at]]
        later = [at for at in changing if at >= self._next]  # who had no turn the last time comes first
        for at in (*later, *(at for at in changing if at < self._next)):
            if budget.is_spent:
                self._next = at
                break
            join, tree = joins[at], best.trees[at]
            tried = used_by(members, _with(now.trees, at, tree))
            gain = now.used.cpu - tried.used.cpu
            if worth(members, tried, limits)[0] > worth(members, now, limits)[0] * (1 + ROUNDING):
                continue
            if gain > _BETTER * members[at].model.of(now.trees[at]).cpu:
                join.debt += gain * since * join.seconds_of_batch
                if join.debt >= _price(members, now, tried, [at]):
                    now = self._change(joins, [at], now, tried)
        else:
            self._next = 0
        return now

    def _change_together(
        self, members: Sequence[Member], joins: Sequence[JoinAtWork], now: Division, best: Division, since: int
    ) -> Division:
        self._debt *= _FADING
        changing = [at for at, tree in enumerate(best.trees) if tree != now.trees[at]]
        own = sum(members[at].model.of(now.trees[at]).cpu for at in changing)
        gain = now.used.cpu - best.used.cpu
        if len(changing) > 1 and gain > _BETTER * own:
            self._debt += gain * since * max(join.seconds_of_batch for join in joins)
            if self._debt >= _price(members, now, best, changing):
                self._debt = 0.0
                return self._change(joins, changing, now, best)
        return now

    def _change(self, joins: Sequence[JoinAtWork], which: Sequence[int], now: Division, to: Division) -> Division:
        for at in which:
            if to.trees[at] != now.trees[at]:
                joins[at].wanted = to.trees[at]
        return to


def _members(joins: Mapping[str, JoinAtWork], alone: set[str]) -> list[Member]:
    """The joins as the planner sees them."""
    stored = _Stored(joins.values())
    return [_member(name, join, name in alone, stored) for name, join in joins.items()]


def _member(name: str, join: JoinAtWork, alone: bool, stored: _Stored) -> Member:
    key = join.identity.key

    def inputs_only(mask: int) -> Hashable | None:
        return None if mask & (mask - 1) else key(mask)

    fixed = None if join.written is None else join.tree
    more = () if alone else tuple(stored.like(join))
    return Member(name, join.model(), join.own, fixed, inputs_only if alone else key, more)


class _Stored:
    """The joined sets that joins store, found by the inputs that they join: most joins have nothing in common."""

    def __init__(self, joins: Iterable[JoinAtWork]) -> None:
        self._by_input: dict[str, dict[str, tuple[JoinedSet, list[JoinAtWork]]]] = {}
        for join in joins:
            for state in join.tree.states():
                self._add(join, join.identity.joined(state))

    def _add(self, join: JoinAtWork, found: JoinedSet | None) -> None:
        if found is not None:
            same = self._by_input.setdefault(found.texts[0], {})
            same.setdefault(found.key, (found, []))[1].append(join)

    def like(self, join: JoinAtWork) -> list[int]:
        """The sets of a join that are the same as those that others store."""
        masks: dict[int, None] = {}
        for text in join.identity.texts:
            for found, owners in self._by_input.get(text, {}).values():
                if any(owner is not join for owner in owners):
                    masks |= dict.fromkeys(join.identity.like(found))
        return list(masks)


def _begin_with_what_is_there(joins: Sequence[JoinAtWork]) -> None:
    """A join of which nothing was seen yet reads the states that others keep: they cost nothing more.

    One with limits of its own does not: they count, and nobody knows yet whether they fit. Nor does one that goes on
    after a restart, by the tree that was chosen for it.
    """
    new = [join for join in joins if join.is_new and join.own == Limits()]
    stored = _Stored(joins if new else ())
    for join in new:
        masks = [mask for mask in stored.like(join) if mask != join.tree.mask]
        for mask in sorted(masks, key=int.bit_count, reverse=True):
            states = join.tree.states()
            if not any(state & mask and state & ~mask and mask & ~state for state in states):
                join.tree = join.of.storing(with_state(join.tree, mask))


def _of(members: Sequence[Member], division: Division) -> Iterable[tuple[Member, JTree]]:
    return zip(members, division.trees, strict=True)


def _with(trees: Sequence[JTree], at: int, tree: JTree) -> list[JTree]:
    return [*trees[:at], tree, *trees[at + 1 :]]


def _price(members: Sequence[Member], now: Division, to: Division, which: Sequence[int]) -> float:
    """Seconds that it takes to make the states that nobody has."""
    there = Taking(members, now.trees).kept
    made: set[Hashable] = set()
    total = 0.0
    for at in which:
        member, had = members[at], set(now.trees[at].states())
        for state in to.trees[at].states():
            key = member.key(state)
            if state not in had and key not in there and (key is None or key not in made):
                made.add(key)
                total += member.model.graph.size(state) * (member.model.costs.join + member.model.costs.insert)
    return total


def _taken(members: Sequence[Member], now: Division, found: Divided) -> Taken:
    parts = {one.name: used for one, used in zip(members, now.parts, strict=True)}
    exceeded = {
        one.name: (one.needs(tree), one.own)
        for one, tree in zip(members, now.trees, strict=True)
        if not one.may_run_by(tree)
    }
    return Taken(found.limits, parts, found.missing, exceeded, found.is_cut)
