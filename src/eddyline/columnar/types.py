"""How the types of the language are held in Arrow, so that Parquet files and Spark read them as the same types."""

from __future__ import annotations

import pyarrow as pa

from eddyline.algebra.schema import Schema
from eddyline.algebra.types import DataType
from eddyline.errors import NotSupported

_SIMPLE: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    # with a zone it is Spark's TIMESTAMP, a moment; without it would be TIMESTAMP_NTZ
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "INTERVAL": pa.duration("us"),
    "NULL": pa.null(),
}
_SIMILAR = {
    pa.large_string(): "STRING",
    pa.string_view(): "STRING",
    pa.uint8(): "SMALLINT",
    pa.uint16(): "INTEGER",
    pa.uint32(): "BIGINT",
    pa.float16(): "FLOAT",
    pa.date64(): "DATE",
}


def arrow_type(type_: DataType) -> pa.DataType:
    """The Arrow type of a type of the language.

    >>> arrow_type(DataType("DECIMAL", (10, 2)))
    Decimal128Type(decimal128(10, 2))
    """
    if type_.element is not None:
        return pa.list_(arrow_type(type_.element))
    if type_.name == "DECIMAL":
        return pa.decimal128(*(type_.parameters or (10, 0)))
    if type_.name not in _SIMPLE:
        raise NotSupported(f"a column of type {type_} cannot be stored")
    return _SIMPLE[type_.name]


def language_type(type_: pa.DataType) -> DataType:
    """The type of the language that holds the values of an Arrow type.

    >>> str(language_type(pa.uint16())), str(language_type(pa.large_string()))
    ('INTEGER', 'STRING')
    """
    if pa.types.is_dictionary(type_):
        return language_type(type_.value_type)
    if pa.types.is_decimal(type_):
        return DataType("DECIMAL", (type_.precision, type_.scale))
    if pa.types.is_timestamp(type_):
        return DataType("TIMESTAMP")
    name = next((name for name, known in _SIMPLE.items() if known == type_), None) or _SIMILAR.get(type_)
    if name is None:
        raise NotSupported(f"a constant cannot be of the Arrow type {type_}")
    return DataType(name)


def arrow_schema(schema: Schema) -> pa.Schema:
    """The columns of a schema under their own names."""
    return pa.schema([pa.field(field.name, arrow_type(field.type)) for field in schema.fields])
