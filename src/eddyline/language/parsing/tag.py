"""Tags: ATTACH and DETACH, the words of the dictionary, and the question what tags there are."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from eddyline.language import syntax
from eddyline.language.parsing.base import UNITS
from eddyline.language.parsing.query import QueryParser

_TAG_FIELDS = {"TAGSIGN": "sign", "TAGLIFESPAN": "lifespan", "TAGMODE": "mode"}


class TagParser(QueryParser):
    def _attach(self) -> syntax.AttachTag:
        self._need_word("TAG")
        content = self._string("the tag's content in quotes")
        continuously = self._word("CONTINUOUSLY")
        self._need_word("TO")
        targets = self._list(lambda: self._name("a stream, an attribute or an attribute's value"))
        if continuously and self._is_word("CONTINUOUSLY"):
            self._fail("CONTINUOUSLY is given twice")
        continuously = continuously or self._word("CONTINUOUSLY")
        where: exp.Expr | None = None
        if self._word("WHERE"):
            where = self._query() if self._at_query() else self._expression_needed("a condition")
        fields = self._tag_fields() if self._word("WITH") else {}
        return syntax.AttachTag(this=content, targets=targets, continuously=continuously or None, where=where, **fields)

    def _tag_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        while self._curr:
            token = self._curr
            key = _TAG_FIELDS.get(token.text.upper().replace("_", ""))
            if key is None:
                self._expected("TAG_SIGN, TAG_LIFESPAN or TAG_MODE")
            if key in fields:
                self._fail(f"{token.text.upper()} is given twice", token)
            self._advance()
            self._need(TokenType.EQ, f"= after {token.text}")
            fields[key] = {"sign": self._tag_sign, "lifespan": self._tag_lifespan, "mode": self._tag_mode}[key]()
            if not (self._word("AND") or self._match(TokenType.COMMA)) and not self._at_tag_field():
                break
        if not fields:
            self._expected("TAG_SIGN, TAG_LIFESPAN or TAG_MODE")
        return fields

    def _at_tag_field(self) -> bool:
        return bool(self._curr) and self._curr.text.upper().replace("_", "") in _TAG_FIELDS

    def _literal(self, text: str, first: Token) -> exp.Literal:
        return self._spanned(exp.Literal.string(text), first)

    def _tag_sign(self) -> exp.Literal:
        token = self._curr
        if not token:
            self._expected("'+' or '-'")
        self._advance()
        return self._literal(token.text, token)

    def _tag_mode(self) -> exp.Literal:
        token = self._curr
        if not token:
            self._expected("OVERWRITE or COMBINE")
        self._advance()
        mode = {"O": "OVERWRITE", "C": "COMBINE"}.get(token.text.upper(), token.text.upper())
        return self._literal(mode, token)

    def _tag_lifespan(self) -> exp.Expr:
        token = self._curr
        if not token:
            self._expected("a lifespan such as 30 MIN or I (instant)")
        if token.token_type == TokenType.NUMBER:
            return self._spanned(self._length_of_life(), token)
        negative = self._match(TokenType.DASH)
        if negative:
            self._fail("a tag cannot live for a negative time", token)
        self._advance()
        return self._literal("I" if token.text.upper() in ("I", "INSTANT") else token.text, token)

    def _length_of_life(self) -> syntax.Duration:
        """A lifespan is a length of time, so other units are offered than for windows."""
        number = self._whole_number("a whole number, such as 1500 MS or 30 MIN")
        unit = UNITS.get(self._curr.text.upper()) if self._curr else None
        if unit is None:
            self._expected("a unit (SEC, MIN, HOUR, DAY or MS)", hint="write e.g. 30 MIN, or I for an instant tag")
        self._advance()
        return syntax.Duration(this=number, unit=unit)

    def _detach(self) -> syntax.DetachTag:
        self._need_word("TAG")
        content = self._string("the tag's content in quotes")
        self._need_word("FROM", hint="write DETACH TAG 'content' FROM a stream, an attribute or an attribute's value")
        targets = self._list(lambda: self._name("a stream, an attribute or an attribute's value"))
        where = self._expression_needed("a condition") if self._word("WHERE") else None
        return syntax.DetachTag(this=content, targets=targets, where=where)

    def _tags_asked(self) -> syntax.ShowTags:
        stream = self._name("a stream") if self._word("OF") else None
        return syntax.ShowTags(this=stream, pattern=self._pattern_asked())

    def _pattern_asked(self) -> exp.Expr | None:
        return self._string("a pattern in quotes") if self._word("LIKE") else None

    # -- the dictionary -----------------------------------------------------------------------------------------------

    def _create_words(self) -> syntax.CreateWords:
        kind = self._kind_of_words("GROUP, SYNONYMS, ACRONYM or FUNCTION")
        exists = self._word("IF", "NOT", "EXISTS") or None
        name: exp.Expr | None = None
        if kind == "GROUP":
            name = self._identifier("the group's name")
        if kind == "ACRONYM":
            name = self._string("the acronym in quotes")
            self._need_word("AS", hint="write CREATE TAG ACRONYM 'GFC' AS 'going for coffee'")
            words = self._list(lambda: self._string("what it means, in quotes"))
        else:
            words = self._in_parentheses(lambda: self._list(lambda: self._string("a word in quotes")), "the words")
        return syntax.CreateWords(this=name, kind=kind, words=words, exists=exists)

    def _drop_words(self) -> syntax.DropWords:
        kind = self._kind_of_words("GROUP, SYNONYMS, ACRONYM or FUNCTION")
        exists = self._word("IF", "EXISTS") or None
        if kind == "GROUP":
            name: exp.Expr = self._identifier("the group's name")
        else:
            name = self._string("the acronym in quotes" if kind == "ACRONYM" else "the first of the words in quotes")
        return syntax.DropWords(this=name, kind=kind, exists=exists)

    def _kind_of_words(self, kinds: str) -> str:
        found = next((kind for kind in ("GROUP", "SYNONYMS", "ACRONYM") if self._word(kind)), None)
        return found if found is not None else self._expected(kinds)
