"""`eddyline check`: every error of a script, without running it."""

from __future__ import annotations

import re
from pathlib import Path

from eddyline.binder.statement import Define, Register, StatementBinder
from eddyline.catalog.catalog import Catalog
from eddyline.errors import EddylineError, UnknownExtent, UnknownFunction, UnknownName
from eddyline.language import parse_script
from eddyline.session.functions import in_this_process
from eddyline.sources import needs_spark, open_source, probably_meant

_DECLARED = re.compile(
    r"\bCREATE\s+(?:SENSED\s+)?(?:STREAM|TABLE|QUERY|(?:TAG\s+)?FUNCTION)\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w.]+)",
    re.IGNORECASE,
)


def check(text: str, base: Path) -> tuple[list[EddylineError], dict[str, int]]:
    """All errors, in the order of the text; and how many extents and queries the script has."""
    errors: list[EddylineError] = []
    binder = StatementBinder(load=lambda declaration: in_this_process(declaration, base))
    counts = {"extents": 0, "queries": 0}
    for statement in parse_script(text, errors):
        try:
            for step in binder.bind(statement.tree):
                counts["queries"] += isinstance(step, Register)
                if isinstance(step, Define):
                    counts["extents"] += 1
                    if not needs_spark(step.extent) or probably_meant(step.extent.format or ""):
                        open_source(step.extent, base, binder.catalog.tick_micros)  # is the file there, does it fit?
                    # what only Spark reads is believed: it takes too long to start
        except EddylineError as error:
            for problem in (error, *error.others):
                problem.position = problem.position or statement.position
                errors.append(problem)
    errors = [error for error in errors if not _follows(error, text, binder.catalog)]
    errors.sort(key=lambda error: error.position.start if error.position else 0)
    return errors, counts


def _follows(error: EddylineError, text: str, catalog: Catalog) -> bool:
    """Whether a name is unknown only because the statement that declares it is wrong, which is said already."""
    if not isinstance(error, UnknownExtent | UnknownName | UnknownFunction) or error.position is None:
        return False
    name = text[error.position.start : error.position.end].lower().partition("(")[0].strip()
    declared = {found.lower() for found in _DECLARED.findall(text)}
    functions = {**catalog.functions, **catalog.tag_functions}
    known = catalog.extent(name) or catalog.query(name) or functions.get(name)
    return name in declared and known is None
