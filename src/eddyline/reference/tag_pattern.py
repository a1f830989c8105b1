"""Regular expressions that a source gives with a tag: they are asked of each new value, while others wait to push.

Python's try one way after the other. They may need twice as long for each further letter where a part that is repeated
can match the same in several ways, as in (a+)+b, and many times as long for twice as many letters where these can be
divided among many parts, as in a*a*a*a*a*b. Such patterns are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from eddyline.errors import InvalidTag

_PARSER, _COMPILER = map(import_module, ("re._parser", "re._compiler"))
_REPEATS, _ALTERNATIVES = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"), "BRANCH"
_LETTERS, _WITHOUT_LETTERS = ("LITERAL", "NOT_LITERAL", "ANY", "IN"), ("AT", "ASSERT", "ASSERT_NOT")
#: so often a part may be repeated nevertheless, as in ([0-9]+[.]){3}[0-9]+, and letters be divided among so many
_FEW = 4
#: letters that stand for those that a pattern does not name
_OTHERS = "a0 _.\n"
#: whatever is longer takes long to look at, too
_LONGEST = 1_000
Letters = frozenset[str]
#: by a number of repeated parts in a row, from none on, the letters that can be divided among so many; the last are
#: those that can be among too many, wherever that was
Run = tuple[Letters, ...]
_NONE: Run = (frozenset(),) * (_FEW + 1)
#: how much of what is wrong a reason shows
_SHOWN = 100


def compiled(pattern: str, where: str) -> re.Pattern[str]:
    """Raises `InvalidTag`; `where` is the field that says it.

    >>> compiled("ward [0-9]+(-[a-z])*", "values").pattern
    'ward [0-9]+(-[a-z])*'
    """
    try:
        if len(pattern) > _LONGEST:
            raise OverflowError
        found = re.compile(pattern, re.IGNORECASE)
        pieces = _PARSER.parse(pattern)
        may_last = _may_last(pieces, 1) or bool(_divided(pieces, (frozenset({*pattern, *_OTHERS}), *_NONE))[-1])
    except re.error as error:
        raise InvalidTag(f"{where}: {shown(pattern)} is not a regular expression: {error}") from None
    except (OverflowError, RecursionError):  # of a number of repetitions, and of groups in groups
        raise InvalidTag(f"{where}: {shown(pattern)} is too large for a regular expression") from None
    if may_last:
        raise InvalidTag(f"{where}: {shown(pattern)} repeats what can match in several ways, which may take for ever")
    return found


def _may_last(pieces: Iterable[tuple[object, Any]], times: int) -> bool:
    """Whether any piece of a pattern that is matched so many times can match in several ways."""
    for kind, what in pieces:
        often = times
        if str(kind) in _REPEATS:
            least, most = what[:2]
            if times > _FEW and least != most:
                return True
            often *= int(most)
        elif str(kind) == _ALTERNATIVES and times > _FEW:
            return True
        if any(_may_last(part, often) for part in _parts(what)):
            return True
    return False


def _divided(pieces: Iterable[tuple[object, Any]], run: Run) -> Run:
    """Among how many parts in a row that are repeated letters can be divided, behind these pieces."""
    for kind, what in pieces:
        ends = [run]
        if str(kind) in _LETTERS:
            its = _letters(kind, what, run[0])
            ends = [(run[0], *(some & its for some in run[1:-1]), run[-1])]
        elif str(kind) in _REPEATS:
            least, most, part = what
            if least != most and most > _FEW:
                its = _all_letters(part, run[0])
                more = [some & its for some in run[:-1]]
                ends.append((run[0], *more[:-1], more[-1] | run[-1]))
            else:
                for _ in range(min(int(most), _FEW)):
                    ends.append(_divided(part, ends[-1]))
            ends = ends[1:] if least else ends
        elif str(kind) not in _WITHOUT_LETTERS:
            ends = [_divided(part, run) for part in _parts(what)] or ends
        run = tuple(frozenset[str]().union(*some) for some in zip(*ends, strict=True))
    return run


def _all_letters(pieces: Iterable[tuple[object, Any]], among: Letters) -> Letters:
    """Those that can be in what pieces match."""
    found: set[str] = set()
    for kind, what in pieces:
        parts = _parts(what)
        found.update(
            *([_letters(kind, what, among)] if str(kind) in _LETTERS else (_all_letters(part, among) for part in parts))
        )
    return frozenset(found)


def _letters(kind: object, what: Any, among: Letters) -> Letters:
    """Those that a piece matches."""
    piece = _PARSER.SubPattern(_PARSER.State(), [(kind, what)])
    one: re.Pattern[str] = _COMPILER.compile(piece, re.IGNORECASE | re.DOTALL | re.UNICODE)
    return frozenset(one.findall("".join(among)))


def _parts(what: Any) -> Iterator[Any]:
    """The patterns that a piece of a pattern is made of."""
    if isinstance(what, _PARSER.SubPattern):
        yield what
    elif isinstance(what, tuple | list):
        for each in what:
            yield from _parts(each)


def shown(value: Any) -> str:
    """A value as a reason shows it."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
