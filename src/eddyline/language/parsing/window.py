"""What stands in brackets behind an item of FROM: the windows of SNEEql, CQL, TelegraphCQ and the tag paper."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from eddyline.language import syntax
from eddyline.language.parsing.base import UNITS, BaseParser

_FORMS = (
    "[FROM NOW-10 TO NOW SLIDE 1 MIN], [SCAN 10 MIN], [RANGE 5 MIN], [ROWS 10], [NOW], [UNBOUNDED], "
    "[PARTITION BY a ROWS 1] or [RANGE BY '5 seconds' SLIDE BY '1 second']"
)


class WindowParser(BaseParser):
    def _window(self) -> syntax.WindowClause | None:
        """A window in brackets, if one comes next."""
        first = self._curr
        if not self._match(TokenType.L_BRACKET):
            return None
        window = self._window_form()
        self._need(TokenType.R_BRACKET, "] after the window")
        return self._spanned(window, first)

    def _window_form(self) -> syntax.WindowClause:
        if self._word("FROM"):
            return self._slide_window()
        if self._word("SCAN") or self._word("RESCAN"):
            return syntax.ScanWindow(this=self._duration())
        if self._word("NOW"):
            return syntax.NowWindow()
        if self._word("UNBOUNDED") or self._word("RANGE", "UNBOUNDED"):
            return syntax.UnboundedWindow()
        if self._word("RANGE", "BY"):
            return self._hop_window()
        if self._word("RANGE"):
            size = self._duration()
            return syntax.RangeWindow(this=size, slide=self._duration() if self._word("SLIDE") else None)
        if self._word("ROWS"):
            return syntax.RowsWindow(this=self._whole_number("a number of rows"))
        if self._match(TokenType.PARTITION_BY) or self._word("PARTITION", "BY"):
            columns = self._list(lambda: self._name("a column"))
            self._need_word("ROWS")
            return syntax.RowsWindow(this=self._whole_number("a number of rows"), partition=columns)
        if self._curr and self._curr.token_type == TokenType.NUMBER:
            return syntax.RecentWindow(this=self._duration())
        self._expected("a window", hint=f"a window is one of {_FORMS}")

    def _slide_window(self) -> syntax.SlideWindow:
        start = self._offset()
        self._need_word("TO")
        end = self._offset()
        self._need_word("SLIDE", hint="say how often a window is made, e.g. SLIDE 1 MIN")
        slide = self._whole_number()
        return syntax.SlideWindow(start=start, end=end, slide=slide, unit=self._unit())

    def _offset(self) -> int:
        """NOW or NOW-n, as the distance n from now."""
        self._need_word("NOW")
        if self._match(TokenType.PLUS, advance=False):
            self._fail("a window cannot reach into the future", hint="its ends are NOW or NOW-n")
        if not self._match(TokenType.DASH):
            return 0
        distance = self._whole_number()
        if self._curr and self._curr.text.upper() in UNITS and self._is_word("TO", "SLIDE", ahead=1):
            self._fail("one unit, written behind SLIDE, is for all three numbers")
        return distance

    def _hop_window(self) -> syntax.HopWindow:
        size = self._string("a length such as '5 seconds'")
        slide = self._string("a length such as '1 second'") if self._word("SLIDE", "BY") else None
        start = self._primary_of_start() if self._word("START", "AT") else None
        return syntax.HopWindow(range=size, slide=slide, start=start)

    def _primary_of_start(self) -> exp.Expr:
        first = self._curr
        if self._match(TokenType.DASH):  # a clock may stand before its zero, as times before 1970 do
            number = exp.Literal.number(self._whole_number("a tick"))
            return self._spanned(exp.Neg(this=number), first)
        if first and first.token_type == TokenType.NUMBER:
            return self._spanned(exp.Literal.number(self._whole_number()), first)
        return self._string("a time such as '2003-06-06 18:50:20' or a tick")
