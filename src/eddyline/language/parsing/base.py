"""The ground of the parser: sqlglot's Spark expressions with our errors, names and durations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn, TypeVar

from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from eddyline.errors import Position
from eddyline.language import syntax
from eddyline.language.tokens import typographic_hint

E = TypeVar("E", bound=exp.Expr)

#: ticks and rows are counted up to here: sums of two of them are far from where 64 bits end
LARGEST = 10**18
UNITS: dict[str, str] = {
    **dict.fromkeys(("MS", "MILLISECOND", "MILLISECONDS"), "MS"),
    **dict.fromkeys(("S", "SEC", "SECS", "SECOND", "SECONDS"), "SEC"),
    **dict.fromkeys(("MIN", "MINS", "MINUTE", "MINUTES"), "MIN"),
    **dict.fromkeys(("H", "HOUR", "HOURS"), "HOUR"),
    **dict.fromkeys(("DAY", "DAYS"), "DAY"),
    **dict.fromkeys(("ROW", "ROWS"), "ROWS"),
}

#: words that end an item of FROM, so none of them can be an alias that is not introduced by AS
CLAUSE_WORDS = frozenset(
    (
        *("FOR", "WITH", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION", "SET", "ON", "USING"),
        *("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL"),
    )
)


class Misparse(ParseError):
    """A place where the text does not parse. sqlglot backtracks on ParseError, so this is one."""

    def __init__(self, message: str, position: Position, hint: str | None = None) -> None:
        super().__init__(message, errors=[{}])  # sqlglot notes there what it was trying to parse
        self.message = message
        self.position = position
        self.hint = hint


class BaseParser(SparkParser):
    """Expressions as Spark writes them. Function calls stay calls by name: the binder knows the functions."""

    STRICT_CAST = True  # CAST and TRY_CAST stay what they are, so that they print back
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        name: SparkParser.FUNCTION_PARSERS[name]
        for name in ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "OVERLAY")  # with words between arguments
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]
    }
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}  # array(1, 2)[0] is a call with a subscript
    # `x for …` would be read as a list comprehension
    RANGE_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
        kind: parse for kind, parse in SparkParser.RANGE_PARSERS.items() if kind != TokenType.FOR
    }

    TYPE_LITERAL_PARSERS: ClassVar[dict[exp.DType, Callable[..., Any]]] = {
        **SparkParser.TYPE_LITERAL_PARSERS,
        **dict.fromkeys(
            (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ), lambda self, *given: _moment(*given)
        ),
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "error_level": ErrorLevel.IMMEDIATE})

    # -- errors -------------------------------------------------------------------------------------------------------

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """Every complaint of sqlglot's parser ends here and becomes one of ours."""
        self._fail(_in_our_words(message, self._curr), token or None)

    def _fail(self, message: str, token: Token | None = None, hint: str | None = None) -> NoReturn:
        place = token or self._curr or self._prev
        if not place:
            raise Misparse(message, Position(0, 1), hint)
        if token is None and not self._curr:  # at the end: point behind the last token
            position = Position(place.end + 1, place.end + 2)
        else:
            position = Position(place.start, place.end + 1)
        raise Misparse(message, position, hint or typographic_hint(place.text))

    def _expected(self, what: str, hint: str | None = None) -> NoReturn:
        self._fail(f"expected {what}, found {_shown(self._curr)}", hint=hint)

    def _parse_function_call(self, *args: Any, **options: Any) -> exp.Expr | None:
        """As sqlglot's, but the call's place in the text ends with its closing parenthesis, not with its name."""
        found = super()._parse_function_call(*args, **options)
        if found is not None and "start" in found.meta:
            found.meta["end"] = self._prev.end
        return found

    # -- small parts --------------------------------------------------------------------------------------------------

    def _parse_placeholder(self) -> exp.Expr | None:
        first = self._curr
        found = super()._parse_placeholder()
        return found if found is None or first is None else self._spanned(found, first)

    def _spanned(self, node: E, first: Token) -> E:
        """Note where a node stands in the text: from its first token to the one just read."""
        node.meta["start"], node.meta["end"] = first.start, self._prev.end
        return node

    def _is_word(self, *words: str, ahead: int = 0) -> bool:
        token = self._tokens[self._index + ahead] if self._index + ahead < len(self._tokens) else None
        quoted = (TokenType.STRING, TokenType.IDENTIFIER)
        return token is not None and token.token_type not in quoted and token.text.upper() in words

    def _word(self, *words: str) -> bool:
        """Step over the words if they come next, all of them in this order."""
        if all(self._is_word(word, ahead=i) for i, word in enumerate(words)):
            self._advance(len(words))
            return True
        return False

    def _need_word(self, *words: str, hint: str | None = None) -> None:
        if not self._word(*words):
            self._expected(" ".join(words), hint)

    def _need(self, kind: TokenType, what: str) -> None:
        if not self._match(kind):
            self._expected(what)

    def _identifier(self, what: str = "a name") -> exp.Identifier:
        if not self._curr or self._is_word(*CLAUSE_WORDS) or self._is_word("SELECT", "FROM"):
            self._expected(what)
        token = self._curr
        found = self._parse_id_var(any_token=True)
        if not isinstance(found, exp.Identifier) or not found.name:
            self._fail(f"expected {what}, found {_shown(token)}", token)
        return self._spanned(found, token)

    def _name(self, what: str = "a name") -> syntax.Name:
        first = self._curr
        parts = [self._identifier(what)]
        while self._match(TokenType.DOT):
            parts.append(self._identifier(what))
        return self._spanned(syntax.Name(expressions=parts), first)

    def _whole_number(self, what: str = "a whole number") -> int:
        token = self._curr
        if not token or token.token_type != TokenType.NUMBER or not token.text.isdigit():
            self._expected(what)
        if int(token.text) > LARGEST:
            self._fail(f"{token.text} is too large: no clock or counter goes beyond {LARGEST}")
        self._advance()
        return int(token.text)

    def _unit(self) -> str:
        unit = UNITS.get(self._curr.text.upper()) if self._curr else None
        if unit is None:
            self._expected("a unit (SEC, MIN, HOUR, DAY, MS or ROWS)")
        self._advance()
        return unit

    def _duration(self) -> syntax.Duration:
        first = self._curr
        number = self._whole_number()
        return self._spanned(syntax.Duration(this=number, unit=self._unit()), first)

    def _string(self, what: str) -> exp.Literal:
        token = self._curr
        if not token or token.token_type not in (TokenType.STRING, TokenType.RAW_STRING):
            self._expected(what)
        self._advance()
        return self._spanned(exp.Literal.string(token.text), token)

    def _expression_needed(self, what: str) -> exp.Expr:
        found = self._parse_disjunction() if self._curr else None
        if found is None:
            self._expected(what)
        return found

    def _arithmetic(self, what: str) -> exp.Expr:
        found = self._parse_bitwise() if self._curr else None
        if found is None:
            self._expected(what)
        return found

    def _list(self, item: Callable[[], E]) -> list[E]:
        items = [item()]
        while self._match(TokenType.COMMA):
            items.append(item())
        return items

    def _in_parentheses(self, items: Callable[[], Any], what: str) -> Any:
        self._need(TokenType.L_PAREN, f"( before {what}")
        found = items()
        self._need(TokenType.R_PAREN, f") after {what}")
        return found


def _shown(token: Token | None) -> str:
    return repr(token.text) if token else "the end of the statement"


_PHRASES: Sequence[tuple[str, str]] = (
    ("Expecting )", "a ) is missing"),
    ("Expecting (", "a ( is missing"),
    ("Expected ]", "a ] is missing"),
    ("Expected )", "a ) is missing"),
)


def _in_our_words(message: str, token: Token | None) -> str:
    for theirs, ours in _PHRASES:
        if message.startswith(theirs):
            return f"{ours} before {_shown(token)}"
    return f"unexpected {_shown(token)}" if token else "the statement ends too early"


def _moment(text: exp.Expr, type_: exp.DataType) -> exp.Cast:
    """`DATE '2020-01-31'`: a cast to sqlglot. It is marked: a cast that fails gives NULL, a constant must be right."""
    made = exp.Cast(this=text, to=type_)
    made.meta[syntax.CONSTANT] = True
    return made
