"""Functions on text. Positions count characters from 1."""

from __future__ import annotations

import hashlib
import math
import zlib
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from eddyline.algebra.expression import Call
from eddyline.algebra.types import DOUBLE, FLOAT, DataType
from eddyline.reference.functions.casting import to_text
from eddyline.reference.functions.formatting import LONG, format_string
from eddyline.reference.functions.implementation import Evaluator, Implementation, given_types, null_aware, plain, typed

_SHA2 = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}
_SOUNDEX = dict(zip("BFPVCGJKQSXZDTLMNR", "111122222222334556", strict=True))


def substring(text: str, start: int, length: int = (1 << 31) - 1) -> str:
    """Position 0 counts as 1; a negative one counts from the end, and what lies before the text is lost."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return text[max(begin, 0) : max(begin + length, 0)]


def _left(text: str, length: int) -> str:
    return text[: max(length, 0)]


def _right(text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


def _initcap(text: str) -> str:
    """The first letter after every blank is a capital, all others are small."""
    return " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" "))


def _trim(text: str, characters: str = " ") -> str:
    return text.strip(characters) if characters else text


def _ltrim(*arguments: str) -> str:
    """ltrim(text), or ltrim(characters, text)."""
    *characters, text = arguments
    return text.lstrip(characters[0] if characters else " ") if characters != [""] else text


def _rtrim(*arguments: str) -> str:
    *characters, text = arguments
    return text.rstrip(characters[0] if characters else " ") if characters != [""] else text


def _filling(length: int, pad: str) -> str:
    return (pad * (length // len(pad) + 1))[:length] if pad else ""


def _lpad(text: str, length: int, pad: str = " ") -> str:
    return _filling(length - len(text), pad) + text if length > len(text) else text[: max(length, 0)]


def _rpad(text: str, length: int, pad: str = " ") -> str:
    return text + _filling(length - len(text), pad) if length > len(text) else text[: max(length, 0)]


def _concat_ws(separator: str | None, *parts: Any) -> str | None:
    """NULLs are left out; arrays give their elements."""
    if separator is None:
        return None
    flat = [piece for part in parts for piece in (part if isinstance(part, tuple) else (part,))]
    return separator.join(piece for piece in flat if piece is not None)


def _replace(text: str, search: str, replacement: str = "") -> str:
    return text.replace(search, replacement) if search else text


def _translate(text: str, search: str, replacement: str) -> str:
    """Characters without a counterpart are removed; of repeated ones the first counts."""
    table: dict[int, str] = {}
    for i, character in enumerate(search):
        table.setdefault(ord(character), replacement[i] if i < len(replacement) else "")
    return text.translate(table)


def _instr(text: str, part: str) -> int:
    return text.find(part) + 1


def _locate(part: str | None, text: str | None, start: int | None = 1) -> int | None:
    """A NULL place to start is no place at all: 0."""
    if start is None:
        return 0
    if part is None or text is None:
        return None
    if start < 1:
        return 0
    return text.find(part, start - 1) + 1 if part else 1


def _find_in_set(word: str, words: str) -> int:
    """The place of a word in a list with commas."""
    return 0 if "," in word else next((i for i, item in enumerate(words.split(","), 1) if item == word), 0)


def _split_part(text: str, delimiter: str, part: int) -> str | None:
    pieces = text.split(delimiter) if delimiter else [text]
    if part == 0:
        return None
    index = part - 1 if part > 0 else len(pieces) + part
    return pieces[index] if 0 <= index < len(pieces) else ""


def _substring_index(text: str, delimiter: str, count: int) -> str:
    """Everything before the count-th delimiter, from the end if the count is negative."""
    if not delimiter or count == 0:
        return ""
    pieces = text.split(delimiter)
    return delimiter.join(pieces[:count] if count > 0 else pieces[count:])


def _chr(code: int) -> str:
    return "" if code < 0 else chr(code % 256)


def _overlay(text: str, replacement: str, start: int, length: int = -1) -> str:
    """Replace `length` characters from a position on; as many as the replacement has, if no length is given."""
    count = len(replacement) if length < 0 else length
    return substring(text, 1, start - 1) + replacement + substring(text, start + count)


def _levenshtein(left: str, right: str) -> int:
    """How many characters must be inserted, deleted or replaced to make one text the other."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]


