"""A picture of the tags of a stream: the more rows carry a tag, the larger it is; its colour says how it is meant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import category

from PIL import ImageDraw

from eddyline.algebra.answer import TagLine
from eddyline.output.canvas import PALE, SMOOTH, Canvas, Font, font_for

_WIDTH, _HEIGHT = 1600 * SMOOTH, 1000 * SMOOTH
_LEGEND = 90 * SMOOTH  # the room below the words
_MARGIN, _GAP = 50 * SMOOTH, 10 * SMOOTH
_LARGEST, _SMALLEST = 190 * SMOOTH, 22 * SMOOTH
#: more than these are too small to read
_MOST_WORDS, _LONGEST = 120, 28
#: what is said for or against something is told by its sign, the rest by its type
_COLOURS = {
    "favourable": "#1a8a5a",
    "unfavourable": "#c8402f",
    "objective": "#2f5d9e",
    "subjective": "#8d4fa8",
    "physical": "#b7791f",
    "acronym": "#16808f",
    "junk": "#9aa0a8",
}
_SIGNS = {"+": "favourable", "-": "unfavourable"}

_Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Word:
    """A tag with its weight; `meaning` is a key of the colours."""

    text: str
    weight: int
    meaning: str


@dataclass(frozen=True)
class Placed:
    """A word with its font, and the corner from which it is drawn; `box` is where its ink is."""

    word: Word
    font: Font
    at: tuple[float, float]
    box: _Box


def draw(lines: Sequence[TagLine], path: Path) -> None:
    """Write the picture of some tags, of which there is at least one."""
    words = words_of(lines)
    canvas = Canvas(_WIDTH, _HEIGHT)
    for placed in layout(words):
        canvas.pen.text(placed.at, placed.word.text, font=placed.font, fill=_COLOURS[placed.word.meaning])
    _draw_legend(canvas.pen, words)
    canvas.save(path)


def words_of(lines: Sequence[TagLine]) -> list[Word]:
    """The tags that say the same in the same sense, together; those with most weight first."""
    weights: dict[tuple[str, str], tuple[str, int]] = {}
    for line in lines:
        meaning = _SIGNS.get(line.sign or "", line.type)
        text = " ".join(_legible(line.content).split())
        if not text:
            continue
        shown, weight = weights.get((text.casefold(), meaning), (text, 0))
        weights[text.casefold(), meaning] = shown, weight + max(line.rows, 1)
    words = [Word(_shortened(shown), weight, meaning) for (_, meaning), (shown, weight) in weights.items()]
    return sorted(words, key=lambda word: (-word.weight, word.text, word.meaning))[:_MOST_WORDS]


def _legible(text: str) -> str:
    """Without what no font has a shape for; it would be drawn as boxes."""
    return "".join(letter for letter in text if letter.isspace() or category(letter) not in ("Cc", "Cs"))


def layout(words: Sequence[Word]) -> list[Placed]:
    """Where the words stand: from the middle outwards, none over another. If they do not fit, all get smaller."""
    scale = 1.0
    while True:
        found = _attempt(words, scale)
        if found is not None:
            return found
        scale *= 0.9


def _attempt(words: Sequence[Word], scale: float) -> list[Placed] | None:
    most = max((word.weight for word in words), default=1)
    taken: list[Placed] = []
    for word in words:
        # the area of a word, not its height, is in proportion to its weight
        size = max(_SMALLEST, _LARGEST * math.sqrt(word.weight / most)) * scale
        placed = _placed(word, font_for(word.text, size), taken)
        if placed is None:
            return None
        taken.append(placed)
    return taken


def _placed(word: Word, font: Font, taken: Sequence[Placed]) -> Placed | None:
    left, top, right, bottom = font.getbbox(word.text)
    width, height = right - left, bottom - top
    if width > _WIDTH - 2 * _MARGIN:
        return None
    for x, y in _spiral():
        corner_x, corner_y = x - width / 2, y - height / 2
        box = (corner_x, corner_y, corner_x + width, corner_y + height)
        if _is_inside(box) and not any(_meet(box, other.box) for other in taken):
            return Placed(word, font, (corner_x - left, corner_y - top), box)
    return None


def _spiral() -> Iterator[tuple[float, float]]:
    """Points from the middle of the picture outwards, wider than high as the picture is."""
    middle_x, middle_y = _WIDTH / 2, (_HEIGHT - _LEGEND) / 2
    wide = _WIDTH / (_HEIGHT - _LEGEND)
    turn, radius = 0.0, 0.0
    while radius < _HEIGHT:
        yield middle_x + radius * wide * math.cos(turn), middle_y + radius * math.sin(turn)
        step = 9 * SMOOTH
        turn += step / max(radius, step)
        radius = 1.6 * SMOOTH * turn


def _is_inside(box: _Box) -> bool:
    left, top, right, bottom = box
    return left >= _MARGIN and top >= _MARGIN and right <= _WIDTH - _MARGIN and bottom <= _HEIGHT - _LEGEND


def _meet(one: _Box, other: _Box) -> bool:
    return (
        one[0] - _GAP < other[2] and other[0] - _GAP < one[2] and one[1] - _GAP < other[3] and other[1] - _GAP < one[3]
    )


def _draw_legend(pen: ImageDraw.ImageDraw, words: Sequence[Word]) -> None:
    """What the colours mean that are there, in one line."""
    there = {word.meaning for word in words}
    meanings = [meaning for meaning in _COLOURS if meaning in there]
    font = font_for("".join(meanings), 24 * SMOOTH)
    dot, gap, between = 16 * SMOOTH, 10 * SMOOTH, 40 * SMOOTH
    widths = [dot + gap + font.getlength(meaning) for meaning in meanings]
    x = (_WIDTH - sum(widths) - between * (len(meanings) - 1)) / 2
    middle = _HEIGHT - _LEGEND / 2
    for meaning, width in zip(meanings, widths, strict=True):
        pen.ellipse((x, middle - dot / 2, x + dot, middle + dot / 2), fill=_COLOURS[meaning])
        pen.text((x + dot + gap, middle), meaning, font=font, fill=PALE, anchor="lm")
        x += width + between


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
