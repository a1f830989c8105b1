"""Routing tuples through operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from eddyline.kernels.eddy.clock import OwnTime
from eddyline.kernels.eddy.knowledge import SMALLEST_PIECE, Bools, Knowledge
from eddyline.kernels.eddy.report import Report
from eddyline.kernels.places import Ints

#: gives those of the tuples (places in a table) that pass; if asked alone, whatever other operators have found
Operator = Callable[[Ints, bool], Ints]

#: tuples that are shown to all operators at a time
_BURST = 256
#: seconds of sampling for a second of work
_SAMPLING = 0.01
#: so often in a piece it is looked whether the tuples are what was expected
_LOOKS = 4


class Eddy:
    """Routes tuples, and learns from it."""

    def __init__(
        self, operators: Sequence[Operator], knowledge: Knowledge, clock: Callable[[], float] | None = None
    ) -> None:
        self._operators = operators
        self._known = knowledge
        self._clock = clock or OwnTime()
        self._random = np.random.default_rng(0)  # which tuples are sampled must not fall in step with the data
        self.report = Report(knowledge.operators)

    def route(self, tuples: Ints) -> Iterator[Ints]:
        """Those that pass all operators, piece by piece."""
        done = 0
        while done < tuples.size:
            size = tuples.size - done if len(self._operators) == 1 else self._known.piece
            passed, gone = self._routed(tuples[done : done + size])
            done += gone
            yield passed
        self.report.learned = self._known

    def _routed(self, piece: Ints) -> tuple[Ints, int]:
        """Those of a piece that pass, and how many of its tuples have gone: a surprise may end it early."""
        began = self._clock()
        known, survivors, spent, sampled = self._known, piece[:0], 0.0, 0
        if len(self._operators) > 1 and (not len(known.sample) or known.budget > self._price()):
            sampled = piece.size
            spent, survivors, piece = self._sampled(piece)
            sampled -= piece.size
        # tuples of the whole piece were sampled: it cannot end early
        left, gone, surprised = self._through(piece, looks=1 if sampled or len(self._operators) == 1 else _LOOKS)
        seconds = self._clock() - began - spent
        if surprised:
            known.surprise()
        else:
            known.calm(gone)
        if gone:
            known.went(gone, seconds)
        known.budget += _SAMPLING * seconds - spent
        return np.sort(np.concatenate([survivors, left])) if survivors.size else left, gone + sampled

    def _through(self, piece: Ints, looks: int) -> tuple[Ints, int, bool]:
        """A decision fixes some operators; those after them are chosen anew for the tuples that are left.

        Gives those that pass, how many have gone, and whether there was a surprise.
        """
        known = self._known
        if not piece.size:
            return piece, 0, False
        order = known.order()
        left, gone, unexpected = self._first(order[0], piece, looks)
        self.report.decided(order, gone)
        taken, fixed, surprised = [order[0]], order[1 : known.fixed], unexpected
        local: Bools | None = None  # a sample of the tuples that are left, if they are not what was expected
        while len(taken) < len(self._operators) and left.size:
            if unexpected and len(self._operators) - len(taken) > 1 and left.size > 4 * _BURST:
                local = self._observed(np.sort(self._random.choice(left, _BURST, replace=False)), taken)
            if unexpected or not fixed:
                fixed = known.order(taken, local)[: known.fixed]
                self.report.decisions += 1
            operator, came = fixed.pop(0), left.size
            left = self._run(operator, left)
            unexpected = known.is_surprising(operator, taken, came, left.size)
            surprised |= unexpected
            taken.append(operator)
        return left, gone, surprised

    def _first(self, operator: int, piece: Ints, looks: int) -> tuple[Ints, int, bool]:
        """It is asked of a part after another, until one is a surprise: the rest goes another way then."""
        size = max(-(-piece.size // looks), SMALLEST_PIECE)
        passed: list[Ints] = []
        for begin in range(0, piece.size, size):
            part = piece[begin : begin + size]
            passed.append(self._run(operator, part))
            if self._known.is_surprising(operator, (), part.size, passed[-1].size):
                return np.concatenate(passed), begin + part.size, True
        left = np.concatenate(passed)
        return left, piece.size, self._known.is_surprising(operator, (), piece.size, left.size)

    def _sampled(self, piece: Ints) -> tuple[float, Ints, Ints]:
        """Show some tuples to all operators; gives the seconds it took, those that passed, and the other tuples."""
        began = self._clock()
        is_chosen = np.zeros(piece.size, np.bool_)
        is_chosen[self._random.choice(piece.size, min(_BURST, piece.size), replace=False)] = True
        chosen = piece[is_chosen]
        passed = self._observed(chosen)
        self._known.sampled(passed)
        self.report.sampled += chosen.size
        return self._clock() - began, chosen[passed.all(axis=1)], piece[~is_chosen]

    def _observed(self, chosen: Ints, taken: Sequence[int] = ()) -> Bools:
        passed = np.ones((chosen.size, len(self._operators)), np.bool_)
        for operator in range(len(self._operators)):
            if operator not in taken:
                passed[:, operator] = np.isin(chosen, self._run(operator, chosen, alone=True))
        return passed

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
