"""`eddyline check`: every error of a script, without running it."""

from __future__ import annotations

from pathlib import Path

from eddyline.binder.statement import Define, Register, StatementBinder
from eddyline.errors import EddylineError
from eddyline.language import parse_script
from eddyline.sources import open_source


def check(text: str, base: Path) -> tuple[list[EddylineError], dict[str, int]]:
    """All errors, in the order of the text; and how many extents and queries the script has."""
    errors: list[EddylineError] = []
    binder = StatementBinder()
    counts = {"extents": 0, "queries": 0}
    for statement in parse_script(text, errors):
        try:
            for step in binder.bind(statement.tree):
                counts["queries"] += isinstance(step, Register)
                if isinstance(step, Define):
                    counts["extents"] += 1
                    open_source(step.extent, base, binder.catalog.tick_micros)  # is the file there, does it fit?
        except EddylineError as error:
            for problem in (error, *error.others):
                problem.position = problem.position or statement.position
                errors.append(problem)
    errors.sort(key=lambda error: error.position.start if error.position else 0)
    return errors, counts
