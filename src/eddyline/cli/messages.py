"""What a command says on stderr, and the exit code that goes with it."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from eddyline.errors import EddylineError
from eddyline.language.script_file import Script
from eddyline.output.painting import Painter

OK, UNFORMATTED, BAD_SCRIPT, INTERNAL, INTERRUPTED = 0, 1, 2, 70, 130


def say_error(error: EddylineError, script: Script | None = None) -> None:
    """The error as `render` gives it, in colour on a terminal."""
    rendered = error.render(script.text, script.name) if script is not None else error.render()
    paint = Painter(sys.stderr)
    for number, line in enumerate(rendered.split("\n")):
        _write_stderr(paint(line, _style(number, line)))


def say_warning(text: str) -> None:
    _write_stderr(Painter(sys.stderr)(f"warning: {text}", "warning"))


def say(text: str) -> None:
    _write_stderr(text)


def _style(number: int, line: str) -> str:
    if number == 0 or (line.endswith("^") and not line.strip(" |^")):
        return "error"
    return "hint" if line.startswith("hint: ") else "plain"


def _write_stderr(text: str) -> None:
    # A name in a script or a file can hold what the terminal cannot show; a message must not fail for it.
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


@contextmanager
def answering_for(script: Script | None = None) -> Iterator[None]:
    """Turns what can go wrong in a command into one message and an exit code, never a traceback."""
    try:
        yield
    except EddylineError as error:
        say_error(error, script)
        raise typer.Exit(BAD_SCRIPT) from None
    except KeyboardInterrupt:
        # What is still in stdout's buffer belongs to answers already given.
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _forget_stdout()  # the reader has seen enough (`| head`)
        raise typer.Exit(OK) from None
    except OSError as problem:
        say_error(_os_error(problem))
        if problem.errno in (errno.ENOSPC, errno.EIO):
            _forget_stdout()
        raise typer.Exit(BAD_SCRIPT) from None


def _forget_stdout() -> None:
    """What is still to be written is lost; Python would try, and complain once more, when it closes stdout at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _os_error(problem: OSError) -> EddylineError:
    error = EddylineError(f"{problem.strerror or problem}{f': {problem.filename}' if problem.filename else ''}")
    error.code, error.sqlstate = "SYSTEM_ERROR", "58000"
    return error


def internal_error(problem: BaseException) -> int:
    """The last resort: a bug of ours, in one line."""
    if os.environ.get("EDDYLINE_DEBUG") == "1":
        traceback.print_exception(problem)
    summary = " ".join(f"{type(problem).__name__}: {problem}".split())
    _write_stderr(f"eddyline: internal error ({summary}); please report it. EDDYLINE_DEBUG=1 shows where.")
    return INTERNAL
