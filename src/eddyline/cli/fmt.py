"""`eddyline fmt`: a script laid out as we would write it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from eddyline.cli.messages import OK, UNFORMATTED, say
from eddyline.language.script_file import Script


def format_file(script: Script, write: bool, check: bool) -> int:
    """Prints the formatted script; with `write` it goes back to its file, with `check` it is only compared."""
    from eddyline.language import format_script  # takes a moment to load, which --help must not

    formatted = format_script(script.text)
    if check:
        if formatted == script.text:
            return OK
        say(f"{script.name}: would be formatted")
        return UNFORMATTED
    if not write:
        sys.stdout.write(formatted)
    elif formatted != script.text:
        _replace(Path(script.name), formatted)
        say(f"{script.name}: formatted")
    return OK


def _replace(path: Path, text: str) -> None:
    """All or nothing: a full disk must not leave half a script."""
    path = path.resolve()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
