"""The tags of a stream as a table for people, or as JSON lines for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.cells import cell_len

from eddyline.algebra.answer import TagLine
from eddyline.output.legible_value import printable
from eddyline.output.painting import Painter

_HEADER = ("tag", "sign", "type", "on", "tags", "active", "rows")
_NUMBERS = 3  # the last columns
#: a content may be long and hold anything
_WIDEST = 60


def as_table(lines: Sequence[TagLine], painter: Painter) -> Iterator[str]:
    rows = [
        (
            _shown(line.content),
            line.sign or "",
            line.type,
            "whole rows" if line.on is None else printable(line.on),
            *map(str, (line.tags, line.active, line.rows)),
        )
        for line in lines
    ]
    widths = [max(map(cell_len, column)) for column in zip(_HEADER, *rows, strict=True)]
    for number, row in enumerate((_HEADER, *rows) if rows else ()):
        cells = [
            " " * (width - cell_len(text)) + text if place >= len(row) - _NUMBERS else _padded(text, width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        text = "  ".join(cells).rstrip()
        yield painter(text, "header") if number == 0 else text


def as_json_lines(lines: Sequence[TagLine]) -> Iterator[str]:
    for line in lines:
        yield json.dumps(asdict(line), ensure_ascii=False)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _shown(content: str) -> str:
    plain = printable(" ".join(content.split()))
    return plain if len(plain) <= _WIDEST else plain[: _WIDEST - 1] + "…"
