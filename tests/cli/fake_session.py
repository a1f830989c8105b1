"""A stand-in for `eddyline.session`, so that the command line is tested for itself. The script says what happens."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from eddyline.algebra.answer import Answer, TextAnswer, TupleAnswer
from eddyline.errors import EddylineError, Position, SyntaxProblem, UnknownColumn
from eddyline.sources import Reject


class Session:
    def __init__(
        self,
        text: str,
        base: Path,
        batch_rows: int = 1,
        on_reject: Callable[[Reject], None] = print,
        on_warning: Callable[[str], None] = print,
        on_progress: Callable[[Any], None] | None = None,
        on_query: Callable[[str, tuple[str, ...]], None] = print,
        without_rules: frozenset[str] = frozenset(),
    ) -> None:
        self._text, self._base, self._batch_rows = text, base, batch_rows
        self._on_reject, self._on_warning = on_reject, on_warning
        self._on_query = on_query
        if "syntax" in text:
            at = text.index("syntax")
            raise SyntaxProblem("a syntax error", Position(at, at + 6), hint="write better")

    def answers(self) -> Iterator[Answer]:
        self._on_query("q1", ("batch_rows", "base"))
        yield TupleAnswer("q1", 60, 1, "+", (self._batch_rows, str(self._base)))
        if "reject" in self._text:
            self._on_reject(Reject("road", "road.csv", 3, "a,b", "too few fields: 2 instead of 4"))
        if "warn" in self._text:
            self._on_warning("road: road.csv is empty")
        if "late error" in self._text:
            raise UnknownColumn("no column é \ud800", Position(0, 4))
        if "bug" in self._text:
            raise RuntimeError("out\nof order")
        if "endless" in self._text:
            while True:
                yield TextAnswer("q1", "x" * 100)
        if "wait" in self._text:
            sys.stdout.flush()
            print("waiting", file=sys.stderr, flush=True)
            time.sleep(60)


def check(text: str, base: Path) -> tuple[list[EddylineError], dict[str, int]]:
    words = ("first", "second")
    errors = [
        UnknownColumn(f"no column {word}", Position(text.index(word), text.index(word) + len(word)))
        for word in words
        if word in text
    ]
    return list(errors), {"extents": 3, "queries": 1}


def main() -> None:
    """The command line with this module as its session, for tests in a process of its own."""
    sys.modules["eddyline.session"] = sys.modules[__name__]
    from eddyline.cli.main import main as eddyline

    eddyline()


if __name__ == "__main__":
    main()
