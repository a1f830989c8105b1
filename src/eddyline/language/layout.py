"""`eddyline fmt`: a whole script, every statement laid out, comments kept."""

from __future__ import annotations

from eddyline.language.printer import to_sql
from eddyline.language.script import Statement, parse_script


def format_script(text: str) -> str:
    """The script in its standard layout. Comments between statements stay where they are.

    A statement with a comment inside it is left as its author wrote it: no comment is ever lost or moved.

    >>> print(format_script("select a from s where a>1 ; -- next\\nset tick '1 second'"), end="")
    SELECT a
    FROM s
    WHERE a > 1; -- next
    <BLANKLINE>
    SET TICK '1 second';
    """
    parts: list[str] = []
    done = 0
    for statement in parse_script(text):
        parts.append(_between(text[done : statement.position.start], first=not parts))
        parts.append(_laid_out(text, statement) + ";")
        done = statement.position.end
    tail = text[done:].lstrip(" \t").removeprefix(";").rstrip()
    return "".join(parts) + (tail if tail.startswith(("\n", " ", "\t")) or not tail else f" {tail}") + "\n"


def _between(gap: str, first: bool) -> str:
    """What stands between two statements: their comments, one blank line, no semicolon."""
    gap = gap.lstrip().removeprefix(";") if not first else gap
    comments = gap.strip()
    if not comments:
        return "" if first else "\n\n"
    same_line = "" if first or "\n" in gap[: len(gap) - len(gap.lstrip())] else " "
    before = "" if first else (same_line or "\n\n")
    after = "\n\n" if same_line and "\n" not in comments else "\n"
    return f"{before}{comments}{after}"


def _laid_out(text: str, statement: Statement) -> str:
    source = text[statement.position.start : statement.position.end]
    if "--" in source or "/*" in source:
        return source
    return to_sql(statement.tree, pretty=True)
