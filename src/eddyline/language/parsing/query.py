"""Queries: SELECT with its clauses, WITH, and the conversions to streams."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from eddyline.language import syntax
from eddyline.language.parsing.base import CLAUSE_WORDS
from eddyline.language.parsing.loop import LoopParser

STREAMERS = ("RSTREAM", "ISTREAM", "DSTREAM")
TAG_FUNCTIONS = ("EQUALITY", "DICTIONARY", "COOCCURRENCE", "JACCARD")


class QueryParser(LoopParser):
    def _at_query(self, ahead: int = 0) -> bool:
        """Whether a query starts here (behind any number of opening parentheses)."""
        while self._index + ahead < len(self._tokens):
            if self._tokens[self._index + ahead].token_type == TokenType.L_PAREN:
                ahead += 1
                continue
            if self._is_word(*STREAMERS, ahead=ahead):
                following = self._index + ahead + 1
                return following < len(self._tokens) and self._tokens[following].token_type == TokenType.L_PAREN
            return self._is_word("SELECT", "WITH", ahead=ahead)
        return False

    def _query(self) -> syntax.Query:
        if self._match(TokenType.L_PAREN):
            query = self._query()
            self._need(TokenType.R_PAREN, ") after the query")
            return self._tagged(query)
        if self._is_word(*STREAMERS):
            return self._tagged(self._to_stream())
        if self._is_word("WITH"):
            return self._with_definitions()
        if not self._is_word("SELECT"):
            self._expected("a query")
        query = self._select_query()
        if self._is_word("UNION", "INTERSECT", "EXCEPT", "MINUS"):
            self._fail(f"{self._curr.text.upper()} is not part of the language")
        return query

    def _tagged(self, query: syntax.Query) -> syntax.Query:
        """WITH TAGS behind what is in parentheses is about the query in them."""
        if self._word("WITH", "TAGS"):
            innermost(query).set("with_tags", True)
        return query

    def _to_stream(self) -> syntax.ToStream:
        first = self._curr
        kind = first.text.upper()
        self._advance()
        query = self._in_parentheses(self._query, f"the query of {kind}")
        return self._spanned(syntax.ToStream(this=query, kind=kind), first)

    def _with_definitions(self) -> syntax.Query:
        first = self._curr
        self._need_word("WITH")
        definitions = [self._definition()]
        # the released TelegraphCQ writes no comma between definitions
        while self._match(TokenType.COMMA) or not self._at_query():
            definitions.append(self._definition())
        query = self._query()
        innermost(query).set("ctes", definitions + (innermost(query).args.get("ctes") or []))
        return self._spanned(query, first)

    def _definition(self) -> syntax.Definition:
        first = self._curr
        name = self._identifier("a name for the query that follows")
        self._need_word("AS")
        query = self._in_parentheses(self._query, "the query")
        return self._spanned(syntax.Definition(this=name, query=query), first)

    def _select_query(self) -> syntax.SelectQuery:
        first = self._curr
        self._need_word("SELECT")
        args: dict[str, Any] = {"distinct": self._word("DISTINCT") or None}
        if not args["distinct"]:
            self._word("ALL")
        args["expressions"] = self._select_list()
        tags_early = self._word("WITH", "TAGS") if isinstance(args["expressions"][0], syntax.TaggedObjects) else False
        args["sources"] = self._sources() if self._word("FROM") else None
        args["where"] = self._expression_needed("a condition") if self._word("WHERE") else None
        args["group"] = self._group() if self._match(TokenType.GROUP_BY) else None
        args["having"] = self._expression_needed("a condition") if self._word("HAVING") else None
        args["order"] = self._list(self._order_key) if self._match(TokenType.ORDER_BY) else None
        args["limit"] = self._whole_number("a number of rows") if self._word("LIMIT") else None
        args["offset"] = self._whole_number("a number of rows") if self._word("OFFSET") else None
        args["loops"] = self._loops() or None
        args["with_tags"] = self._word("WITH", "TAGS") or tags_early or None
        if self._is_word("WITH") and self._is_word("TAG", ahead=1):
            self._fail("a query shows its rows with all their tags", hint="write WITH TAGS")
        if args["with_tags"] and not args["loops"]:
            args["loops"] = self._loops() or None
        return self._spanned(syntax.SelectQuery(**args), first)

    # -- the select list ----------------------------------------------------------------------------------------------

    def _select_list(self) -> list[exp.Expr]:
        first = self._curr
        if self._is_word("TAGS") and self._is_word("FROM", ahead=1):
            self._advance()
            return [self._spanned(syntax.Tags(), first)]
        if self._word("TAGGED", "OBJECTS"):
            return [self._spanned(syntax.TaggedObjects(), first)]
        return self._list(self._select_item)

    def _select_item(self) -> exp.Expr:
        first = self._curr
        if not first or self._is_word("FROM"):
            self._expected("a column")
        item = self._parse_expression()
        if item is None:
            self._expected("a column")
        # an unquoted word behind an expression is its alias, but FOR begins a loop
        return item if "start" in item.meta else self._spanned(item, first)

    # -- FROM ---------------------------------------------------------------------------------------------------------

    def _sources(self) -> list[syntax.Source]:
        sources = [self._source(None)]
        while True:
            if self._match(TokenType.COMMA):
                sources.append(self._source("COMMA"))
            elif (join := self._join_words()) is not None:
                sources.append(self._joined(join))
            else:
                return sources

    def _join_words(self) -> str | None:
        for kind in ("INNER", "CROSS", "NATURAL"):
            if self._word(kind, "JOIN"):
                return kind
        for kind in ("LEFT", "RIGHT", "FULL"):
            if self._word(kind, "OUTER", "JOIN") or self._word(kind, "JOIN"):
                return kind
        return "INNER" if self._word("JOIN") else None

    def _joined(self, join: str) -> syntax.Source:
        source = self._source(join)
        if join in ("CROSS", "NATURAL"):
            return source
        if self._word("ON", "TAGS"):
            source.set("on", self._tag_condition())
        elif self._word("ON"):
            source.set("on", self._expression_needed("a join condition"))
        elif self._word("USING"):
            columns = self._in_parentheses(lambda: self._list(lambda: self._identifier("a column")), "the columns")
            source.set("using", columns)
        else:
            self._expected("ON or USING after the joined input")
        return source

    def _source(self, join: str | None) -> syntax.Source:
        first = self._curr
        this: exp.Expr
        if self._is_word(*STREAMERS) and self._at_query():
            this = self._to_stream()
        elif self._match(TokenType.L_PAREN):
            this = self._query()
            self._need(TokenType.R_PAREN, ") after the sub-query")
        elif self._is_word("TAGS") and self._word("TAGS", "OF"):
            this = self._spanned(syntax.TagsOf(this=self._name("a stream")), first)
        else:
            this = self._name("a stream, a table or a sub-query")
        window = self._window()
        alias = self._alias()
        if window is None:
            window = self._window()  # the tag paper writes it behind the alias
        return self._spanned(syntax.Source(this=this, window=window, alias=alias, join=join), first)

    def _alias(self) -> exp.Identifier | None:
        if self._word("AS"):
            return self._identifier("an alias")
        if not self._curr or self._is_word(*CLAUSE_WORDS):
            return None
        token = self._curr
        found = self._parse_id_var(any_token=False, tokens=self.TABLE_ALIAS_TOKENS)
        return self._spanned(found, token) if isinstance(found, exp.Identifier) else None

    # -- grouping and order -------------------------------------------------------------------------------------------

    def _group(self) -> list[exp.Expr]:
        if self._is_word("TAG") and not self._is_word(",", ".", ahead=1):
            self._advance()
            return [self._tag_condition(default="EQUALITY")]
        return self._list(lambda: self._expression_needed("a column to group by"))

    def _tag_condition(self, default: str | None = None) -> syntax.TagCondition:
        first = self._curr or self._prev
        name = next((word for word in TAG_FUNCTIONS if self._word(word)), None)
        if name is None and self._curr and self._curr.token_type in (TokenType.VAR, TokenType.IDENTIFIER):
            name = self._identifier("a tag function").name  # one of the user's own
        if name is None and default is None:
            self._expected(f"a tag function ({', '.join(TAG_FUNCTIONS)}, or one of your own)")
        threshold = None
        if name is not None and self._match(TokenType.L_PAREN):
            threshold = self._number()
            self._need(TokenType.R_PAREN, ") after the threshold")
        untagged = self._word("WITH", "UNTAGGED") or None
        node = syntax.TagCondition(this=name or default, threshold=threshold, untagged=untagged)
        return self._spanned(node, first)

    def _number(self) -> exp.Expr:
        token = self._curr
        if not token or token.token_type != TokenType.NUMBER:
            self._expected("a number")
        self._advance()
        return exp.Literal.number(token.text)

    def _order_key(self) -> syntax.OrderKey:
        first = self._curr
        this = self._expression_needed("a column to order by")
        descending = self._word("DESC")
        if not descending:
            self._word("ASC")
        nulls_first = not descending  # Spark's default: NULL is the smallest
        if self._word("NULLS", "FIRST"):
            nulls_first = True
        elif self._word("NULLS", "LAST"):
            nulls_first = False
        return self._spanned(syntax.OrderKey(this=this, descending=descending, nulls_first=nulls_first), first)

    # -- where sqlglot's expressions meet our queries -----------------------------------------------------------------

    def _parse_select(self, *_: Any, **__: Any) -> exp.Expr | None:
        return self._query() if self._at_query() and not self._match(TokenType.L_PAREN, advance=False) else None


def innermost(query: syntax.Query) -> syntax.Query:
    """The SELECT of a query that may be made a stream."""
    while isinstance(query, syntax.ToStream):
        query = query.this
    return query
