"""Comparing what was expected with what was said, and showing the difference so that it can be read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from golden.fold import fold
from golden.notation import RELATION, TUPLE, Line, bag


def same_sequence(query: str, expected: Sequence[Line], actual: Sequence[Line], unordered: bool) -> str | None:
    """None if both say the same in the same order, else the difference."""
    return _difference(
        f"{query}: the answers, in the order of production",
        [str(line) for line in settled(expected, unordered)],
        [str(line) for line in settled(actual, unordered)],
    )


def same_fold(query: str, expected: Sequence[Line], actual: Sequence[Line]) -> str | None:
    """None if both fold to the same, else the difference."""
    return _difference(f"{query}: what the answers fold to", fold(expected).shown(), fold(actual).shown())


def settled(lines: Sequence[Line], unordered: bool) -> list[Line]:
    """The lines with everything in a fixed order whose order says nothing.

    Changes of a relation at one tick are a bag. Where a query is `unordered`, so are the rows of the tuples that
    follow each other at one tick: the indexes stay, the rows are dealt out to them in a fixed order.
    """
    result: list[Line] = []
    for (kind, _, op), run in groupby(lines, key=lambda line: (line.kind, line.tick, _op_of_run(line))):
        group = list(run)
        if kind == RELATION:
            group.sort(key=str)
        elif kind == TUPLE and unordered and op == "+":
            rows = bag(line.rows[0] for line in group)
            group = [replace(line, rows=(row,)) for line, row in zip(group, rows, strict=True)]
        result.extend(group)
    return result


def _op_of_run(line: Line) -> str:
    return "" if line.kind == RELATION else line.op


def _difference(title: str, expected: list[str], actual: list[str]) -> str | None:
    if expected == actual:
        return None
    marks = {"-": "expected", "+": "got     ", " ": "        "}
    lines = [f"{marks[d[0]]} {d[2:]}" for d in difflib.ndiff(expected, actual) if d[0] in marks]
    return "\n".join((title, *(f"  {line}" for line in lines)))


def operators(algebra: str) -> list[str]:
    """The operators and arguments of an algebra text in order, without white space and parentheses.

    The paper's own text is not balanced, so parentheses say nothing; quotes may be typographic.
    """
    plain = algebra.translate(str.maketrans({"”": '"', "“": '"'}))
    return re.findall(r'"[^"]*"|[A-Za-z_]\w*|-?\d+|[^\s()"]', re.sub(r"\s+", " ", plain))
