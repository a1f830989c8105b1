"""The types of values, named as Spark names them.

How each is held in Python: BOOLEAN bool, integers int, FLOAT and DOUBLE float, DECIMAL decimal.Decimal, STRING str,
DATE datetime.date, TIMESTAMP datetime.datetime without zone (UTC), INTERVAL datetime.timedelta, ARRAY tuple;
NULL is None everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DataType:
    """A type by name; `parameters` are DECIMAL's precision and scale, `element` is an ARRAY's element type."""

    name: str
    parameters: tuple[int, ...] = ()
    element: DataType | None = None

    def __str__(self) -> str:
        if self.element is not None:
            return f"{self.name}<{self.element}>"
        if self.parameters:
            return f"{self.name}({', '.join(map(str, self.parameters))})"
        return self.name


BOOLEAN = DataType("BOOLEAN")
TINYINT = DataType("TINYINT")
SMALLINT = DataType("SMALLINT")
INTEGER = DataType("INTEGER")
BIGINT = DataType("BIGINT")
FLOAT = DataType("FLOAT")
DOUBLE = DataType("DOUBLE")
STRING = DataType("STRING")
DATE = DataType("DATE")
TIMESTAMP = DataType("TIMESTAMP")
INTERVAL = DataType("INTERVAL")
NULL = DataType("NULL")  # the type of the literal NULL; fits every other

#: integer types by width; arithmetic widens to the wider one
INTEGERS: tuple[DataType, ...] = (TINYINT, SMALLINT, INTEGER, BIGINT)
INTEGER_BITS = {TINYINT: 8, SMALLINT: 16, INTEGER: 32, BIGINT: 64}


def decimal(precision: int = 10, scale: int = 0) -> DataType:
    return DataType("DECIMAL", (precision, scale))


def array(element: DataType) -> DataType:
    return DataType("ARRAY", (), element)


def is_integer(type_: DataType) -> bool:
    return type_ in INTEGER_BITS


def is_numeric(type_: DataType) -> bool:
    return is_integer(type_) or type_ in (FLOAT, DOUBLE) or type_.name == "DECIMAL"
