"""LIKE and regular expressions as Spark SQL.

Spark stops the job for a LIKE pattern that it cannot read and for a group that a regular expression does not have; the
answer is NULL. (It also stops for a regular expression that it cannot read, and that cannot be asked beforehand.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from eddyline.algebra.expression import Call, Column, Expr, Literal
from eddyline.algebra.sharing import MEMBER
from eddyline.spark.literal import quoted, spark_type

#: what is no group of its own: escaped characters, \Q…\E, [classes], and groups that capture nothing
_NO_GROUP = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?(?!<[A-Za-z])", re.DOTALL)


def like_sql(call: Call, texts: Sequence[str]) -> str:
    """LIKE and ILIKE; a constant pattern was checked by the binder, and members of a query class have plain ones."""
    value, pattern = texts[:2]
    escape = call.arguments[2] if len(texts) > 2 else None
    ending = f" ESCAPE {texts[2]}" if escape is not None else ""
    matches = f"({value} {call.function.upper()} {pattern}{ending})"
    given = call.arguments[1]
    if isinstance(given, Literal) or (isinstance(given, Column) and given.relation == MEMBER):
        return matches
    return f"CASE WHEN {pattern} RLIKE {_readable(_constant(escape) or chr(92))} THEN {matches} END"


def _readable(escape: str) -> str:
    """The regular expression of LIKE patterns in which the escape character stands before %, _ and itself alone."""
    code = f"\\x{{{ord(escape):x}}}"
    return quoted(f"(?s)\\A[^{code}]*+(?:{code}[%_{code}][^{code}]*+)*+\\z")


def regexp_extract_sql(call: Call, texts: Sequence[str]) -> str:
    """regexp_extract and regexp_extract_all, NULL for a group that there is not."""
    found = f"{call.function}({', '.join(texts)})"
    pattern = _constant(call.arguments[1])
    if pattern is None:
        return found
    count = groups_of(pattern)
    if len(texts) == 2 or isinstance(call.arguments[2], Literal):
        group = call.arguments[2].value if len(texts) > 2 else 1  # type: ignore[attr-defined]
        return found if group is None or 0 <= group <= count else f"CAST(NULL AS {spark_type(call.type)})"
    return f"CASE WHEN {texts[2]} BETWEEN 0 AND {count} THEN {found} END"


def groups_of(pattern: str) -> int:
    r"""How many groups a regular expression captures.

    >>> groups_of(r"(a)(?:b)(?<name>c)\([(]")
    2
    """
    return _NO_GROUP.sub("", pattern).count("(")


def _constant(expr: Expr | None) -> str | None:
    return expr.value if isinstance(expr, Literal) else None
