"""Functions on text. Positions count characters from 1."""

from __future__ import annotations

from eddyline.algebra.functions.signature import (
    A_BIGINT,
    A_STRING,
    AN_INTEGER,
    ANY,
    NUMBER,
    Function,
    Parameter,
    function,
)
from eddyline.algebra.types import BIGINT, BOOLEAN, INTEGER, STRING, DataType, array


def _text_or_array(given: DataType) -> DataType | None:
    """CONCAT_WS joins the elements of arrays as well."""
    return array(STRING) if given.element else A_STRING.accept(given)


def _reversible(given: DataType) -> DataType | None:
    return given if given.element else A_STRING.accept(given)


TEXT_OR_ARRAY = Parameter("STRING or ARRAY", _text_or_array)
_REVERSIBLE = Parameter("STRING or ARRAY", _reversible)

FUNCTIONS: tuple[Function, ...] = (
    function("upper", A_STRING, returns=STRING, aliases=("ucase",)),
    function("lower", A_STRING, returns=STRING, aliases=("lcase",)),
    function("initcap", A_STRING, returns=STRING),
    function("length", A_STRING, returns=INTEGER, aliases=("char_length", "character_length", "len")),
    function("octet_length", A_STRING, returns=INTEGER),
    function("bit_length", A_STRING, returns=INTEGER),
    function("substring", A_STRING, AN_INTEGER, AN_INTEGER, optional=1, returns=STRING, aliases=("substr",)),
    function("substring_index", A_STRING, A_STRING, AN_INTEGER, returns=STRING),
    function("left", A_STRING, AN_INTEGER, returns=STRING),
    function("right", A_STRING, AN_INTEGER, returns=STRING),
    function("trim", A_STRING, A_STRING, optional=1, returns=STRING, aliases=("btrim",)),
    # unlike btrim, these take the characters to strip first: ltrim('0', code)
    function("ltrim", A_STRING, A_STRING, optional=1, returns=STRING),
    function("rtrim", A_STRING, A_STRING, optional=1, returns=STRING),
    function("lpad", A_STRING, AN_INTEGER, A_STRING, optional=1, returns=STRING),
    function("rpad", A_STRING, AN_INTEGER, A_STRING, optional=1, returns=STRING),
    function("concat_ws", A_STRING, TEXT_OR_ARRAY, optional=1, repeated=True, returns=STRING),
    function("replace", A_STRING, A_STRING, A_STRING, optional=1, returns=STRING),
    function("translate", A_STRING, A_STRING, A_STRING, returns=STRING),
    function("reverse", _REVERSIBLE, returns=lambda types: types[0]),
    function("repeat", A_STRING, AN_INTEGER, returns=STRING),
    function("space", AN_INTEGER, returns=STRING),
    function("instr", A_STRING, A_STRING, returns=INTEGER),
    function("locate", A_STRING, A_STRING, AN_INTEGER, optional=1, returns=INTEGER, aliases=("position", "charindex")),
    function("find_in_set", A_STRING, A_STRING, returns=INTEGER),
    function("startswith", A_STRING, A_STRING, returns=BOOLEAN),
    function("endswith", A_STRING, A_STRING, returns=BOOLEAN),
    function("contains", A_STRING, A_STRING, returns=BOOLEAN),
    function("split", A_STRING, A_STRING, AN_INTEGER, optional=1, returns=array(STRING)),
    function("split_part", A_STRING, A_STRING, AN_INTEGER, returns=STRING),
    function("ascii", A_STRING, returns=INTEGER),
    function("chr", A_BIGINT, returns=STRING, aliases=("char",)),
    function("overlay", A_STRING, A_STRING, AN_INTEGER, AN_INTEGER, optional=1, returns=STRING),
    function("levenshtein", A_STRING, A_STRING, returns=INTEGER),
    function("soundex", A_STRING, returns=STRING),
    function("regexp_replace", A_STRING, A_STRING, A_STRING, returns=STRING),
    function("regexp_extract", A_STRING, A_STRING, AN_INTEGER, optional=1, returns=STRING),
    function("regexp_extract_all", A_STRING, A_STRING, AN_INTEGER, optional=1, returns=array(STRING)),
    function("regexp_substr", A_STRING, A_STRING, returns=STRING),
    function("regexp_count", A_STRING, A_STRING, returns=INTEGER),
    function("format_number", NUMBER, AN_INTEGER, returns=STRING),
    function("format_string", A_STRING, ANY, optional=1, repeated=True, returns=STRING, aliases=("printf",)),
    function("md5", A_STRING, returns=STRING),
    function("sha1", A_STRING, returns=STRING, aliases=("sha",)),
    function("sha2", A_STRING, AN_INTEGER, returns=STRING),
    function("crc32", A_STRING, returns=BIGINT),
    function("typeof", ANY, returns=STRING),
)
