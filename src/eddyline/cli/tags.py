"""`eddyline tags`: the tags of a stream when a script has run, as a list and as a picture."""

from __future__ import annotations

import sys
from pathlib import Path

from eddyline.cli.messages import say, say_warning
from eddyline.cli.run import Format
from eddyline.errors import InvalidDefinition, UnknownExtent, nearest
from eddyline.language.script_file import Script
from eddyline.output import Painter, RejectLog
from eddyline.output.tag_list import as_json_lines, as_table


def show_tags(stream: str, script: Script, format_: Format, cloud: Path | None) -> None:
    """Prints the tags on stdout; what else there is to say goes to stderr."""
    from eddyline.session import Session  # takes a moment to load, which --help must not

    if cloud is not None and cloud.suffix.lower() != ".png":
        raise InvalidDefinition(f"--cloud: {cloud} is no name of a PNG file", hint=f"write --cloud {cloud.stem}.png")
    log = RejectLog(None)
    session = Session(script.text, script.base, on_reject=log.add, on_warning=say_warning)
    if stream.lower() not in (known.lower() for known in session.streams):
        guess = nearest(stream, session.streams)
        hint = f"did you mean {guess}?" if guess else f"it has {', '.join(session.streams) or 'none'}"
        raise UnknownExtent(f"{script.name} has no stream {stream}", hint=hint)
    for _ in session.answers():
        pass
    lines = session.tags_of(stream)
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
    summary = log.summary()
    if summary is not None:
        say(summary)
