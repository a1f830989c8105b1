"""Numbers with letters behind them that say their type, 5L or 1.5BD: sqlglot makes casts of them, to be told apart."""

from __future__ import annotations

from sqlglot import exp

_LETTERS = {
    exp.DType.TINYINT: "Y",
    exp.DType.SMALLINT: "S",
    exp.DType.BIGINT: "L",
    exp.DType.FLOAT: "F",
    exp.DType.DOUBLE: "D",
}


def has_suffix(node: exp.Expr) -> bool:
    """What tells 5L from 5::BIGINT is that the number takes more room than its digits."""
    meta = node.meta
    return (
        isinstance(node, exp.Literal)
        and not node.is_string
        and meta.get("end", -1) - meta.get("start", 0) >= len(node.name)
    )


def is_exact(node: exp.Expr) -> bool:
    """What tells 1.5BD from CAST('1.5' AS DECIMAL(2, 1)) is that nobody has written the text."""
    return isinstance(node, exp.Literal) and node.is_string and "start" not in node.meta


def written(cast: exp.Cast) -> str | None:
    """The number as it was written; None if it is a cast that somebody has asked for.

    >>> from eddyline.language import parse_statement
    >>> casts = parse_statement("SELECT 5L, -1.5BD, CAST(5 AS BIGINT) FROM s").find_all(exp.Cast)
    >>> sorted(str(written(cast)) for cast in casts)
    ['1.5BD', '5L', 'None']
    """
    number, type_ = cast.this, cast.to.this
    if has_suffix(number) and type_ in _LETTERS:
        return f"{number.name}{_LETTERS[type_]}"
    return f"{number.name}BD" if type_ == exp.DType.DECIMAL and is_exact(number) else None
