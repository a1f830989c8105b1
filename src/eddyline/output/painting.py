"""Colour, where it is wanted: a terminal, and no NO_COLOR."""

from __future__ import annotations

from typing import TextIO

from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style

STYLES = {
    "plain": "",
    "query": "bold cyan",
    "header": "bold",
    "insert": "bold green",
    "delete": "red",
    "replace": "yellow",
    "old": "dim",
    "tag": "magenta",
    "null": "dim",
    "error": "bold red",
    "warning": "yellow",
    "hint": "cyan",
}
_COLOR_SYSTEMS = {
    "standard": ColorSystem.STANDARD,
    "256": ColorSystem.EIGHT_BIT,
    "truecolor": ColorSystem.TRUECOLOR,
    "windows": ColorSystem.WINDOWS,
}


class Painter:
    """Paints text for one stream. `width` is how many characters fit into a line, None if there is no limit."""

    def __init__(self, stream: TextIO) -> None:
        console = Console(file=stream)
        self._system = None
        if console.is_terminal and not console.no_color and console.color_system is not None:
            self._system = _COLOR_SYSTEMS[console.color_system]
        self._styles = {name: Style.parse(definition) for name, definition in STYLES.items()}
        # One short of the edge: some terminals break the line as soon as its last place is taken.
        self.width = console.width - 1 if console.is_terminal else None

    def __call__(self, text: str, style: str) -> str:
        if self._system is None or style == "plain" or not text:
            return text
        return self._styles[style].render(text, color_system=self._system)
