"""`eddyline run`: a script over its finite inputs, to the end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from eddyline.algebra.answer import Answer
from eddyline.cli.messages import say, say_warning
from eddyline.language.script_file import Script
from eddyline.output import JsonLines, Painter, ProgressBar, RejectLog, Tables
from eddyline.output.progress import Reached

if TYPE_CHECKING:
    from eddyline.session import ScriptRun


class Engine(StrEnum):
    spark = "spark"
    reference = "reference"


class Format(StrEnum):
    table = "table"
    jsonl = "jsonl"


class Printer(Protocol):
    """Where answers go."""

    def begin(self, query: str, columns: tuple[str, ...]) -> None: ...
    def show(self, answer: Answer) -> None: ...
    def pause(self) -> None: ...
    def close(self) -> None: ...


def run_script(
    script: Script,
    engine: Engine | None,
    format_: Format,
    batch_rows: int | None,
    master: str | None,
    rejects: Path | None,
    without_rules: tuple[str, ...] = (),
) -> None:
    """Prints every answer of the script on stdout; rejects, warnings and progress go to stderr."""
    if engine is Engine.reference and master is not None:
        say_warning("--master is for the Spark engine; --engine reference runs in this process")

    bar = ProgressBar(sys.stderr)
    printer = _printer(format_, bar)
    log = RejectLog(rejects)

    def warn(text: str) -> None:
        bar.clear()
        say_warning(text)

    def report(reached: Reached) -> None:
        printer.pause()
        sys.stdout.flush()  # who reads us through a pipe wants to see what is there
        bar.report(reached)

    try:
        session = _session(
            engine,
            master,
            text=script.text,
            base=script.base,
            batch_rows=batch_rows,
            on_reject=log.add,
            on_warning=warn,
            on_progress=report,
            on_query=printer.begin,
            without_rules=frozenset(without_rules),
        )
        try:
            for answer in session.answers():
                printer.show(answer)
        finally:
            # Answers given before an error or Ctrl-C are true: they must not be lost.
            bar.clear()
            printer.close()
            sys.stdout.flush()
    finally:
        bar.clear()
        log.close()
    summary = log.summary()
    if summary is not None:
        say(summary)


def _session(engine: Engine | None, master: str | None, **options: Any) -> ScriptRun:
    """The script, made ready for its engine; importing one takes a moment, which --help must not."""
    reason = _only_there(options["text"]) if engine is None else None
    if reason is not None:
        say(f"{reason}: --engine reference")
        engine = Engine.reference
    if engine is Engine.reference:
        from eddyline.session import Session

        return Session(**{**options, "batch_rows": options["batch_rows"] or 1})
    from eddyline.session.spark_run import SparkRun

    return SparkRun(**options, master=master)


def _only_there(text: str) -> str | None:
    """Why a script needs the reference engine; most have no word of tags, and need not be looked at."""
    if "tag" not in text.lower():
        return None
    from eddyline.session import needs_reference

    return needs_reference(text)


def _printer(format_: Format, bar: ProgressBar) -> Printer:
    write = _stdout_writer(bar)
    if format_ is Format.jsonl:
        return JsonLines(write)
    return Tables(write, Painter(sys.stdout), watched=sys.stdout.isatty())


def _stdout_writer(bar: ProgressBar) -> Callable[[str], object]:
    """On a terminal the bar makes room for each answer; elsewhere the two do not meet."""
    if not sys.stdout.isatty():
        return sys.stdout.write

    def write(text: str) -> None:
        bar.clear()
        sys.stdout.write(text)

    return write
