"""The picture of a stream's tags: nothing over anything else, larger what weighs more, and a file that is a PNG."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

from PIL import Image

from eddyline.algebra.answer import TagLine
from eddyline.output.painting import Painter
from eddyline.output.tag_cloud import draw, layout, words_of
from eddyline.output.tag_list import as_json_lines, as_table


def line(content: str, rows: int, sign: str | None = None, type_: str = "objective", on: str | None = None) -> TagLine:
    return TagLine("s", content, sign, type_, on, 1, 0, rows)


MANY = [line(f"Tag number {n}", 1 + n * n % 97, "+-"[n % 2] if n % 3 else None) for n in range(100)]


def test_tags_of_one_sense_are_one_word() -> None:
    lines = [line("Sad", 3, "-", on="x"), line("sad", 2, "-"), line("Sad", 4, "+"), line("Wet", 0, type_="physical")]
    assert [(word.text, word.weight, word.meaning) for word in words_of(lines)] == [
        ("Sad", 5, "unfavourable"),
        ("Sad", 4, "favourable"),
        ("Wet", 1, "physical"),
    ]


def test_no_word_is_over_another_or_outside() -> None:
    placed = layout(words_of(MANY))
    assert len(placed) == 100
    for one, other in itertools.combinations((p.box for p in placed), 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    assert all(box[0] > 0 and box[1] > 0 and box[2] < 3200 and box[3] < 2000 for box in (p.box for p in placed))


def test_what_weighs_more_is_not_smaller() -> None:
    placed = layout(words_of(MANY))
    sizes = [getattr(p.font, "size", 0) for p in placed]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 2 * sizes[-1]


def test_even_the_longest_content_fits(tmp_path: Path) -> None:
    draw([line("x" * 1000, 5), line("多 Zürich ✓", 1)], tmp_path / "cloud.png")
    with Image.open(tmp_path / "cloud.png") as picture:
        assert (picture.format, picture.size) == ("PNG", (1600, 1000))
        assert len(picture.getcolors(2_000_000) or ()) > 10, "nothing is drawn"


def test_what_has_no_shape_is_left_out(tmp_path: Path) -> None:
    words = words_of([line("S\0ad\x07", 3), line("sad", 2), line("\0\x1b", 9)])
    assert [(word.text, word.weight) for word in words] == [("Sad", 5)]
    draw([line("\0", 1)], tmp_path / "cloud.png")  # a picture without words


def test_the_list() -> None:
    lines = [line("Sad", 12, "-", on="x"), line("a" * 99, 3)]
    first, second, third = as_table(lines, Painter(io.StringIO()))
    assert first.split() == ["tag", "sign", "type", "on", "tags", "active", "rows"]
    assert second.split() == ["Sad", "-", "objective", "x", "1", "0", "12"]
    assert third.startswith("a" * 59 + "…") and third.endswith("3")
    assert list(as_table([], Painter(io.StringIO()))) == []
    assert list(as_table([line("a\x1b[2J\n b", 1)], Painter(io.StringIO())))[1].startswith("a\\x1b[2J b  ")
    (json,) = as_json_lines(lines[:1])
    assert json == (
        '{"stream": "s", "content": "Sad", "sign": "-", "type": "objective", "on": "x", "tags": 1, "active": 0, '
        '"rows": 12}'
    )
