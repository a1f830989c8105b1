"""Limits of the resources that joins may take: processors, and bytes of memory."""

from __future__ import annotations

import re

from sqlglot import exp

from eddyline.binder.position import position_of
from eddyline.errors import InvalidDefinition

_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?\s*", re.IGNORECASE)
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def cpu_limit(value: exp.Expr) -> float:
    """A number of processors; half of one is one, too."""
    number = _number(value)
    if number is None or number <= 0:
        hint = "write cpu_limit = 2, or 0.5 for half of one"
        raise InvalidDefinition(
            f"cpu_limit is a number of processors above 0, not {value.sql()}", position_of(value), hint
        )
    return number


def memory_limit(value: exp.Expr) -> float:
    """A number of bytes, or a text with a unit: a KB are 1,024 bytes, as in Spark."""
    number = bytes_of(value.name) if isinstance(value, exp.Literal) and value.is_string else _number(value)
    if number is None or number <= 0:
        hint = "write memory_limit = '512 MB', or a number of bytes"
        raise InvalidDefinition(
            f"memory_limit is an amount of memory above 0, not {value.sql()}", position_of(value), hint
        )
    return number


def bytes_of(text: str) -> float | None:
    """
    >>> bytes_of("1.5 KB"), bytes_of("2g"), bytes_of("1 MiB"), bytes_of("100"), bytes_of("much")
    (1536.0, 2147483648.0, 1048576.0, 100.0, None)
    """
    found = _AMOUNT.fullmatch(text)
    return None if found is None else float(found[1]) * 1024.0 ** _UNITS[found[2].upper()]


def _number(value: exp.Expr) -> float | None:
    if not isinstance(value, exp.Literal) or value.is_string:
        return None
    number = float(value.name)
    return number if number < float("inf") else None
