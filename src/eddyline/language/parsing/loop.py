"""TelegraphCQ's for-loops behind a query."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from eddyline.language import syntax
from eddyline.language.parsing.window import WindowParser
from eddyline.language.tokens import DECREMENT

_STEPS = {TokenType.PLUS: exp.Add, TokenType.DASH: exp.Sub, TokenType.STAR: exp.Mul}


class LoopParser(WindowParser):
    def _loops(self) -> list[syntax.Loop]:
        loops = []
        while self._is_word("FOR"):
            loops.append(self._loop())
        return loops

    def _loop(self) -> syntax.Loop:
        first = self._curr
        self._need_word("FOR")
        self._need(TokenType.L_PAREN, "( after for")
        variable, initial = self._initial()
        self._need(TokenType.SEMICOLON, "; after the loop's first value")
        condition = None if self._match(TokenType.SEMICOLON, advance=False) else self._expression_needed("a condition")
        self._need(TokenType.SEMICOLON, "; after the loop's condition")
        changed, change = self._change()
        name = variable or changed or "t"
        if changed and changed.lower() != name.lower():
            self._fail(f"the loop starts with {name} but changes {changed}", self._prev)
        self._need(TokenType.R_PAREN, ") after the loop's change")
        self._need(TokenType.L_BRACE, "{ before the loop's windows")
        windows = []
        while not self._match(TokenType.R_BRACE):
            windows.append(self._window_is())
            self._match(TokenType.SEMICOLON)
        loop = syntax.Loop(variable=name, initial=initial, condition=condition, change=change, windows=windows)
        return self._spanned(loop, first)

    def _initial(self) -> tuple[str | None, exp.Expr | None]:
        if self._match(TokenType.SEMICOLON, advance=False):
            return None, None
        variable = self._identifier("the loop's variable").name
        if not (self._match(TokenType.EQ) or self._match(TokenType.COLON_EQ)):
            self._expected("= after the loop's variable")
        return variable, self._arithmetic("the loop's first value")

    def _change(self) -> tuple[str | None, exp.Expr | None]:
        """What becomes of the variable, as the expression that gives its next value."""
        if self._match(TokenType.R_PAREN, advance=False):
            return None, None
        text = self._curr.text
        if text.endswith(DECREMENT) and len(text) > len(DECREMENT):
            # the tokenizer takes the two minus signs for a part of the name
            self._advance()
            variable = text.removesuffix(DECREMENT)
            return variable, exp.Sub(this=exp.column(variable), expression=exp.Literal.number(1))
        variable = self._identifier("the loop's variable").name
        column = exp.column(variable)
        if self._is_word(DECREMENT):
            self._advance()
            return variable, exp.Sub(this=column, expression=exp.Literal.number(1))
        if self._match(TokenType.EQ):
            return variable, self._arithmetic("the variable's next value")
        operator = self._curr.token_type if self._curr else None
        if operator in _STEPS:
            self._advance()
            if operator == TokenType.PLUS and self._match(TokenType.PLUS):
                return variable, exp.Add(this=column, expression=exp.Literal.number(1))
            if self._match(TokenType.EQ):
                return variable, _STEPS[operator](this=column, expression=self._arithmetic("a step"))
        self._expected(f"a change of {variable} such as {variable}++ or {variable} += 5")

    def _window_is(self) -> syntax.WindowIs:
        first = self._curr
        self._need_word("WINDOWIS", hint="a for-loop holds WindowIs(stream, left, right);")
        self._need(TokenType.L_PAREN, "( after WindowIs")
        stream = self._name("a stream of the query")
        self._need(TokenType.COMMA, ", after the stream")
        left = self._arithmetic("the window's left end")
        self._need(TokenType.COMMA, ", after the left end")
        right = self._arithmetic("the window's right end")
        self._need(TokenType.R_PAREN, ") after the right end")
        return self._spanned(syntax.WindowIs(this=stream, left=left, right=right), first)
