"""Routing tuples through operators."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from eddyline.kernels.eddy.knowledge import Bools, Knowledge
from eddyline.kernels.eddy.report import Report
from eddyline.kernels.places import Ints

#: gives those of the tuples (places in a table) that pass; if asked alone, whatever other operators have found
Operator = Callable[[Ints, bool], Ints]

#: tuples that are shown to all operators at a time
_BURST = 256
#: seconds of sampling for a second of work
_SAMPLING = 0.01


class Eddy:
    """Routes tuples, and learns from it."""

    def __init__(
        self, operators: Sequence[Operator], knowledge: Knowledge, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._operators = operators
        self._known = knowledge
        self._clock = clock
        self._random = np.random.default_rng(0)  # which tuples are sampled must not fall in step with the data
        self.report = Report(knowledge.operators)

    def route(self, tuples: Ints) -> Iterator[Ints]:
        """Those that pass all operators, piece by piece."""
        done = 0
        while done < tuples.size:
            size = tuples.size - done if len(self._operators) == 1 else self._known.piece
            piece = tuples[done : done + size]
            done += piece.size
            yield self._routed(piece)
        self.report.learned = self._known

    def _routed(self, piece: Ints) -> Ints:
        began = self._clock()
        known, survivors, spent = self._known, piece[:0], 0.0
        if len(self._operators) > 1 and (not len(known.sample) or known.budget > self._price()):
            spent, survivors, piece = self._sampled(piece)
        left, surprised = self._through(piece)
        seconds = self._clock() - began - spent
        if surprised:
            known.surprise()
        else:
            known.calm(piece.size)
        if piece.size:
            known.went(piece.size, seconds)
        known.budget += _SAMPLING * seconds - spent
        return np.sort(np.concatenate([survivors, left])) if survivors.size else left

    def _through(self, piece: Ints) -> tuple[Ints, bool]:
        """A decision fixes some operators; those after them are chosen anew for the tuples that are left."""
        known, taken, surprised = self._known, list[int](), False
        local: Bools | None = None  # a sample of the tuples that are left, if they are not what was expected
        first: list[int] | None = None
        while len(taken) < len(self._operators) and piece.size:
            order = known.order(taken, local)
            if first is None:
                first = order
                self.report.decided(order, piece.size)
            else:
                self.report.decisions += 1
            for operator in order[: known.fixed]:
                came = piece.size
                piece = self._run(operator, piece)
                unexpected = known.is_surprising(operator, taken, came, piece.size)
                surprised |= unexpected
                taken.append(operator)
            if surprised and len(self._operators) - len(taken) > 1 and piece.size > 4 * _BURST:
                _, local = self._observed(np.sort(self._random.choice(piece, _BURST, replace=False)), taken)
        return piece, surprised

    def _sampled(self, piece: Ints) -> tuple[float, Ints, Ints]:
        """Show some tuples to all operators; gives the seconds it took, those that passed, and the other tuples."""
        began = self._clock()
        is_chosen = np.zeros(piece.size, np.bool_)
        is_chosen[self._random.choice(piece.size, min(_BURST, piece.size), replace=False)] = True
        chosen, passed = self._observed(piece[is_chosen])
        self._known.sampled(passed)
        self.report.sampled += chosen.size
        return self._clock() - began, chosen[passed.all(axis=1)], piece[~is_chosen]

    def _observed(self, chosen: Ints, taken: Sequence[int] = ()) -> tuple[Ints, Bools]:
        passed = np.ones((chosen.size, len(self._operators)), np.bool_)
        for operator in range(len(self._operators)):
            if operator not in taken:
                passed[:, operator] = np.isin(chosen, self._run(operator, chosen, alone=True))
        return chosen, passed

    def _price(self) -> float:
        """Of showing some tuples to all operators."""
        return _BURST * sum(self._known.costs)

    def _run(self, operator: int, tuples: Ints, alone: bool = False) -> Ints:
        if not tuples.size:
            return tuples
        began = self._clock()
        left = self._operators[operator](tuples, alone)
        seconds = self._clock() - began
        self._known.ran(operator, tuples.size, seconds)
        self.report.ran(operator, tuples.size, left.size, seconds)
        return left
