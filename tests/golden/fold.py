"""What is true at the end: the `+`, `-` and `=` of a query folded into what they leave behind.

However the input was cut into batches, this must be the same. Tuples are a bag of (tick, row): which index a tuple of
ISTREAM got may depend on the batches. Windows go by number, changes of a relation by their weight at each tick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from golden.notation import RELATION, STIX, TAG, TUPLE, Line, Row


class BadFold(AssertionError):
    """An answer that contradicts those before it, such as the withdrawal of a tuple that is not there."""


class Folded:
    def __init__(self) -> None:
        self._tuples: dict[int, tuple[int, Row]] = {}
        self._windows: dict[int, tuple[int, tuple[Row, ...]]] = {}
        self._relation: Counter[tuple[int, Row]] = Counter()
        self._others: list[Line] = []

    def add(self, line: Line) -> None:
        if line.kind in (TAG, STIX):
            self._others.append(line)
        elif line.kind == RELATION:
            self._relation[(line.tick, line.rows[0])] += 1 if line.op == "+" else -1
        elif line.kind == TUPLE:
            self._add_tuple(line)
        else:
            self._add_window(line)

    def _add_tuple(self, line: Line) -> None:
        have = self._tuples.get(_number(line))
        if line.op == "+":
            _check(have is None, line, "that index has a tuple already")
        else:
            said = line.rows[0] if line.old is None else line.old[0]
            _check(have is not None and have[1].bare == said.bare, line, f"what stood there is {have and have[1]}")
        if line.op == "-":
            del self._tuples[_number(line)]
        else:
            self._tuples[_number(line)] = (line.tick, line.rows[0])

    def _add_window(self, line: Line) -> None:
        have = self._windows.get(_number(line))
        if line.op == "+":
            _check(have is None, line, "that window exists already")
        else:
            said = line.rows if line.old is None else line.old
            same = have is not None and sorted(r.bare for r in have[1]) == sorted(r.bare for r in said)
            _check(same, line, f"what stood there is {' '.join(f'({row})' for row in have[1]) if have else None}")
        if line.op == "-":
            del self._windows[_number(line)]
        else:
            self._windows[_number(line)] = (line.tick, line.rows)

    def shown(self) -> list[str]:
        """The result as text, in an order of its own, so that two results can be compared line by line."""
        tuples = sorted(f"{tick:<6} {'#':<5} + {row}" for tick, row in self._tuples.values())
        windows = [
            str(Line("window", tick, number, "+", rows)) for number, (tick, rows) in sorted(self._windows.items())
        ]
        relation = sorted(
            f"{tick:<6} {'':<5} {weight:+d} × {row}" for (tick, row), weight in self._relation.items() if weight
        )
        return tuples + windows + relation + sorted(map(str, self._others))


def fold(lines: Iterable[Line]) -> Folded:
    folded = Folded()
    for line in lines:
        folded.add(line)
    return folded


def _number(line: Line) -> int:
    assert line.number is not None
    return line.number


def _check(condition: bool, line: Line, why: str) -> None:
    if not condition:
        raise BadFold(f"{why}, so this answer cannot be: {line}")
