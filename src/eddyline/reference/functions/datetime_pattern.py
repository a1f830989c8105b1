"""Spark's patterns for dates and times: `yyyy-MM-dd HH:mm:ss`.

A pattern is cut into fields (a letter and how often it stands there) and text. Unknown letters make the pattern
unusable: formatting or parsing with it gives NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # noqa: SIM905
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")


@dataclass(frozen=True)
class Piece:
    """A field (`letter`, `count`) or, without a letter, text as it is."""

    text: str
    letter: str = ""

    @property
    def count(self) -> int:
        return len(self.text)


@lru_cache(maxsize=256)
def pieces_of(pattern: str) -> tuple[Piece, ...] | None:
    """The pattern cut into pieces; None if it has a letter that means nothing."""
    pieces: list[Piece] = []
    end = 0
    for found in _TOKEN.finditer(pattern):
        if found.start() != end:
            return None
        end = found.end()
        if found[2]:
            if found[2] not in _FORMATS:
                return None
            pieces.append(Piece(found[0], found[2]))
        elif found[1] is not None:
            pieces.append(Piece(found[1].replace("''", "'") or "'"))
        else:
            pieces.append(Piece(found[0]))
    return tuple(pieces) if end == len(pattern) else None


def _padded(value: int, count: int) -> str:
    return str(value).zfill(count)


def _year(moment: datetime, count: int) -> str:
    return f"{moment.year % 100:02d}" if count == 2 else _padded(moment.year, count)


def _month(moment: datetime, count: int) -> str:
    if count <= 2:
        return _padded(moment.month, count)
    name = MONTHS[moment.month - 1]
    return name[:3] if count == 3 else name


def _weekday(moment: datetime, count: int) -> str:
    name = DAYS[moment.weekday()]
    return name if count == 4 else name[:3]


def _fraction(moment: datetime, count: int) -> str:
    return f"{moment.microsecond:06d}".ljust(9, "0")[:count]


def _quarter(moment: datetime, count: int) -> str:
    quarter = (moment.month + 2) // 3
    if count <= 2:
        return _padded(quarter, count)
    return f"Q{quarter}" if count == 3 else f"{('1st', '2nd', '3rd', '4th')[quarter - 1]} quarter"


def _offset(zero: str) -> Callable[[datetime, int], str]:
    return lambda moment, count: zero


def _numeric_offset(moment: datetime, count: int) -> str:
    return "GMT" if count == 4 else "Z" if count == 5 else "+0000"


def _lower_offset(moment: datetime, count: int) -> str:
    return "+00" if count == 1 else "+0000" if count in (2, 4) else "+00:00"


_FORMATS: dict[str, Callable[[datetime, int], str]] = {
    "y": _year,
    "u": _year,
    "M": _month,
    "L": _month,
    "d": lambda moment, count: _padded(moment.day, count),
    "D": lambda moment, count: _padded(moment.timetuple().tm_yday, count),
    "H": lambda moment, count: _padded(moment.hour, count),
    "h": lambda moment, count: _padded((moment.hour - 1) % 12 + 1, count),
    "K": lambda moment, count: _padded(moment.hour % 12, count),
    "k": lambda moment, count: _padded((moment.hour - 1) % 24 + 1, count),
    "m": lambda moment, count: _padded(moment.minute, count),
    "s": lambda moment, count: _padded(moment.second, count),
    "S": _fraction,
    "a": lambda moment, count: "AM" if moment.hour < 12 else "PM",
    "E": _weekday,
    "Q": _quarter,
    "q": _quarter,
    "F": lambda moment, count: _padded((moment.day - 1) % 7 + 1, count),
    "G": lambda moment, count: "Anno Domini" if count == 4 else "AD",
    "V": _offset("UTC"),
    "z": lambda moment, count: "Coordinated Universal Time" if count == 4 else "UTC",
    "O": _offset("GMT"),
    "X": _offset("Z"),
    "x": _lower_offset,
    "Z": _numeric_offset,
}


def formatted(moment: datetime, pattern: str) -> str | None:
    """The point in time as the pattern says."""
    pieces = pieces_of(pattern)
    if pieces is None:
        return None
    return "".join(_FORMATS[p.letter](moment, p.count) if p.letter else p.text for p in pieces)


# -- parsing ----------------------------------------------------------------------------------------------------------


def _digits(count: int) -> str:
    """One letter takes any number of digits, more letters exactly as many."""
    return r"\d+" if count == 1 else rf"\d{{{count}}}"


def _names(names: list[str], count: int) -> str:
    return "|".join(name[:3] if count == 3 else name for name in names)


def _expression_of(piece: Piece) -> str | None:
    count = piece.count
    if piece.letter in ("y", "u"):
        return r"\d{2}" if count == 2 else r"\d{1,6}" if count == 1 else rf"\d{{{count},6}}"
    if piece.letter in ("M", "L") and count >= 3:
        return _names(MONTHS, count)
    if piece.letter == "E":
        return _names(DAYS, 4 if count == 4 else 3)
    if piece.letter == "S":
        return rf"\d{{1,{count}}}" if count > 1 else r"\d"
    if piece.letter == "a":
        return "AM|PM|am|pm"
    if piece.letter in ("X", "x", "Z", "V", "z", "O"):
        return r"Z|UTC|GMT|[+-]\d\d:?\d\d|[+-]\d\d"
    return _digits(count) if piece.letter in "MLdDHhKkmsqQ" else None


@lru_cache(maxsize=256)
def _parser_of(pattern: str) -> tuple[re.Pattern[str], tuple[Piece, ...]] | None:
    pieces = pieces_of(pattern)
    if pieces is None:
        return None
    expression = ""
    for piece in pieces:
        part = _expression_of(piece) if piece.letter else re.escape(piece.text)
        if part is None:
            return None
        expression += f"({part})" if piece.letter else part
    return re.compile(expression, re.ASCII), tuple(piece for piece in pieces if piece.letter)


def parsed(text: str, pattern: str) -> datetime | None:
    """The point in time that the text means under the pattern; what it does not name is 1970-01-01 00:00."""
    parser = _parser_of(pattern)
    found = parser[0].fullmatch(text) if parser else None
    if parser is None or found is None:
        return None
    values = {piece.letter: (piece.count, value) for piece, value in zip(parser[1], found.groups(), strict=True)}
    try:
        return _assembled(values)
    except (ValueError, OverflowError):
        return None


def _assembled(values: dict[str, tuple[int, str]]) -> datetime:
    def number(letters: str, default: int) -> int:
        return next((int(values[letter][1]) for letter in letters if letter in values), default)

    year = number("yu", 1970)
    if any(values.get(letter, (0, ""))[0] == 2 for letter in "yu"):
        year += 2000
    hour = number("H", number("k", 0) % 24)
    if "h" in values or "K" in values:
        clock = number("hK", 0)
        if clock > 12:
            raise ValueError("no such hour")
        hour = clock % 12 + (12 if values.get("a", (0, ""))[1].upper() == "PM" else 0)
    micros = int(values["S"][1][:6].ljust(6, "0")) if "S" in values else 0
    moment = datetime(year, _month_number(values), number("d", 1), hour, number("m", 0), number("s", 0), micros)
    return moment - _zone_shift(values)


def _month_number(values: dict[str, tuple[int, str]]) -> int:
    for letter in "ML":
        if letter in values:
            count, text = values[letter]
            if count < 3:
                return int(text)
            return next(i for i, name in enumerate(MONTHS, 1) if name.startswith(text[:3]))
    return 1


def _zone_shift(values: dict[str, tuple[int, str]]) -> timedelta:
    """How far the zone in the text is ahead of UTC."""
    for letter in "XxZOVz":
        found = re.fullmatch(r"([+-])(\d\d):?(\d\d)?", values.get(letter, (0, ""))[1])
        if found:
            shift = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
            return shift if found[1] == "+" else -shift
    return timedelta()
