"""Syntax trees as SQL that parses to the same tree; with `pretty`, laid out for people."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generators.spark import SparkGenerator

from eddyline.language import suffix, syntax

_TAB = "  "


def to_sql(tree: exp.Expr, pretty: bool = False) -> str:
    """A statement, query or expression as text.

    >>> from eddyline.language import parse_statement
    >>> to_sql(parse_statement("select a from s [from now-5 to now slide 1 minute] where a>1"))
    'SELECT a FROM s [FROM NOW-5 TO NOW SLIDE 1 MIN] WHERE a > 1'
    """
    from eddyline.language.dialect import Eddyline

    return Printer(dialect=Eddyline(), pretty=pretty, normalize_functions=False, comments=False).generate(tree)


class Printer(SparkGenerator):
    """sqlglot prints the expressions, the functions below print our nodes."""

    # as the documents write it; Spark knows both
    TYPE_MAPPING: ClassVar[dict[Any, str]] = {**SparkGenerator.TYPE_MAPPING, exp.DType.INT: "INTEGER"}

    def _separator(self) -> str:
        return "\n" if self.pretty else " "

    def _items(self, nodes: Iterable[Any] | None) -> list[str]:
        return [
            node if isinstance(node, str) else str(node) if isinstance(node, int) else self.sql(node)
            for node in nodes or ()
        ]

    def _comma(self, nodes: Iterable[Any] | None) -> str:
        return ", ".join(self._items(nodes))

    def _block(self, inner: str) -> str:
        """A sub-query in parentheses, indented if pretty."""
        return f"(\n{textwrap.indent(inner, _TAB)}\n)" if self.pretty else f"({inner})"

    # -- statements ---------------------------------------------------------------------------------------------------

    def _extent(self, e: syntax.Extent) -> str:
        kind = {"sensed": "SENSED STREAM", "pushed": "STREAM", "stored": "TABLE"}[e.args["kind"]]
        exists = " IF NOT EXISTS" if e.args.get("exists") else ""
        parts = [f"CREATE {kind}{exists} {self.sql(e, 'this')} ({self._comma(e.args['columns'])})"]
        clauses = []
        if e.args.get("sites"):
            clauses.append(f"SITES ({self._comma(e.args['sites'])})")
        if e.args.get("every"):
            clauses.append(f"EVERY {self.sql(e, 'every')}")
        if e.args.get("key"):
            clauses.append(f"KEY ({self._comma(e.args['key'])})")
        if e.args.get("timestamp"):
            clauses.append(f"TIMESTAMP BY {self.sql(e, 'timestamp')}")
        if e.args.get("retain"):
            clauses.append(f"RETAIN {self.sql(e, 'retain')}")
        if e.args.get("using"):
            clauses.append(f"USING {e.args['using']}")
        if e.args.get("options"):
            clauses.append(f"OPTIONS ({self._comma(e.args['options'])})")
        if clauses:
            parts.append((_TAB if self.pretty else "") + " ".join(clauses))
        return self._separator().join(parts)

    def _attribute(self, e: syntax.Attribute) -> str:
        comment = f" COMMENT {self.sql(e, 'comment')}" if e.args.get("comment") else ""
        return f"{self.sql(e, 'this')} {self.sql(e, 'type_')}{comment}"

    def _option(self, e: syntax.Option) -> str:
        key = e.args["this"]
        return f"{key if key.isidentifier() else _quoted(key)} {_quoted(e.args['value'])}"

    def _create_query(self, e: syntax.CreateQuery) -> str:
        since = f" SINCE {self.sql(e, 'since')}" if e.args.get("since") else ""
        history = f" FROM HISTORY{since}" if e.args.get("history") else ""
        settings = f" WITH ({self._comma(e.args['settings'])})" if e.args.get("settings") else ""
        return f"CREATE QUERY {self.sql(e, 'this')}{settings}{history} AS{self._separator()}{self.sql(e, 'query')}"

    def _flush_revisions(self, e: syntax.FlushRevisions) -> str:
        return f"FLUSH REVISIONS OF {self.sql(e, 'this')}" if e.args.get("this") else "FLUSH REVISIONS"

    def _set_limit(self, e: syntax.SetLimit) -> str:
        return f"SET {e.args['this']} = {self.sql(e, 'value') if e.args.get('value') else 'DEFAULT'}"

    def _setting(self, e: syntax.Setting) -> str:
        return f"{self.sql(e, 'this')} = {self.sql(e, 'value')}"

    def _create_function(self, e: syntax.CreateFunction) -> str:
        exists = "IF NOT EXISTS " if e.args.get("exists") else ""
        arguments = self._comma(e.args["arguments"])
        what = "TAG FUNCTION" if isinstance(e, syntax.CreateTagFunction) else "FUNCTION"
        head = f"CREATE {what} {exists}{self.sql(e, 'this')}({arguments}) RETURNS {self.sql(e, 'returns')}"
        options = f" OPTIONS ({self._comma(e.args['options'])})" if e.args.get("options") else ""
        indent = _TAB if self.pretty else ""
        return f"{head}{self._separator()}{indent}USING {self.sql(e, 'using')}{options}"

    def _drop_statement(self, e: syntax.Drop) -> str:
        exists = "IF EXISTS " if e.args.get("exists") else ""
        return f"DROP {e.args['kind']} {exists}{self.sql(e, 'this')}{' CASCADE' if e.args.get('cascade') else ''}"

    def _create_words(self, e: syntax.CreateWords) -> str:
        head = f"CREATE TAG {e.args['kind']}{' IF NOT EXISTS' if e.args.get('exists') else ''}"
        words = self._comma(e.args["words"])
        if e.args["kind"] == "ACRONYM":
            return f"{head} {self.sql(e, 'this')} AS {words}"
        return f"{head} {self.sql(e, 'this')} ({words})" if e.args.get("this") else f"{head} ({words})"

    def _drop_words(self, e: syntax.DropWords) -> str:
        exists = " IF EXISTS" if e.args.get("exists") else ""
        return f"DROP TAG {e.args['kind']}{exists} {self.sql(e, 'this')}"

    def _create_point(self, e: syntax.CreatePoint) -> str:
        exists = " IF NOT EXISTS" if e.args.get("exists") else ""
        retain = f" RETAIN {self.sql(e, 'retain')}" if e.args.get("retain") else ""
        return f"CREATE CONNECTION POINT{exists} {self.sql(e, 'this')} ON {self.sql(e, 'on')}{retain}"

    def _show(self, what: str, e: exp.Expr) -> str:
        return f"SHOW {what} LIKE {self.sql(e, 'this')}" if e.this else f"SHOW {what}"

    def _show_revisions(self, e: syntax.ShowRevisions) -> str:
        parts = {"OF": "this", "SINCE": "since", "LIMIT": "limit"}
        return "SHOW REVISIONS" + "".join(
            f" {word} {self.sql(e, arg)}" for word, arg in parts.items() if e.args.get(arg)
        )

    def _show_tags(self, e: syntax.ShowTags) -> str:
        parts = {"OF": "this", "LIKE": "pattern"}
        return "SHOW TAGS" + "".join(f" {word} {self.sql(e, arg)}" for word, arg in parts.items() if e.args.get(arg))

    def _explain(self, e: syntax.Explain) -> str:
        mode = f"{e.args['mode']} " if e.args.get("mode") else ""
        return f"EXPLAIN {mode}{self.sql(e, 'this')}"

    def _insert(self, e: syntax.InsertRows) -> str:
        columns = f" ({self._comma(e.args['columns'])})" if e.args.get("columns") else ""
        rows = f",{self._separator()}{_TAB if self.pretty else ''}".join(self._items(e.args["rows"]))
        return (
            f"INSERT INTO {self.sql(e, 'this')}{columns} VALUES{self._separator()}{_TAB if self.pretty else ''}{rows}"
        )

    def _where(self, e: exp.Expr) -> list[str]:
        return [f"WHERE {self.sql(e, 'where')}"] if e.args.get("where") else []

    def _update(self, e: syntax.UpdateRows) -> str:
        parts = [f"UPDATE {self.sql(e, 'this')} SET {self._comma(e.args['assignments'])}", *self._where(e)]
        return self._separator().join(parts)

    def _delete(self, e: syntax.DeleteRows) -> str:
        return self._separator().join([f"DELETE FROM {self.sql(e, 'this')}", *self._where(e)])

    def _attach(self, e: syntax.AttachTag) -> str:
        parts = [f"ATTACH TAG {self.sql(e, 'this')}"]
        if e.args.get("continuously"):
            parts.append("CONTINUOUSLY")
        parts.append(f"TO {self._comma(e.args['targets'])}")
        where = e.args.get("where")
        if where is not None:
            condition = self.sql(where)
            parts.append(f"WHERE {self._block(condition) if isinstance(where, syntax.Query) else condition}")
        fields = []
        if e.args.get("sign"):
            fields.append(f"TAG_SIGN = {self.sql(e, 'sign')}")
        if e.args.get("lifespan"):
            lifespan = e.args["lifespan"]
            text = "I" if isinstance(lifespan, exp.Literal) and lifespan.name == "I" else self.sql(lifespan)
            fields.append(f"TAG_LIFESPAN = {text}")
        if e.args.get("mode"):
            mode = e.args["mode"].name
            fields.append(f"TAG_MODE = {mode if mode in ('OVERWRITE', 'COMBINE') else _quoted(mode)}")
        if fields:
            parts.append(f"WITH {' AND '.join(fields)}")
        return self._separator().join(parts)

    def _detach(self, e: syntax.DetachTag) -> str:
        parts = [f"DETACH TAG {self.sql(e, 'this')} FROM {self._comma(e.args['targets'])}", *self._where(e)]
        return self._separator().join(parts)

    # -- queries ------------------------------------------------------------------------------------------------------

    def _select(self, e: syntax.SelectQuery) -> str:
        parts = []
        if e.args.get("ctes"):
            parts.append("WITH " + f",{self._separator()}".join(self._items(e.args["ctes"])))
        distinct = "DISTINCT " if e.args.get("distinct") else ""
        parts.append(f"SELECT {distinct}{self._comma(e.expressions)}")
        if e.args.get("sources"):
            parts.append("FROM " + "".join(self._items(e.args["sources"])))
        parts += self._where(e)
        if e.args.get("group"):
            parts.append(f"GROUP BY {self._comma(e.args['group'])}")
        if e.args.get("having"):
            parts.append(f"HAVING {self.sql(e, 'having')}")
        if e.args.get("order"):
            parts.append(f"ORDER BY {self._comma(e.args['order'])}")
        for clause in ("limit", "offset"):
            if e.args.get(clause) is not None:
                parts.append(f"{clause.upper()} {e.args[clause]}")
        parts += self._items(e.args.get("loops"))
        if e.args.get("with_tags"):
            parts.append("WITH TAGS")
        return self._separator().join(parts)

    def _source(self, e: syntax.Source) -> str:
        this = e.this
        text = self._block(self.sql(this)) if isinstance(this, syntax.SelectQuery) else self.sql(this)
        if e.args.get("window"):
            text += f" {self.sql(e, 'window')}"
        if e.args.get("alias"):
            text += f" AS {self.sql(e, 'alias')}"
        if e.args.get("on"):
            on = e.args["on"]
            text += f" ON {'TAGS ' if isinstance(on, syntax.TagCondition) else ''}{self.sql(on)}"
        if e.args.get("using"):
            text += f" USING ({self._comma(e.args['using'])})"
        join = e.args.get("join")
        if join is None:
            return text
        indent = f"\n{_TAB}" if self.pretty else " "
        return f",{indent}{text}" if join == "COMMA" else f"{indent}{_JOINS[join]} {text}"

    def _group_condition(self, e: syntax.TagCondition) -> str:
        threshold = f"({self.sql(e, 'threshold')})" if e.args.get("threshold") else ""
        untagged = " WITH UNTAGGED" if e.args.get("untagged") else ""
        grouping = "TAG " if isinstance(e.parent, syntax.SelectQuery) else ""
        name = e.args["this"]
        shown = name if name.isidentifier() else f"`{name}`"
        return f"{grouping}{shown}{threshold}{untagged}"

    def _order_key(self, e: syntax.OrderKey) -> str:
        descending, nulls_first = bool(e.args.get("descending")), bool(e.args.get("nulls_first"))
        text = self.sql(e, "this") + (" DESC" if descending else "")
        if nulls_first == descending:
            text += " NULLS FIRST" if nulls_first else " NULLS LAST"
        return text

    # -- windows and loops --------------------------------------------------------------------------------------------

    def _slide_window(self, e: syntax.SlideWindow) -> str:
        start, end = _offset(e.args["start"]), _offset(e.args["end"])
        return f"[FROM {start} TO {end} SLIDE {e.args['slide']} {e.args['unit']}]"

    def _range_window(self, e: syntax.RangeWindow) -> str:
        slide = f" SLIDE {self.sql(e, 'slide')}" if e.args.get("slide") else ""
        return f"[RANGE {self.sql(e, 'this')}{slide}]"

    def _rows_window(self, e: syntax.RowsWindow) -> str:
        partition = f"PARTITION BY {self._comma(e.args['partition'])} " if e.args.get("partition") else ""
        return f"[{partition}ROWS {e.args['this']}]"

    def _hop_window(self, e: syntax.HopWindow) -> str:
        slide = f" SLIDE BY {self.sql(e, 'slide')}" if e.args.get("slide") else ""
        start = f" START AT {self.sql(e, 'start')}" if e.args.get("start") else ""
        return f"[RANGE BY {self.sql(e, 'range')}{slide}{start}]"

    def _loop(self, e: syntax.Loop) -> str:
        variable = e.args["variable"]
        initial = f"{variable} = {self.sql(e, 'initial')}" if e.args.get("initial") else ""
        condition = self.sql(e, "condition") if e.args.get("condition") else ""
        change = f"{variable} = {self.sql(e, 'change')}" if e.args.get("change") else ""
        inner = self._separator().join(
            f"{_TAB if self.pretty else ''}{window};" for window in self._items(e.args["windows"])
        )
        return f"for ({initial}; {condition}; {change}) {{{self._separator()}{inner}{self._separator()}}}"

    def _window_is(self, e: syntax.WindowIs) -> str:
        return f"WindowIs({self.sql(e, 'this')}, {self.sql(e, 'left')}, {self.sql(e, 'right')})"

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[..., str]]] = {
        **SparkGenerator.TRANSFORMS,
        exp.Paren: lambda self, e: f"({self.sql(e, 'this')})",  # on one line, also when pretty
        # what was a number must not come back as a cast: the digits of -9223372036854775808L alone are no BIGINT
        exp.Cast: lambda self, e: suffix.written(e) or self.cast_sql(e),
        exp.Concat: lambda self, e: " ".join(self._items(e.expressions)),  # 'a' 'b': one text in two pieces
        syntax.Name: lambda self, e: ".".join(self._items(e.expressions)),
        syntax.Duration: lambda self, e: f"{e.args['this']} {e.args['unit']}",
        syntax.Extent: _extent,
        syntax.Attribute: _attribute,
        syntax.Option: _option,
        syntax.Setting: _setting,
        syntax.CreateQuery: _create_query,
        syntax.CreateFunction: _create_function,
        syntax.CreateTagFunction: _create_function,
        syntax.CreateWords: _create_words,
        syntax.DropWords: _drop_words,
        syntax.Drop: _drop_statement,
        syntax.DropQueries: lambda self, e: f"DROP QUERIES LIKE {self.sql(e, 'this')}",
        syntax.ShowQueries: lambda self, e: self._show("QUERIES", e),
        syntax.ShowFunctions: lambda self, e: self._show("FUNCTIONS", e),
        syntax.ShowRevisions: _show_revisions,
        syntax.FlushRevisions: _flush_revisions,
        syntax.CreatePoint: _create_point,
        syntax.ShowTags: _show_tags,
        syntax.ShowPoints: lambda self, e: self._show("CONNECTION POINTS", e),
        syntax.SetTick: lambda self, e: f"SET TICK {self.sql(e, 'this')}",
        syntax.SetLimit: _set_limit,
        syntax.Explain: _explain,
        syntax.InsertRows: _insert,
        syntax.UpdateRows: _update,
        syntax.DeleteRows: _delete,
        syntax.AttachTag: _attach,
        syntax.DetachTag: _detach,
        syntax.SelectQuery: _select,
        syntax.ToStream: lambda self, e: f"{e.args['kind']}{self._block(self.sql(e, 'this'))}",
        syntax.Definition: lambda self, e: f"{self.sql(e, 'this')} AS {self._block(self.sql(e, 'query'))}",
        syntax.Tags: lambda self, e: "TAGS",
        syntax.TaggedObjects: lambda self, e: "TAGGED OBJECTS",
        syntax.Source: _source,
        syntax.TagsOf: lambda self, e: f"TAGS OF {self.sql(e, 'this')}",
        syntax.TagCondition: _group_condition,
        syntax.OrderKey: _order_key,
        syntax.SlideWindow: _slide_window,
        syntax.ScanWindow: lambda self, e: f"[SCAN {self.sql(e, 'this')}]",
        syntax.NowWindow: lambda self, e: "[NOW]",
        syntax.UnboundedWindow: lambda self, e: "[UNBOUNDED]",
        syntax.RangeWindow: _range_window,
        syntax.RowsWindow: _rows_window,
        syntax.RecentWindow: lambda self, e: f"[{self.sql(e, 'this')}]",
        syntax.HopWindow: _hop_window,
        syntax.Loop: _loop,
        syntax.WindowIs: _window_is,
    }


_JOINS = {
    "INNER": "JOIN",
    "CROSS": "CROSS JOIN",
    "NATURAL": "NATURAL JOIN",
    "LEFT": "LEFT JOIN",
    "RIGHT": "RIGHT JOIN",
    "FULL": "FULL JOIN",
}


def _offset(distance: int) -> str:
    return f"NOW-{distance}" if distance else "NOW"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
