"""Statements: extents in SQL and in the papers' notation, queries, corrections, tags, and the small ones."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from eddyline.errors import nearest
from eddyline.language import syntax
from eddyline.language.parsing.base import UNITS
from eddyline.language.parsing.tag import TagParser

_BEGINNINGS = (
    *("SELECT", "CREATE", "DROP", "SET", "EXPLAIN", "INSERT", "UPDATE", "DELETE", "ATTACH", "DETACH", "SHOW", "FLUSH"),
)
_KINDS = {"SENSED": "sensed", "PUSHED": "pushed", "STREAMED": "pushed", "STORED": "stored"}
_RETENTION = "a length of time such as '10 minutes' or a number of ticks"
_INTERVAL_UNITS = (
    *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"),
)


class StatementParser(TagParser):
    def statements_of(self, tokens: list[Token], sql: str) -> list[exp.Expr]:
        """The statements in a run of tokens: one, or several extents in the papers' notation."""
        self.reset()
        self.sql = sql
        self._chunks = [tokens]
        self._advance_chunk()
        found = [self._one_statement()]
        while self._curr and isinstance(found[-1], syntax.Extent) and self._at_notation():
            found.append(self._one_statement())
        if self._curr:
            begins_statement = self._is_word(*_BEGINNINGS) or self._at_notation()
            hint = f"is a ; missing before {self._curr.text}?" if begins_statement else self._misspelt()
            self._fail(f"unexpected {self._curr.text!r}", hint=hint)
        return found

    def condition_of(self, tokens: list[Token], sql: str) -> exp.Expr:
        """A condition by itself, as the text of a setting holds it."""
        self.reset()
        self.sql = sql
        self._chunks = [tokens]
        self._advance_chunk()
        found = self._expression_needed("a condition")
        if self._curr:
            self._fail(f"unexpected {self._curr.text!r}")
        return found

    def _parse_statement(self) -> exp.Expr | None:
        """Where sqlglot's own `parse` comes in: statements are ours, a bare expression is sqlglot's."""
        ours = self._is_word(*_BEGINNINGS) or self._at_query()
        return self._one_statement() if ours else super()._parse_statement()

    def _misspelt(self) -> str | None:
        """`SELECT a FORM s`: the word before was taken for an alias, but it is nearly a keyword."""
        word = self._prev.text.upper()
        guess = nearest(word, ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "JOIN", "WITH"))
        return f"did you mean {guess} instead of {self._prev.text}?" if guess and guess != word else None

    def _one_statement(self) -> exp.Expr:
        first = self._curr
        if self._at_notation():
            return self._spanned(self._notation(), first)
        keyword = first.text.upper() if first and first.token_type != TokenType.IDENTIFIER else ""
        parse = {
            "CREATE": self._create,
            "DROP": self._drop,
            "SET": self._set,
            "EXPLAIN": self._explain,
            "INSERT": self._insert,
            "UPDATE": self._update,
            "DELETE": self._delete,
            "ATTACH": self._attach,
            "DETACH": self._detach,
            "SHOW": self._show,
            "FLUSH": self._flush,
        }.get(keyword)
        if parse is not None:
            self._advance()
            return self._spanned(parse(), first)
        if self._at_query():
            return self._query()
        reset = "SET cpu_limit = DEFAULT and SET memory_limit = DEFAULT have the machine's limits again"
        self._expected("a statement", hint=reset if keyword == "RESET" else None)

    # -- extents ------------------------------------------------------------------------------------------------------

    def _create(self) -> exp.Expr:
        if self._word("QUERY"):
            name = self._name("the query's name")
            settings = self._settings()
            history = self._history()
            settings = settings or self._settings()
            self._need_word("AS")
            first = self._curr
            tags = self._word("ATTACH")
            query = self._spanned(self._attach(), first) if tags else self._query()
            return syntax.CreateQuery(this=name, query=query, settings=settings, **(history or self._history()))
        if self._word("FUNCTION"):
            return self._function()
        if self._word("TAG", "FUNCTION"):
            return syntax.CreateTagFunction(**self._function().args)
        if self._word("TAG"):
            return self._create_words()
        if self._word("CONNECTION", "POINT"):
            return self._connection_point()
        if self._word("SENSED", "STREAM"):
            kind = "sensed"
        elif self._word("STREAM"):
            kind = "pushed"
        elif self._word("TABLE"):
            kind = "stored"
        else:
            self._expected("SENSED STREAM, STREAM, TABLE, QUERY, FUNCTION, TAG or CONNECTION POINT")
        exists = self._word("IF", "NOT", "EXISTS") or None
        name = self._name(f"the {'table' if kind == 'stored' else 'stream'}'s name")
        columns = self._in_parentheses(lambda: self._list(self._attribute), "the columns")
        return syntax.Extent(this=name, kind=kind, columns=columns, exists=exists, **self._extent_clauses())

    def _connection_point(self) -> syntax.CreatePoint:
        exists = self._word("IF", "NOT", "EXISTS") or None
        name = self._name("the connection point's name")
        self._need_word("ON", hint="a connection point is on a stream or a query")
        on = self._name("a stream or a query")
        retain = self._retention() if self._word("RETAIN") else None
        return syntax.CreatePoint(this=name, on=on, retain=retain, exists=exists)

    def _function(self) -> syntax.CreateFunction:
        exists = self._word("IF", "NOT", "EXISTS") or None
        name = self._identifier("the function's name")
        arguments = self._in_parentheses(lambda: self._list(self._attribute), "the arguments")
        self._need_word("RETURNS")
        returns = self._type()
        self._need_word("USING")
        using = self._identifier("the language it is written in")
        options = None
        if self._word("OPTIONS"):
            options = self._in_parentheses(lambda: self._list(self._option), "the options")
        return syntax.CreateFunction(
            this=name, arguments=arguments, returns=returns, using=using, options=options, exists=exists
        )

    def _settings(self) -> list[syntax.Setting] | None:
        """WITH (priority = 3, …), between the name of a query and AS."""
        if not self._word("WITH"):
            return None
        found: list[syntax.Setting] = self._in_parentheses(lambda: self._list(self._setting), "the settings")
        return found

    def _setting(self) -> syntax.Setting:
        first = self._curr
        name = self._identifier("a setting")
        self._need(TokenType.EQ, f"= behind {name.name}")
        return self._spanned(syntax.Setting(this=name, value=self._constant(f"a value for {name.name}")), first)

    def _constant(self, what: str) -> exp.Expr:
        first = self._curr
        if first and first.token_type in (TokenType.STRING, TokenType.RAW_STRING):
            return self._string(what)
        negative = self._match(TokenType.DASH)
        token = self._curr
        if not token or token.token_type != TokenType.NUMBER:
            self._expected(f"{what}: a number, or a text in quotes")
        self._advance()
        number = exp.Literal.number(token.text)
        return self._spanned(exp.Neg(this=number) if negative else number, first)

    def _history(self) -> dict[str, Any]:
        """FROM HISTORY [SINCE …], before AS or behind the query."""
        if not self._word("FROM", "HISTORY"):
            return {}
        return {"history": True, "since": self._primary_of_start() if self._word("SINCE") else None}

    def _attribute(self) -> syntax.Attribute:
        first = self._curr
        name = self._identifier("a column's name")
        self._match(TokenType.COLON)
        type_ = self._type()
        comment = self._string("the column's comment in quotes") if self._word("COMMENT") else None
        return self._spanned(syntax.Attribute(this=name, type_=type_, comment=comment), first)

    def _type(self) -> exp.DataType:
        first = self._curr
        if not first:
            self._expected("a type")
        found = self._parse_types(check_func=False, schema=True)
        if not isinstance(found, exp.DataType):
            self._fail(f"expected a type, found {first.text!r}", first)
        return self._spanned(found, first)

    def _extent_clauses(self) -> dict[str, Any]:
        clauses: dict[str, Any] = {}
        while True:
            first = self._curr
            if self._word("SITES"):
                key, value = "sites", self._in_parentheses(lambda: self._list(self._whole_number), "the sites")
            elif self._word("EVERY"):
                key, value = "every", self._duration()
            elif self._word("TIMESTAMP", "BY"):
                key, value = "timestamp", self._identifier("a column")
            elif self._word("KEY"):
                names = self._in_parentheses(lambda: self._list(lambda: self._identifier("a column")), "the key")
                key, value = "key", names
            elif self._word("RETAIN"):
                key, value = "retain", self._retention()
            elif self._word("USING"):
                key, value = "using", self._identifier("a format").name.lower()
            elif self._word("OPTIONS"):
                key, value = "options", self._in_parentheses(lambda: self._list(self._option), "the options")
            else:
                return clauses
            if key in clauses:
                self._fail(f"{first.text.upper()} is given twice", first)
            clauses[key] = value

    def _retention(self) -> exp.Expr:
        """`10 MIN`, `'10 minutes'`, `INTERVAL '10' MINUTE`, or a number alone: that many ticks."""
        first = self._curr
        if not first:
            self._expected(_RETENTION)
        if first.token_type == TokenType.NUMBER:
            number = self._whole_number(_RETENTION)
            # in the papers' notation the next extent may be called `s`, which is a unit too
            if self._curr and self._curr.text.upper() in UNITS and not self._at_notation():
                return self._spanned(syntax.Duration(this=number, unit=self._unit()), first)
            return self._spanned(exp.Literal.number(number), first)
        if first.token_type in (TokenType.STRING, TokenType.RAW_STRING):
            return self._string(_RETENTION)
        if self._word("INTERVAL"):
            return self._spanned(self._interval_constant(), first)
        if self._match(TokenType.DASH):
            self._fail("nothing can be retained for a negative time", first)
        self._expected(_RETENTION)

    def _interval_constant(self) -> exp.Interval:
        """What stands behind INTERVAL; sqlglot would take the keyword of the next clause for a unit."""
        token = self._curr
        if not token or token.token_type not in (TokenType.STRING, TokenType.NUMBER):
            self._expected("a number in quotes, as in INTERVAL '10' MINUTE")
        self._advance()
        unit: exp.Expr | None = self._interval_unit() if self._at_interval_unit() else None
        if unit is not None and self._word("TO"):
            if not self._at_interval_unit():
                self._expected("a unit of time")
            unit = exp.IntervalSpan(this=unit, expression=self._interval_unit())
        return exp.Interval(this=exp.Literal.string(token.text), unit=unit)

    def _at_interval_unit(self) -> bool:
        return self._is_word(*_INTERVAL_UNITS, *(f"{unit}S" for unit in _INTERVAL_UNITS))

    def _interval_unit(self) -> exp.Var:
        self._advance()
        return exp.var(self._prev.text.upper().removesuffix("S"))

    def _option(self) -> syntax.Option:
        first = self._curr
        if not first:
            self._expected("an option")
        if first.token_type == TokenType.STRING:
            self._advance()
            key = first.text
        else:
            key = self._name("an option").text_form
        self._match(TokenType.EQ)
        token = self._curr
        if not token or token.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            self._expected(f"a value for {key}")
        self._advance()
        return self._spanned(syntax.Option(this=key, value=token.text), first)

    def _at_notation(self) -> bool:
        """`road: sensed (` of SNEEql, or `ClosingStockPrices( long timestamp;` of TelegraphCQ."""
        if not self._curr or self._curr.token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
            return False
        ahead = 1
        while self._is_word(".", ahead=ahead):
            ahead += 2
        if self._is_word(":", ahead=ahead) and self._is_word(*_KINDS, ahead=ahead + 1):
            return True
        return self._is_word("(", ahead=ahead) and not self._at_query()

    def _notation(self) -> syntax.Extent:
        name = self._name()
        if self._match(TokenType.COLON):
            kind = _KINDS[self._curr.text.upper()]
            self._advance()
            columns = self._in_parentheses(lambda: self._list(self._attribute), "the columns")
        else:
            kind = "pushed"
            columns = self._in_parentheses(self._typed_first, "the columns")
        return syntax.Extent(this=name, kind=kind, columns=columns, **self._extent_clauses())

    def _typed_first(self) -> list[syntax.Attribute]:
        """`long timestamp; char(4) stockSymbol;`: the type comes first, a semicolon ends each column."""
        columns = []
        while self._curr and not self._match(TokenType.R_PAREN, advance=False):
            first = self._curr
            type_ = self._type()
            columns.append(self._spanned(syntax.Attribute(this=self._identifier(), type_=type_), first))
            if not self._match(TokenType.SEMICOLON) and not self._match(TokenType.R_PAREN, advance=False):
                self._expected("; after the column")
        if not columns:
            self._expected("a column")
        return columns

    # -- small statements ---------------------------------------------------------------------------------------------

    def _drop(self) -> syntax.Drop | syntax.DropQueries | syntax.DropWords:
        if self._word("QUERIES"):
            self._need_word("LIKE", hint="DROP QUERY drops one by its name")
            return syntax.DropQueries(this=self._string("a pattern in quotes"))
        for kind in ("QUERY", "STREAM", "TABLE", "FUNCTION"):
            if self._word(kind):
                exists = self._word("IF", "EXISTS") or None
                name = self._name(f"a {kind.lower()}'s name")
                cascade = self._cascade() if kind == "QUERY" else None
                return syntax.Drop(this=name, kind=kind, exists=exists, cascade=cascade)
        if self._word("TAG", "FUNCTION"):
            exists = self._word("IF", "EXISTS") or None
            return syntax.Drop(this=self._name("a tag function's name"), kind="TAG FUNCTION", exists=exists)
        if self._word("TAG"):
            return self._drop_words()
        if self._word("CONNECTION", "POINT"):
            exists = self._word("IF", "EXISTS") or None
            return syntax.Drop(this=self._name("a connection point's name"), kind="CONNECTION POINT", exists=exists)
        self._expected("QUERY, QUERIES, STREAM, TABLE, FUNCTION, TAG or CONNECTION POINT")

    def _cascade(self) -> bool | None:
        """Whether connection points go with their query; that they do not may be said too."""
        cascade = self._word("CASCADE")
        if not cascade:
            self._word("RESTRICT")
        return cascade or None

    def _show(self) -> exp.Expr:
        if self._word("CONNECTION", "POINTS"):
            if self._is_word("OF", "ON"):
                hint = "the column `on` of the list says where each is"
                self._expected("LIKE 'pattern', which chooses points by their own names", hint)
            return syntax.ShowPoints(this=self._pattern_asked())
        if self._word("FUNCTIONS"):
            return syntax.ShowFunctions(this=self._pattern_asked())
        if self._word("QUERIES"):
            return syntax.ShowQueries(this=self._pattern_asked())
        if self._word("REVISIONS"):
            return self._revisions_asked()
        if self._word("TAGS"):
            return self._tags_asked()
        self._expected("QUERIES, FUNCTIONS, REVISIONS, TAGS or CONNECTION POINTS")

    def _revisions_asked(self) -> syntax.ShowRevisions:
        name = self._name("a stream or query") if self._word("OF") else None
        since = self._primary_of_start() if self._word("SINCE") else None
        limit = exp.Literal.number(self._whole_number("how many at most")) if self._word("LIMIT") else None
        return syntax.ShowRevisions(this=name, since=since, limit=limit)

    def _flush(self) -> syntax.FlushRevisions:
        self._need_word("REVISIONS", hint="write FLUSH REVISIONS, or FLUSH REVISIONS OF a query")
        return syntax.FlushRevisions(this=self._name("a query") if self._word("OF") else None)

    def _set(self) -> syntax.SetTick | syntax.SetLimit:
        if limit := next((word for word in ("CPU_LIMIT", "MEMORY_LIMIT") if self._word(word)), None):
            if self._is_word("TO"):
                self._expected(
                    "=", hint=f"write SET {limit.lower()} = …, or SET {limit.lower()} = DEFAULT for the machine's"
                )
            self._match(TokenType.EQ)
            given = None if self._word("DEFAULT") else self._constant(f"a value for {limit.lower()}")
            return syntax.SetLimit(this=limit.lower(), value=given)
        self._need_word("TICK", hint="there is SET TICK '1 second', SET cpu_limit = 2 and SET memory_limit = '4 GB'")
        self._match(TokenType.EQ)
        return syntax.SetTick(this=self._string("the length of a tick, such as '1 second'"))

    def _explain(self) -> syntax.Explain:
        mode = next((word for word in ("ALGEBRA", "ANALYZE") if self._word(word)), None)
        if self._is_word("ATTACH"):
            first = self._curr
            self._advance()
            return syntax.Explain(this=self._spanned(self._attach(), first), mode=mode)
        if self._is_word(*_BEGINNINGS) and not self._at_query() and self._next:  # alone it may be the name of a query
            self._fail("EXPLAIN takes a query, or the name of one that stands", hint="write the SELECT alone")
        target = self._query() if self._at_query() else self._name("a query")
        return syntax.Explain(this=target, mode=mode)

    # -- corrections --------------------------------------------------------------------------------------------------

    def _insert(self) -> syntax.InsertRows:
        self._need_word("INTO")
        name = self._name("a stream or table")
        columns = None
        if self._match(TokenType.L_PAREN, advance=False):
            columns = self._in_parentheses(lambda: self._list(lambda: self._identifier("a column")), "the columns")
        self._need_word("VALUES")
        return syntax.InsertRows(this=name, columns=columns, rows=self._list(self._row))

    def _row(self) -> exp.Tuple:
        first = self._curr
        values = self._in_parentheses(lambda: self._list(lambda: self._expression_needed("a value")), "the row")
        return self._spanned(exp.Tuple(expressions=values), first)

    def _update(self) -> syntax.UpdateRows:
        name = self._name("a stream")
        self._need_word("SET")
        assignments = self._list(self._assignment)
        where = self._expression_needed("a condition") if self._word("WHERE") else None
        return syntax.UpdateRows(this=name, assignments=assignments, where=where)

    def _assignment(self) -> exp.EQ:
        first = self._curr
        column = self._identifier("a column")
        self._need(TokenType.EQ, "= after the column")
        value = self._expression_needed("a value")
        return self._spanned(exp.EQ(this=column, expression=value), first)

    def _delete(self) -> syntax.DeleteRows:
        self._need_word("FROM")
        name = self._name("a stream")
        return syntax.DeleteRows(
            this=name, where=self._expression_needed("a condition") if self._word("WHERE") else None
        )
