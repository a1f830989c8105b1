"""Lengths of time as ticks."""

from __future__ import annotations

import re
from datetime import timedelta

from sqlglot import exp

from eddyline.binder.interval import span_of
from eddyline.errors import EddylineError, InvalidWindow, Position
from eddyline.language import syntax
from eddyline.language.parsing.base import LARGEST, UNITS

MICROS = {"MS": 1_000, "SEC": 1_000_000, "MIN": 60_000_000, "HOUR": 3_600_000_000, "DAY": 86_400_000_000}

_PART = re.compile(r"\s*(\d+)\s*([A-Za-z]+)\s*,?")


def in_ticks(
    number: int, unit: str, tick_micros: int, position: Position | None, error: type[EddylineError] = InvalidWindow
) -> int:
    """A number of units as ticks; it must be a whole number of them."""
    if unit == "ROWS":
        raise error("ROWS is not a length of time", position)
    micros = number * MICROS[unit]
    if micros % tick_micros:
        hint = "SET TICK '1 millisecond' makes ticks shorter"
        raise error(f"{number} {unit} is not a whole number of ticks of {tick_text(tick_micros)}", position, hint)
    return countable(micros // tick_micros, position, error)


def countable(ticks: int, position: Position | None, error: type[EddylineError] = InvalidWindow) -> int:
    """A number of ticks that engines can reckon with."""
    if abs(ticks) > LARGEST:
        raise error(f"{ticks} ticks are too many: no clock goes beyond {LARGEST}", position)
    return ticks


def micros_of(text: str, position: Position | None, error: type[EddylineError] = InvalidWindow) -> int:
    """The microseconds in a text such as '5 seconds' or '1 hour 30 minutes'.

    >>> micros_of("1 hour 30 minutes", None)
    5400000000
    """
    done, micros = 0, 0
    while done < len(text):
        part = _PART.match(text, done)
        unit = UNITS.get(part[2].upper()) if part else None
        if part is None or unit is None or unit == "ROWS":
            raise error(f"'{text}' is not a length of time", position, "write e.g. '5 seconds' or '1 hour 30 minutes'")
        micros += int(part[1]) * MICROS[unit]
        done = part.end()
    if not text.strip():
        raise error("an empty text is not a length of time", position)
    return micros


def text_in_ticks(
    text: str, tick_micros: int, position: Position | None, error: type[EddylineError] = InvalidWindow
) -> int:
    micros = micros_of(text, position, error)
    if micros % tick_micros:
        raise error(f"'{text}' is not a whole number of ticks of {tick_text(tick_micros)}", position)
    return countable(micros // tick_micros, position, error)


def interval_ticks(
    node: exp.Interval, tick_micros: int, position: Position | None, error: type[EddylineError] = InvalidWindow
) -> int:
    """An INTERVAL constant as ticks."""
    span = span_of(node)
    assert span is not None
    if span.months:
        raise error("months and years have no fixed length", position, "write a number of days")
    micros = span.length // timedelta(microseconds=1)
    if micros % tick_micros:
        raise error(f"the INTERVAL is not a whole number of ticks of {tick_text(tick_micros)}", position)
    return countable(micros // tick_micros, position, error)


def duration_ticks(
    duration: syntax.Duration, tick_micros: int, position: Position | None, error: type[EddylineError] = InvalidWindow
) -> int:
    return in_ticks(duration.args["this"], duration.args["unit"], tick_micros, position, error)


def tick_text(tick_micros: int) -> str:
    """The length of a tick in words.

    >>> tick_text(1_000_000)
    '1 SEC'
    """
    for unit, micros in reversed(MICROS.items()):
        if tick_micros % micros == 0:
            return f"{tick_micros // micros} {unit}"
    return f"{tick_micros} microseconds"
