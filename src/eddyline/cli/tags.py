"""`eddyline tags`: the tags of a stream when a script has run, or of a database, as a list and as a picture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eddyline.cli.messages import say, say_warning
from eddyline.cli.results import definitions_at
from eddyline.cli.run import Format
from eddyline.errors import InvalidDefinition, UnknownExtent, nearest
from eddyline.language.script_file import Script
from eddyline.output import Painter, RejectLog
from eddyline.output.tag_list import as_json_lines, as_table

if TYPE_CHECKING:
    from eddyline.algebra.answer import TagLine


def show_tags(stream: str, of: Script | str, format_: Format, cloud: Path | None) -> None:
    """Prints the tags on stdout; what else there is to say goes to stderr. `of`: a script, or a database's path."""
    if cloud is not None and cloud.suffix.lower() != ".png":
        raise InvalidDefinition(f"--cloud: {cloud} is no name of a PNG file", hint=f"write --cloud {cloud.stem}.png")
    if isinstance(of, Script):
        lines, summary = _of_script(stream, of)
    else:
        lines, summary = _of_database(stream, of), None
    if cloud is not None and lines:  # first: who reads the list may leave early
        from eddyline.output.tag_cloud import draw

        try:
            draw(lines, cloud)
        except OSError as problem:
            raise InvalidDefinition(f"--cloud: cannot write {cloud}: {problem.strerror or problem}") from problem
    show = as_json_lines(lines) if format_ is Format.jsonl else as_table(lines, Painter(sys.stdout))
    for text in show:
        sys.stdout.write(text + "\n")
    sys.stdout.flush()
    if not lines:
        say(f"{stream} has no tags")
    if summary is not None:
        say(summary)


def _of_script(stream: str, script: Script) -> tuple[list[TagLine], str | None]:
    """The tags when it has run, and what was set aside."""
    from eddyline.session import Session  # takes a moment to load, which --help must not

    log = RejectLog(None)
    session = Session(script.text, script.base, on_reject=log.add, on_warning=say_warning)
    _check(stream, session.streams, script.name)
    for _ in session.answers():
        pass
    return session.tags_of(stream), log.summary()


def _of_database(stream: str, path: str) -> list[TagLine]:
    import eddyline
    from eddyline.algebra.answer import TagLine

    definitions_at(path)  # or one would be made there
    database = eddyline.connect(path, heartbeat=None)
    try:
        _check(stream, database.streams, path)
        parts = (part.replace("`", "``") for part in stream.split("."))
        shown = database.sql(f"SHOW TAGS OF {'.'.join(f'`{part}`' for part in parts)}").to_arrow()
    finally:
        database.close()
    return [TagLine(*row.values()) for row in shown.select(range(8)).to_pylist()]


def _check(stream: str, streams: Sequence[str], of: str) -> None:
    if stream.lower() not in (known.lower() for known in streams):
        guess = nearest(stream, streams)
        hint = f"did you mean {guess}?" if guess else f"it has {', '.join(streams) or 'none'}"
        raise UnknownExtent(f"{of} has no stream {stream}", hint=hint)
