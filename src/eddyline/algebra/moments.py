"""Dates and times as text, the way Spark reads them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

#: what Spark strips before it reads a value from text
BLANK = "".join(map(chr, range(33))) + "\x7f"
_DATE = re.compile(r"(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_TIMESTAMP = re.compile(
    r"(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[ T](?:(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?)?\s*(Z|UTC|GMT|UT|[A-Za-z+-][\w:/+-]*)?)?)?)?",
    re.ASCII,
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?(?::?(\d{1,2}))?", re.ASCII)


def text_to_date(text: str) -> date | None:
    """`2020`, `2020-1`, `2020-1-31`, and anything behind a T or a blank."""
    found = _DATE.fullmatch(text.strip(BLANK))
    if found is None:
        return None
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        return None


def text_to_timestamp(text: str) -> datetime | None:
    """As for dates, then hours, minutes, seconds and a fraction, then a time zone."""
    found = _TIMESTAMP.fullmatch(text.strip(BLANK))
    if found is None:
        return None
    year, month, day, hour, minute, second = (
        int(found[i] or default) for i, default in enumerate((0, 1, 1, 0, 0, 0), 1)
    )
    micros = int((found[7] or "")[:6].ljust(6, "0"))
    try:
        local = datetime(year, month, day, hour, minute, second, micros)
        return local if not found[8] else _to_utc(local, found[8])
    except (ValueError, OverflowError):
        return None


def _to_utc(local: datetime, zone: str) -> datetime | None:
    offset = _OFFSET.fullmatch(zone)
    if offset:
        hours, minutes, seconds = (int(offset[i] or 0) for i in (2, 3, 4))
        if hours > 18 or minutes > 59 or seconds > 59:
            return None
        shift = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return local - shift if offset[1] == "+" else local + shift
    if zone in ("Z", "UTC", "GMT", "UT"):
        return local
    try:
        return local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC).replace(tzinfo=None)
    except (KeyError, ValueError, OSError):
        return None