def _soundex(text: str) -> str:
    if not text or not (text[0].isascii() and text[0].isalpha()):
        return text
    upper = text.upper()
    code, last = upper[0], _SOUNDEX.get(upper[0], "")
    for character in upper[1:]:
        digit = _SOUNDEX.get(character, "")
        if digit and digit != last:
            code += digit
        if character not in "HW":
            last = digit
    return code[:4].ljust(4, "0")


def _format_number(call: Call) -> Evaluator:
    """Groups of three digits and a fixed number of digits after the point, rounded half to even."""
    floating = given_types(call)[0] in (FLOAT, DOUBLE)

    def evaluate(value: Any, places: int) -> str | None:
        if places < 0:
            return None
        if floating and not math.isfinite(value):
            return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
        exact = Decimal(repr(value)) if floating else Decimal(value)
        if floating and int(exact.as_tuple().exponent) < -places:
            exact = Decimal(value)  # half of which digit it is, the binary number says
        rounded = exact.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN, context=LONG)
        return f"{rounded:,.{places}f}"

    return evaluate


def _sha2(text: str, bits: int) -> str | None:
    name = _SHA2.get(bits)
    return None if name is None else hashlib.new(name, text.encode()).hexdigest()


def _type_name(type_: DataType) -> str:
    if type_.element is not None:
        return f"array<{_type_name(type_.element)}>"
    if type_.parameters:
        return f"decimal({','.join(map(str, type_.parameters))})"
    return {"INTEGER": "int", "NULL": "void", "INTERVAL": "interval day to second"}.get(type_.name, type_.name.lower())


def _typeof(call: Call) -> Evaluator:
    name = _type_name(given_types(call)[0])
    return lambda _: name


def _format_string(call: Call) -> Evaluator:
    texts = [to_text(type_) for type_ in given_types(call)[1:]]

    def evaluate(pattern: str | None, *values: Any) -> str | None:
        return None if pattern is None else format_string(pattern, values, texts)

    return evaluate


IMPLEMENTATIONS: dict[str, Implementation] = {
    "upper": plain(str.upper),
    "lower": plain(str.lower),
    "initcap": plain(_initcap),
    "length": plain(len),
    "octet_length": plain(lambda text: len(text.encode())),
    "bit_length": plain(lambda text: 8 * len(text.encode())),
    "substring": plain(substring),
    "substring_index": plain(_substring_index),
    "left": plain(_left),
    "right": plain(_right),
    "trim": plain(_trim),
    "ltrim": plain(_ltrim),
    "rtrim": plain(_rtrim),
    "lpad": plain(_lpad),
    "rpad": plain(_rpad),
    "concat_ws": null_aware(_concat_ws),
    "replace": plain(_replace),
    "translate": plain(_translate),
    "reverse": plain(lambda value: value[::-1]),
    "repeat": plain(lambda text, times: text * times),
    "space": plain(lambda length: " " * length),
    "instr": plain(_instr),
    "locate": null_aware(_locate),
    "find_in_set": plain(_find_in_set),
    "startswith": plain(str.startswith),
    "endswith": plain(str.endswith),
    "contains": plain(lambda text, part: part in text),
    "split_part": plain(_split_part),
    "ascii": plain(lambda text: ord(text[0]) if text else 0),
    "chr": plain(_chr),
    "overlay": plain(_overlay),
    "levenshtein": plain(_levenshtein),
    "soundex": plain(_soundex),
    "format_number": typed(_format_number),
    "format_string": Implementation(_format_string, strict=False),
    "md5": plain(lambda text: hashlib.md5(text.encode()).hexdigest()),
    "sha1": plain(lambda text: hashlib.sha1(text.encode()).hexdigest()),
    "sha2": plain(_sha2),
    "crc32": plain(lambda text: zlib.crc32(text.encode())),
    "typeof": Implementation(_typeof, strict=False),
}
