"""From the syntax of a type to the type."""

from __future__ import annotations

from sqlglot import exp

from eddyline.algebra.coercion import MAX_PRECISION
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTERVAL,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    array,
    decimal,
)
from eddyline.binder.position import position_of
from eddyline.errors import NotSupported, TypeMismatch, UnknownName, nearest

_BY_KIND: dict[str, DataType] = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": TINYINT,
    "SMALLINT": SMALLINT,
    "INT": INTEGER,
    "BIGINT": BIGINT,
    # the `time` of SNEEql's schemas is a tick
    "TIME": BIGINT,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NCHAR", "NVARCHAR", "BPCHAR", "NAME"), STRING),
    "DATE": DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ", "DATETIME"), TIMESTAMP),
    "INTERVAL": INTERVAL,
    "NULL": NULL,
}
#: names by which types are asked for, for suggestions and for types that the parser does not know
_BY_NAME: dict[str, DataType] = {
    "boolean": BOOLEAN,
    "bool": BOOLEAN,
    "tinyint": TINYINT,
    "byte": TINYINT,
    "smallint": SMALLINT,
    "short": SMALLINT,
    "int": INTEGER,
    "integer": INTEGER,
    "bigint": BIGINT,
    "long": BIGINT,
    "time": BIGINT,
    "float": FLOAT,
    "real": FLOAT,
    "double": DOUBLE,
    "decimal": decimal(),
    "dec": decimal(),
    "numeric": decimal(),
    "string": STRING,
    "char": STRING,
    "varchar": STRING,
    "text": STRING,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "datetime": TIMESTAMP,
    "interval": INTERVAL,
}


def data_type(node: exp.DataType) -> DataType:
    """The type that a type name of the language stands for."""
    kind = node.this.value if isinstance(node.this, exp.DType) else str(node.this)
    if kind == "DECIMAL":
        return _decimal(node)
    if kind in ("ARRAY", "LIST") and node.expressions:
        return array(data_type(node.expressions[0]))
    found = _BY_KIND.get(kind)
    if found is not None:
        return found
    if kind not in ("USERDEFINED", "UNKNOWN"):
        raise NotSupported(f"values of type {kind} are not supported", position_of(node))
    return _by_name(node)


def _by_name(node: exp.DataType) -> DataType:
    written = str(node.args.get("kind") or node.name)
    found = _BY_NAME.get(written.lower())
    if found is not None:
        return found
    close = nearest(written, _BY_NAME)
    hint = f"did you mean {close.upper()}?" if close else "types are INTEGER, BIGINT, DOUBLE, DECIMAL, STRING, …"
    raise UnknownName(f"there is no type {written}", position_of(node), hint)


def _decimal(node: exp.DataType) -> DataType:
    parameters = [int(parameter.name) for parameter in node.expressions]
    precision, scale = (*parameters, 10, 0)[:2] if not parameters else (*parameters, 0)[:2]
    if not 0 < precision <= MAX_PRECISION or not 0 <= scale <= precision:
        message = (
            f"DECIMAL({precision}, {scale}) cannot be: a DECIMAL has 1 to 38 digits, no more of them after the point"
        )
        raise TypeMismatch(message, position_of(node))
    return decimal(precision, scale)
