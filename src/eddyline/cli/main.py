"""The command line: what commands there are, and what each takes."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from eddyline.cli.check import check_script
from eddyline.cli.explain import explain_script
from eddyline.cli.fmt import format_file
from eddyline.cli.messages import OK, answering_for, internal_error
from eddyline.cli.results import show_results
from eddyline.cli.run import Engine, Format, run_script
from eddyline.cli.tags import show_tags
from eddyline.language.script_file import STDIN, Script, read_script

app = typer.Typer(
    name="eddyline",
    help="Standing SQL queries over streams, sensors and tables, with answers that can be corrected.",
    epilog="Try: eddyline run script.sql",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

File = Annotated[str, typer.Argument(metavar="FILE", help="The script; - reads it from stdin.", show_default=False)]


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"eddyline {version('eddyline')}\n")
        raise typer.Exit(OK)


@app.callback()
def _eddyline(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command(epilog="Example: eddyline run examples/road/road.sql --format jsonl | jq .row")
def run(
    file: File,
    engine: Annotated[
        Engine | None,
        typer.Option(
            envvar="EDDYLINE_ENGINE",
            help="What runs the queries: Spark, or the reference engine in this process. Default: spark, and reference "
            "for what of tags it alone can do.",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[
        Format, typer.Option("--format", help="Tables for people, or one JSON object a line.")
    ] = Format.table,
    batch_rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="How many rows are taken in together. Default: a million on Spark, 1 on the reference engine.",
            show_default=False,
        ),
    ] = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="The Spark master.", show_default="local[*], all cores")
    ] = None,
    rejects: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep rows that do not fit their schema in DIR/<extent>.csv.")
    ] = None,
    without_rule: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Switch a rule of the optimizer off (repeatable); EXPLAIN names them."),
    ] = None,
) -> None:
    """Run every statement of a script over its inputs, to their end.

    Paths in the script are relative to the script. Rows that do not fit their schema are set aside and counted.
    """
    script = _script(file)
    with answering_for(script):
        run_script(script, engine, format_, batch_rows, master, rejects, tuple(without_rule or ()))


@app.command(epilog="Example: eddyline check examples/road/road.sql")
def check(file: File) -> None:
    """Report every error of a script without running it, its files included."""
    script = _script(file)
    with answering_for(script):
        code = check_script(script)
        sys.stdout.flush()
    raise typer.Exit(code)


@app.command(epilog="Example: eddyline explain joins.sql --png joins.png")
def explain(
    file: File,
    png: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw the join trees into this file.", show_default=False)
    ] = None,
    without_rule: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Switch a rule of the optimizer off (repeatable).")
    ] = None,
) -> None:
    """Print the plan of every query of a script, with the trees of its joins, without running it."""
    script = _script(file)
    with answering_for(script):
        explain_script(script, png, tuple(without_rule or ()))


@app.command(epilog="Example: eddyline fmt --write examples/road/road.sql")
def fmt(
    file: File,
    write: Annotated[bool, typer.Option("--write", "-w", help="Write the result back to FILE.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only tell, by exit code 1, if FILE would change.")] = False,
) -> None:
    """Print a script laid out in the usual way."""
    if write and check:
        raise typer.BadParameter("--write and --check exclude each other")
    if write and file == STDIN:
        raise typer.BadParameter("stdin cannot be written back; leave --write away")
    script = _script(file)
    with answering_for(script):
        code = format_file(script, write, check)
        sys.stdout.flush()
    raise typer.Exit(code)


@app.command(epilog="Example: eddyline results hot --db roads --since 41")
def results(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A standing query.", show_default=False)],
    db: Annotated[str, typer.Option(metavar="PATH", help="The folder or URL of the database.", show_default=False)],
    since: Annotated[
        int, typer.Option(metavar="CURSOR", help="Only what came after this cursor.", show_default="everything")
    ] = -1,
    format_: Annotated[
        Format, typer.Option("--format", help="Tables for people, or one JSON object a line.")
    ] = Format.table,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new answers until Ctrl-C.")] = False,
    causes: Annotated[
        bool, typer.Option("--causes", help="Beside each correction, the revisions that caused it.")
    ] = False,
) -> None:
    """Print what a standing query has answered. The database may be in use, or not.

    At the end the cursor is told on stderr: with --since it prints what is new the next time.
    """
    with answering_for():
        show_results(name, db, since, format_, follow, causes)


@app.command(epilog="Example: eddyline tags Patients examples/patients/patients.sql --cloud patients.png")
def tags(
    stream: Annotated[
        str, typer.Argument(metavar="STREAM", help="A stream of the script, or of the database.", show_default=False)
    ],
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="The script; - reads it from stdin.", show_default=False)
    ] = None,
    db: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="The folder or URL of a database, instead of a script.", show_default=False),
    ] = None,
    cloud: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw a tag cloud into this file.", show_default=False)
    ] = None,
    format_: Annotated[
        Format, typer.Option("--format", help="A table for people, or one JSON object a line.")
    ] = Format.table,
) -> None:
    """Run a script, or open a database, and list the tags of a stream: how many there are, and on how many rows.

    The answers of the script's queries are not printed.
    """
    if (file is None) == (db is None):
        raise typer.BadParameter("name a script, or a database with --db PATH")
    script = None if file is None else _script(file)
    with answering_for(script):
        show_tags(stream, script or str(db), format_, cloud)


def _script(file: str) -> Script:
    with answering_for():
        return read_script(file)


def main() -> None:
    """The entry point of the `eddyline` command."""
    # JSON is UTF-8 wherever it is read, and a terminal that is not shows a question mark instead of failing.
    if not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    else:
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        app()
    except Exception as problem:
        sys.exit(internal_error(problem))
