"""What OPTIONS may say about a file. A misspelt option is an error: ignoring it would read the data wrongly."""

from __future__ import annotations

import codecs

from eddyline.catalog.extent import Extent
from eddyline.errors import InvalidDefinition, nearest

#: options of Spark's readers that we know and do not take, and what to say to those who set them
_NOT_USED = {
    "mode": "a row that does not fit is always set aside and counted; --rejects DIR keeps it",
    "inferschema": "the extent declares its columns and their types",
}


def check_options(extent: Extent, known: frozenset[str]) -> None:
    """Every option set must be one that the format knows; keys are lower case."""
    for key, _ in extent.options:
        if key in known:
            continue
        if key in _NOT_USED:
            raise InvalidDefinition(f"{extent.name}: option {key} is not used", hint=_NOT_USED[key])
        guess = nearest(key, known)
        raise InvalidDefinition(
            f"{extent.name}: USING {extent.format} has no option {key}",
            hint=f"did you mean {guess}?" if guess else f"its options are {', '.join(sorted(known))}",
        )


def flag(extent: Extent, key: str, default: bool) -> bool:
    text = extent.option(key)
    if text is None:
        return default
    if text.strip().lower() not in ("true", "false"):
        raise InvalidDefinition(f"{extent.name}: option {key} is true or false, not '{text}'")
    return text.strip().lower() == "true"


def character(extent: Extent, keys: tuple[str, ...], default: str | None) -> str | None:
    """The single character that one of these options sets; '' means none."""
    for key in keys:
        text = extent.option(key)
        if text is None:
            continue
        text = {"\\t": "\t", "\\\\": "\\"}.get(text, text)
        if len(text) > 1 or text in ("\n", "\r"):
            raise InvalidDefinition(f"{extent.name}: option {key} is a single character, not '{text}'")
        return text or None
    return default


def encoding(extent: Extent) -> str:
    """The Python codec for the option `encoding` (Spark also says `charset`)."""
    name = extent.option("encoding") or extent.option("charset") or "utf-8"
    try:
        codec = codecs.lookup(name).name
        "".encode(codec)  # Python also has codecs that are not for text
    except LookupError:
        raise InvalidDefinition(f"{extent.name}: '{name}' is not a known encoding") from None
    return "utf-8-sig" if codec == "utf-8" else codec  # skips the byte order mark that some programs put in front
