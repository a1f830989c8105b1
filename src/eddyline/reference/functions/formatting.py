"""Java's format strings: %s, %d, %x, %.2f, %e, with flags and width."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

#: enough digits for every DOUBLE, all of them written
LONG = Context(prec=1500)
_PLACE = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


def format_string(pattern: str, values: Sequence[Any], texts: Sequence[Callable[[Any], str]]) -> str | None:
    """The pattern with its places filled in order; NULL if a place and its value do not fit."""
    following = iter(range(len(values)))

    def fill(place: re.Match[str]) -> str:
        number, flags, width, precision, kind = place.groups()
        if kind == "%":
            return "%"
        if kind == "n":
            return "\n"
        index = int(number) - 1 if number else next(following)
        text = _formatted(kind, values[index], texts[index], flags, precision)
        return _padded(text, flags, int(width or 0), numeric=kind in "dxofeE" and values[index] is not None)

    try:
        return _PLACE.sub(fill, pattern)
    except (StopIteration, RuntimeError, IndexError, TypeError, ValueError):
        return None


def _formatted(kind: str, value: Any, text: Callable[[Any], str], flags: str, precision: str | None) -> str:
    if value is None:
        written = "null"
        return written if precision is None else written[: int(precision)]
    if kind in "sS":
        written = text(value) if precision is None else text(value)[: int(precision)]
        return written.upper() if kind == "S" else written
    if kind in "bB":
        return "true" if value else "false"
    if kind == "c":
        return chr(value)
    sign = "+" if "+" in flags else " " if " " in flags else ""
    grouping = "," if "," in flags else ""
    if kind == "d":
        return f"{int(value):{sign}{grouping}d}" if not isinstance(value, float | Decimal) else _refuse(kind)
    if kind in "xXo":
        return f"{value:{kind}}"
    if isinstance(value, float) and not math.isfinite(value) and kind in "feE":
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    places = int(precision) if precision is not None else 6
    if kind == "f":
        exact = Decimal(repr(value)) if isinstance(value, float) else value
        if isinstance(exact, int):
            return _refuse(kind)
        rounded = exact.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP, context=LONG)
        return f"{rounded:{sign}{grouping}.{places}f}"
    if kind in "eE":
        return f"{value:{sign}.{places}{kind}}"
    return _refuse(kind)


def _refuse(kind: str) -> str:
    raise ValueError(f"no such value for %{kind}")


def _padded(text: str, flags: str, width: int, numeric: bool) -> str:
    if "-" in flags:
        return text.ljust(width)
    if "0" in flags and numeric:
        return text.zfill(width)
    return text.rjust(width)
