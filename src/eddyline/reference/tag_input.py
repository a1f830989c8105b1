"""From the `_tag` object of a source's row to a tick-tag, or to a message that says what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from typing import Any

from eddyline.algebra.dictionary import Dictionary
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import COMBINE, OVERWRITE, TYPES, USER, Applicability, TickTag, wrong_content
from eddyline.algebra.tag_json import why_not_taken
from eddyline.algebra.types import DOUBLE, FLOAT, STRING, DataType
from eddyline.errors import InvalidTag, nearest
from eddyline.reference.functions.casting import caster, to_text
from eddyline.reference.tag_pattern import compiled, shown

_FIELDS = ("content", "sign", "lifespan", "mode", "type", "tagger", "applies_to")
_APPLIES_TO = ("stream", "tuples", "next", "attributes", "value", "values")
_SIGNS = {"+": "+", "-": "-", "−": "-", "–": "-", "": None}
_MODES = {"o": OVERWRITE, "overwrite": OVERWRITE, "c": COMBINE, "combine": COMBINE}
_UNIT_MICROS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000_000),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60_000_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000_000),
}
#: of ticks and of indexes: a sum of two of these is far from where 64 bits end
_LONGEST = 10**18
#: more digits are more than that anyway, and Python does not read thousands of them
_DIGITS = 40
#: a list of tuples is held in memory with its tag; whoever means more than this means all
_MOST_TUPLES = 100_000


def tick_tag(
    fields: Mapping[str, Any],
    stream: str,
    schema: Schema,
    tick: int,
    tick_micros: int,
    dictionary: Dictionary,
    number: int,
    last: int,
    taggers: Collection[str] = (),
) -> TickTag:
    """The tick-tag that stands in `stream` at `tick`, behind the tuple `last`; `tick_micros` is the length of a tick.

    A source names none of the system's `taggers`, in lower case: it could take back what they say, or speak for them.
    Only `content` must be there. Raises `InvalidTag`.
    """
    problem = why_not_taken(fields)
    if problem is not None:
        raise InvalidTag(problem)
    _no_others(fields, _FIELDS, "a tag")
    content = fields.get("content")
    if not isinstance(content, str) or not content.strip():
        raise InvalidTag(f"a tag needs a content: a text that is not empty, not {_shown(content)}")
    problem = wrong_content(content)
    if problem is not None:
        raise InvalidTag(problem)
    return TickTag(
        content=content,
        applies_to=_applicability(fields.get("applies_to"), stream, schema, last),
        tagger=_tagger(fields.get("tagger"), stream, taggers),
        timestamp=tick,
        type=_type(fields.get("type")) or dictionary.classify(content),
        sign=_sign(fields.get("sign")),
        lifespan=_lifespan(fields.get("lifespan"), tick_micros),
        mode=_mode(fields.get("mode")),
        number=number,
    )


def _sign(sign: Any) -> str | None:
    if sign is None:
        return None
    if not isinstance(sign, str) or sign.strip() not in _SIGNS:
        raise InvalidTag(f"a tag's sign is '+' or '-', or absent for a neutral tag, not {_shown(sign)}")
    return _SIGNS[sign.strip()]


def _mode(mode: Any) -> str:
    if mode is None:
        return OVERWRITE
    if not isinstance(mode, str) or mode.strip().lower() not in _MODES:
        raise InvalidTag(f"a tag's mode is 'O' (overwrite) or 'C' (combine), not {_shown(mode)}")
    return _MODES[mode.strip().lower()]


def _type(type_: Any) -> str | None:
    if type_ is None:
        return None
    if not isinstance(type_, str) or type_.strip().lower() not in TYPES:
        raise InvalidTag(f"a tag's type is {', '.join(TYPES[:-1])} or {TYPES[-1]}, not {_shown(type_)}")
    return type_.strip().lower()


def _tagger(tagger: Any, stream: str, others: Collection[str]) -> str:
    if tagger is None:
        return stream
    if not isinstance(tagger, str) or not tagger.strip():
        raise InvalidTag(f"a tagger is a name, not {_shown(tagger)}")
    name = tagger.strip()
    if name.lower() == USER:
        raise InvalidTag(f"{name} is the tagger of statements, and no source names it")
    if name.lower() in others:
        raise InvalidTag(f"{name} is the tagger of a query, and no source names it")
    return name


def _lifespan(lifespan: Any, tick_micros: int) -> int | None:
    """In ticks; a part of a tick counts as a whole one, so that a tag never dies before its time."""
    if lifespan is None or (isinstance(lifespan, str) and lifespan.strip().lower() in ("i", "instant")):
        return None
    ticks: int | None = None
    if isinstance(lifespan, int) and not isinstance(lifespan, bool):
        ticks = lifespan
    elif isinstance(lifespan, str) and (match := re.fullmatch(r"\s*([+-]?\d+)\s*([A-Za-z]*)\s*", lifespan)):
        number, unit = int(match[1][:_DIGITS]), match[2].lower()
        if unit in _UNIT_MICROS:
            ticks = -(-number * _UNIT_MICROS[unit] // tick_micros)
        elif unit in ("", "tick", "ticks"):
            ticks = number
    if ticks is None:
        raise InvalidTag(
            f"a lifespan is 'I' (instant), a number of ticks, or a time such as '30 min', not {_shown(lifespan)}"
        )
    if ticks <= 0:
        raise InvalidTag(f"a tag cannot live for {_shown(lifespan)}; an instant tag has the lifespan 'I'")
    if ticks > _LONGEST:
        raise InvalidTag(f"{ticks} ticks are too many for a lifespan: no clock goes beyond {_LONGEST}")
    return ticks


def _applicability(given: Any, stream: str, schema: Schema, last: int) -> Applicability:
    if given is None:
        return Applicability(stream)
    if not isinstance(given, Mapping):
        raise InvalidTag(f"applies_to is an object with any of {', '.join(_APPLIES_TO)}, not {_shown(given)}")
    _no_others(given, _APPLIES_TO, "applies_to")
    _check_stream(given.get("stream"), stream)
    names, pattern, marked = _attributes(given.get("attributes"), schema)
    on = Applicability(stream, attributes=names, attribute_pattern=pattern)
    by_value, values = _values(given.get("value"), given.get("values"), on, schema)
    by_value = by_value or marked
    if by_value and names is None and pattern is None:
        raise InvalidTag("a tag on a value must name its attribute: applies_to.attributes is missing")
    tuples = _tuples(given.get("tuples"))
    if given.get("next") is not None:
        if tuples is not None:
            raise InvalidTag("applies_to has both tuples and next: a tag lists tuples, or is on those that come next")
        tuples = _next(given["next"], last)
    return Applicability(stream, tuples, names, pattern, by_value, values)


def _check_stream(given: Any, stream: str) -> None:
    if given is None or given == "*":
        return
    if not isinstance(given, str):
        raise InvalidTag(f"applies_to.stream is a name or a pattern, not {_shown(given)}")
    pattern = compiled(given, "applies_to.stream")
    if given.lower() != stream.lower() and not pattern.fullmatch(stream):
        raise InvalidTag(f"the tag is for stream {given}, but it stands in {stream}")


def _tuples(given: Any) -> tuple[int, ...] | None:
    """
    >>> _tuples("1-3,5")
    (1, 2, 3, 5)
    """
    if given is None or given == "*":
        return None
    items = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else [given]
    spans = [_span(item) for item in items]
    if not spans:
        raise InvalidTag("applies_to.tuples lists no tuple; '*' means all")
    if sum(last - first + 1 for first, last in spans) > _MOST_TUPLES:
        raise InvalidTag(f"applies_to.tuples lists more than {_MOST_TUPLES} tuples; '*' means all")
    return tuple(sorted({index for first, last in spans for index in range(first, last + 1)}))


def _next(count: Any, last: int) -> tuple[int, ...]:
    """
    >>> _next(3, 7)
    (8, 9, 10)
    """
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST_TUPLES:
        raise InvalidTag(f"applies_to.next is a number of tuples from 1 to {_MOST_TUPLES}, not {_shown(count)}")
    return tuple(range(last + 1, last + 1 + count))


def _span(item: Any) -> tuple[int, int]:
    match = None
    if isinstance(item, int | str) and not isinstance(item, bool):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", str(item))
    if match is None:
        raise InvalidTag(f"applies_to.tuples lists indexes such as [17] or '1-3,5', not {_shown(item)}")
    first, last = (int(digits[:_DIGITS]) for digits in (match[1], match[2] or match[1]))
    if first < 1 or last < first:
        raise InvalidTag(f"no tuples have the indexes {_shown(item)}; the first tuple of a stream has index 1")
    if last > _LONGEST:
        raise InvalidTag(f"no tuples have the indexes {_shown(item)}: no stream goes beyond {_LONGEST}")
    return first, last


def _attributes(given: Any, schema: Schema) -> tuple[tuple[str, ...] | None, str | None, bool]:
    """The names, or the pattern, and whether the tag is on their values (`loc.value`)."""
    if given is None or given == "*" or given == ["*"]:
        return None, None, False
    declared = {name.lower(): name for name in schema.names}
    if isinstance(given, str):
        if _without_value(given).lower() not in declared and not given.isidentifier():
            return None, _attribute_pattern(given, schema), False
        given = [given]
    if not isinstance(given, list) or not given or not all(isinstance(name, str) for name in given):
        raise InvalidTag(f"applies_to.attributes is a list of names or a pattern, not {_shown(given)}")
    on_values = {name.lower().endswith(".value") for name in given}
    if len(on_values) > 1:
        raise InvalidTag("a tag is on attributes or on values, not on both at once")
    names = []
    for name in map(_without_value, given):
        if name.lower() not in declared:
            meant = nearest(name, schema.names)
            hint = f"did you mean {meant}?" if meant else f"there are {', '.join(schema.names)}"
            raise InvalidTag(f"there is no attribute {name}; {hint}")
        names.append(declared[name.lower()])
    return tuple(dict.fromkeys(names)), None, on_values == {True}


def _without_value(name: str) -> str:
    return name[: -len(".value")] if name.lower().endswith(".value") else name


def _attribute_pattern(given: str, schema: Schema) -> str:
    pattern = compiled(given, "applies_to.attributes")
    if not any(pattern.fullmatch(name) for name in schema.names):
        on_values = f"; for values, list them as in [{schema.names[0] + '.value'!r}], or add value: true to a pattern"
        names = ", ".join(schema.names)
        hint = on_values if given.lower().endswith("value") else ""
        raise InvalidTag(f"no attribute matches {_shown(given)}; there are {names}{hint}")
    return given


def _values(value: Any, values: Any, on: Applicability, schema: Schema) -> tuple[bool, str | None]:
    """Whether the tag is on values, and the pattern of those values; a value that is given is its own pattern, however
    the attributes write it that the tag is on."""
    if values is not None:
        if not isinstance(values, str):
            raise InvalidTag(f"applies_to.values is a pattern, not {_shown(values)}")
        if not isinstance(value, bool | None):
            raise InvalidTag("applies_to has both a value and a pattern of values")
        compiled(values, "applies_to.values")
        return bool(value), values
    if value is None or isinstance(value, bool):
        return bool(value), None
    if not isinstance(value, str | int | float):
        raise InvalidTag(f"applies_to.value is true or a value, not {_shown(value)}")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # 72 is written 72.0 in a DOUBLE column
    pattern = re.escape(str(value)) + (r"(\.0+)?" if isinstance(value, int) else "")
    if isinstance(value, str):
        return True, pattern
    types = [field.type for field in schema.fields if on.describes(field.name)]
    texts = dict.fromkeys(text for type_ in types for text in _written_as(value, type_))
    return True, "|".join([pattern, *(re.escape(text) for text in texts if not re.fullmatch(pattern, text))])


def _written_as(number: float, type_: DataType) -> Iterator[str]:
    """How a number is written in a column whose values have a point.

    >>> [*_written_as(10**8, DOUBLE)], [*_written_as(0, DOUBLE)]
    (['1.0E8'], ['0.0', '-0.0'])
    """
    if type_ not in (FLOAT, DOUBLE) and type_.name != "DECIMAL":
        return
    there = caster(STRING, type_)(repr(number))
    if there is None or (type_.name == "DECIMAL" and there != Decimal(repr(number))):
        return  # it has no room for it
    yield to_text(type_)(there)
    if not number and type_.name != "DECIMAL":
        yield to_text(type_)(-there)


def _no_others(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in known:
            meant = nearest(name, known)
            hint = f"did you mean {meant}?" if meant else f"there are {', '.join(known)}"
            raise InvalidTag(f"{where} has no field {name}; {hint}")


def _shown(value: Any) -> str:
    return "nothing" if value is None else shown(value)
