"""Types and constants as Spark SQL text."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from eddyline.algebra.constant_text import date_text, interval_text, timestamp_text
from eddyline.algebra.types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTERVAL,
    NULL,
    SMALLINT,
    TINYINT,
    DataType,
)

_TYPE_NAMES = {INTEGER: "INT", INTERVAL: "INTERVAL DAY TO SECOND", NULL: "VOID"}
#: what Spark can hold, in microseconds of a BIGINT; a longer interval leads out of the calendar just the same
_LONGEST = timedelta(microseconds=2**63 - 1)
_SUFFIXES = {TINYINT: "Y", SMALLINT: "S", INTEGER: "", BIGINT: "L"}
#: what may not stand in a string as it is. Spark replaces ${name} by a configuration value even inside of strings,
#: before it reads the text; a dollar sign that is written as an escape is safe from that.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f'\\]|\$(?=\{)")


def spark_type(type_: DataType) -> str:
    """A type as Spark's DDL names it.

    >>> from eddyline.algebra.types import array, decimal
    >>> spark_type(array(decimal(10, 2)))
    'ARRAY<DECIMAL(10,2)>'
    """
    if type_.element is not None:
        return f"ARRAY<{spark_type(type_.element)}>"
    if type_.name == "DECIMAL":
        precision, scale = type_.parameters or (10, 0)
        return f"DECIMAL({precision},{scale})"
    return _TYPE_NAMES.get(type_, type_.name)


def quoted(text: str) -> str:
    r"""A string constant, whatever characters it has.

    >>> print(quoted("it's ${x}\n"))
    'it\u0027s \u0024{x}\u000a'
    """
    return f"'{_UNSAFE.sub(lambda found: _escaped(found[0]), text)}'"


def _escaped(character: str) -> str:
    return "\\\\" if character == "\\" else f"\\u{ord(character):04x}"


def back_quoted(name: str) -> str:
    """A column's name, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"


def literal_sql(value: Any, type_: DataType) -> str:
    """A constant of exactly this type."""
    if value is None:
        return f"CAST(NULL AS {spark_type(type_)})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return _floating(value, type_)
    if isinstance(value, Decimal) or type_.name == "DECIMAL":
        return f"CAST('{value:f}' AS {spark_type(type_)})"
    if isinstance(value, int):
        return f"({value}{_SUFFIXES[type_]})" if value < 0 else f"{value}{_SUFFIXES[type_]}"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{timestamp_text(value)}'"
    if isinstance(value, date):
        return f"DATE '{date_text(value)}'"
    if isinstance(value, timedelta):
        return interval_text(max(-_LONGEST, min(value, _LONGEST)))
    return _array(value, type_)


def _floating(value: float, type_: DataType) -> str:
    if math.isfinite(value):
        text = f"{value!r}D"
        text = f"({text})" if text.startswith("-") else text
        return text if type_ == DOUBLE else f"CAST({text} AS FLOAT)"
    name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"CAST('{name}' AS {FLOAT if type_ == FLOAT else DOUBLE})"


def _array(values: tuple[Any, ...], type_: DataType) -> str:
    element = type_.element or NULL
    text = f"array({', '.join(literal_sql(value, element) for value in values)})"
    # array() has elements of no type at all
    return text if values else f"CAST({text} AS {spark_type(type_)})"
