"""What all pictures are drawn with: paper, fonts that know the letters of a text, and smooth edges."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

#: pictures are drawn larger and then made smaller, which smooths them
SMOOTH = 2
PALE = "#6b7280"
_PAPER = "#fcfbf8"
#: the font that comes with Pillow has no accents; these, where they are installed, know more
_WIDER_FONTS = ("NotoSansCJK-Regular.ttc", "DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial Unicode.ttf", "arial.ttf")

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


class Canvas:
    """A picture of this size, before it is made smaller."""

    def __init__(self, width: float, height: float) -> None:
        self._picture = Image.new("RGB", (int(width), int(height)), _PAPER)
        self.pen = ImageDraw.Draw(self._picture)

    def save(self, path: Path) -> None:
        width, height = self._picture.size
        small = self._picture.resize((width // SMOOTH, height // SMOOTH), Image.Resampling.LANCZOS)
        small.save(path, format="PNG", optimize=True)


def font_for(text: str, size: float) -> Font:
    """A font of this size that has the letters of a text, if there is one."""
    if text.isascii():
        return ImageFont.load_default(size)
    for name in _WIDER_FONTS:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return ImageFont.load_default(size)
