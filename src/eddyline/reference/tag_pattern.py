"""Regular expressions that a source gives with a tag: they are asked of each new value, while others wait to push.

Python's try one way after the other, and may need twice as long for each further letter where a part that is repeated
can match the same in several ways, as in (a+)+b. Such patterns are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from eddyline.errors import InvalidTag

_PARSER = import_module("re._parser")  # sre_parse is its old name
_REPEATS, _ALTERNATIVES = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"), "BRANCH"
#: so often a part may be repeated nevertheless, as in ([0-9]+[.]){3}[0-9]+
_FEW = 4
#: how much of what is wrong a reason shows
_SHOWN = 100


def compiled(pattern: str, where: str) -> re.Pattern[str]:
    """Raises `InvalidTag`; `where` is the field that says it.

    >>> compiled("ward [0-9]+(-[a-z])*", "values").pattern
    'ward [0-9]+(-[a-z])*'
    """
    try:
        found = re.compile(pattern, re.IGNORECASE)
        may_last = _may_last(_PARSER.parse(pattern), 1)
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
