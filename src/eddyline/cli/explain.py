"""`eddyline explain`: the plans of a script's queries, and a picture of their join trees."""

from __future__ import annotations

import sys
from pathlib import Path

from eddyline.cli.messages import say
from eddyline.errors import InvalidDefinition
from eddyline.language.script_file import Script


def explain_script(script: Script, png: Path | None, without_rules: tuple[str, ...] = ()) -> None:
    """Prints the plans on stdout; that there is nothing to draw goes to stderr."""
    from eddyline.session import explain_queries  # takes a moment to load, which --help must not

    if png is not None and png.suffix.lower() != ".png":
        raise InvalidDefinition(f"--png: {png} is no name of a PNG file", hint=f"write --png {png.stem}.png")
    found = list(explain_queries(script.text, script.base, frozenset(without_rules)))
    joins = [join for one in found for join in one.joins]
    if png is not None and joins:  # first: who reads the plans may leave early
        from eddyline.output.join_picture import draw

        try:
            draw(joins, png)
        except OSError as problem:
            raise InvalidDefinition(f"--png: cannot write {png}: {problem.strerror or problem}") from problem
    for at, one in enumerate(found):
        lines = "".join(f"  {line}\n" for line in one.text.splitlines())
        sys.stdout.write(f"{'' if at == 0 else chr(10)}{one.name}\n{lines}")
    sys.stdout.flush()
    if not found:
        say(f"{script.name} has no queries")
    elif png is not None and not joins:
        say(f"{script.name} has no joins of three inputs or more: there is no picture")
