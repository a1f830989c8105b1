"""`eddyline check`: every error of a script, without running it."""

from __future__ import annotations

import sys

from eddyline.cli.messages import BAD_SCRIPT, OK, say, say_error
from eddyline.language.script_file import Script


def check_script(script: Script) -> int:
    from eddyline.session import check  # takes a moment to load, which --help must not

    errors, counts = check(script.text, script.base)
    for error in errors:
        say_error(error, script)
        say("")
    if errors:
        say(f"{script.name}: {_counted(len(errors), 'error')}")
        return BAD_SCRIPT
    extents, queries = counts.get("extents", 0), counts.get("queries", 0)
    sys.stdout.write(f"{script.name}: ok, {_counted(extents, 'extent')}, {_counted(queries, 'query', 'queries')}\n")
    return OK


def _counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
