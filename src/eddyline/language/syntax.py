"""The nodes of the syntax tree that are ours: statements, queries, windows, loops and tag clauses.

Expressions are sqlglot's own nodes. Every node compares by structure and carries its place in the text in `meta`
(`start`, `end`, the latter inclusive, as sqlglot keeps them).
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

# -- names and durations ----------------------------------------------------------------------------------------------

#: marks the cast that `DATE '…'` is to sqlglot
CONSTANT = "constant"


class Name(exp.Expression):
    """A possibly qualified name (`network.tcpdump`); `expressions` are its identifiers."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(identifier.name for identifier in self.expressions)

    @property
    def text_form(self) -> str:
        return ".".join(self.parts)


class Duration(exp.Expression):
    """A number and a unit: MS, SEC, MIN, HOUR, DAY or ROWS."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "unit": True}


# -- statements -------------------------------------------------------------------------------------------------------


class Extent(exp.Expression):
    """CREATE [SENSED] STREAM, CREATE TABLE, or a paper's schema notation. `kind`: sensed, pushed or stored.

    `retain`: a number of ticks, a Duration, a length in quotes or an INTERVAL.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "columns": True,
        "sites": False,
        "every": False,
        "timestamp": False,
        "key": False,
        "retain": False,
        "using": False,
        "options": False,
        "exists": False,
    }


class Attribute(exp.Expression):
    """One column of an extent: a name, a type and perhaps a comment."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "type_": True, "comment": False}


class Option(exp.Expression):
    """A key and a value of OPTIONS (…)."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "value": True}


class Setting(exp.Expression):
    """A name and a constant of WITH (name = constant, …)."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "value": True}


class CreateQuery(exp.Expression):
    """CREATE QUERY name [WITH (setting = constant, …)] [FROM HISTORY [SINCE tick-or-time]] AS query."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "query": True,
        "settings": False,
        "history": False,
        "since": False,
    }


class CreateFunction(exp.Expression):
    """CREATE FUNCTION name (argument type, …) RETURNS type USING python OPTIONS (…)."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "arguments": True,
        "returns": True,
        "using": True,
        "options": False,
        "exists": False,
    }


class CreateTagFunction(CreateFunction):
    """CREATE TAG FUNCTION name (a STRING, b STRING) RETURNS BOOLEAN or DOUBLE USING python OPTIONS (…)."""


class CreateWords(exp.Expression):
    """CREATE TAG GROUP name ('word', …), CREATE TAG SYNONYMS ('word', …), CREATE TAG ACRONYM 'GFC' AS 'meaning', ….

    `kind`: GROUP, SYNONYMS or ACRONYM; synonyms have no name but their first word.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "kind": True, "words": True, "exists": False}


class DropWords(exp.Expression):
    """DROP TAG GROUP name, DROP TAG SYNONYMS 'first word', DROP TAG ACRONYM 'GFC'."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "exists": False}


class Drop(exp.Expression):
    """DROP QUERY / STREAM / TABLE / FUNCTION / TAG FUNCTION / CONNECTION POINT; `cascade`: with what is on it."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "exists": False, "cascade": False}


class DropQueries(exp.Expression):
    """DROP QUERIES LIKE 'pattern'."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class ShowQueries(exp.Expression):
    """SHOW QUERIES [LIKE 'pattern']."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class ShowFunctions(exp.Expression):
    """SHOW FUNCTIONS [LIKE 'pattern']."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class ShowRevisions(exp.Expression):
    """SHOW REVISIONS [OF stream or query] [SINCE tick] [LIMIT n]."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "since": False, "limit": False}


class FlushRevisions(exp.Expression):
    """FLUSH REVISIONS [OF query]."""


class CreatePoint(exp.Expression):
    """CREATE CONNECTION POINT name ON stream_or_query [RETAIN …]; `retain` as that of an extent."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "on": True, "retain": False, "exists": False}


class ShowPoints(exp.Expression):
    """SHOW CONNECTION POINTS [LIKE 'pattern']."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class ShowTags(exp.Expression):
    """SHOW TAGS [OF stream] [LIKE 'pattern']."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "pattern": False}


class SetTick(exp.Expression):
    """SET TICK '1 second'."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class SetLimit(exp.Expression):
    """SET cpu_limit = 2, SET memory_limit = '4 GB'; without a value it is the machine's again."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "value": False}


class Explain(exp.Expression):
    """EXPLAIN [ALGEBRA | ANALYZE] query-or-name."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "mode": False}


class InsertRows(exp.Expression):
    """INSERT INTO name [(columns)] VALUES (…), (…)."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "columns": False, "rows": True}


class UpdateRows(exp.Expression):
    """UPDATE name SET column = value, … [WHERE condition]."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "assignments": True, "where": False}


class DeleteRows(exp.Expression):
    """DELETE FROM name [WHERE condition]."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "where": False}


class AttachTag(exp.Expression):
    """ATTACH TAG content [CONTINUOUSLY] TO targets [WHERE …] [WITH …]."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "targets": True,
        "continuously": False,
        "where": False,
        "sign": False,
        "lifespan": False,
        "mode": False,
    }


class DetachTag(exp.Expression):
    """DETACH TAG content FROM targets [WHERE …]."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "targets": True, "where": False}


# -- queries ----------------------------------------------------------------------------------------------------------


class Query(exp.Expression):
    """The base of what can stand where a query is expected."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class SelectQuery(Query):
    arg_types: ClassVar[dict[str, bool]] = {
        "ctes": False,
        "distinct": False,
        "expressions": True,
        "sources": False,
        "where": False,
        "group": False,
        "having": False,
        "order": False,
        "limit": False,
        "offset": False,
        "loops": False,
        "with_tags": False,
    }


class ToStream(Query):
    """RSTREAM(q), ISTREAM(q), DSTREAM(q)."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True}


class Definition(exp.Expression):
    """`name AS (query)` of a WITH clause."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "query": True}


class Tags(exp.Expression):
    """The select list of SELECT TAGS."""

    arg_types: ClassVar[dict[str, bool]] = {}


class TaggedObjects(exp.Expression):
    """The select list of SELECT TAGGED OBJECTS."""

    arg_types: ClassVar[dict[str, bool]] = {}


class Source(exp.Expression):
    """One item of FROM: a name or a sub-query, with a window and an alias, and how it joins those before it.

    `join`: absent for the first item, else COMMA, CROSS, INNER, LEFT, RIGHT, FULL or NATURAL.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "window": False,
        "alias": False,
        "join": False,
        "on": False,
        "using": False,
    }


class TagsOf(exp.Expression):
    """`TAGS OF stream` as an item of FROM: the tick-tags of a stream, as tuples."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class TagCondition(exp.Expression):
    """`ON TAGS function[(threshold)]` of a tag join; `GROUP BY TAG function[(threshold)] [WITH UNTAGGED]`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "threshold": False, "untagged": False}


class OrderKey(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "descending": False, "nulls_first": False}


# -- windows ----------------------------------------------------------------------------------------------------------


class WindowClause(exp.Expression):
    """The base of everything that can stand in brackets behind an item of FROM."""

    arg_types: ClassVar[dict[str, bool]] = {}


class SlideWindow(WindowClause):
    """[FROM NOW-a TO NOW-b SLIDE n unit]; `start` and `end` are a and b."""

    arg_types: ClassVar[dict[str, bool]] = {"start": True, "end": True, "slide": True, "unit": True}


class ScanWindow(WindowClause):
    """[SCAN n unit]."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class NowWindow(WindowClause):
    """[NOW]."""


class UnboundedWindow(WindowClause):
    """[UNBOUNDED]."""


class RangeWindow(WindowClause):
    """[RANGE n unit [SLIDE m unit]]."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "slide": False}


class RowsWindow(WindowClause):
    """[ROWS n], [PARTITION BY a, b ROWS n]."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition": False}


class RecentWindow(WindowClause):
    """[n unit], the sliding window of the tag paper."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class HopWindow(WindowClause):
    """[RANGE BY '…' [SLIDE BY '…'] [START AT '…']]."""

    arg_types: ClassVar[dict[str, bool]] = {"range": True, "slide": False, "start": False}


class Loop(exp.Expression):
    """for (variable = initial; condition; change) { WindowIs(…); … }."""

    arg_types: ClassVar[dict[str, bool]] = {
        "variable": True,
        "initial": False,
        "condition": False,
        "change": False,
        "windows": True,
    }


class WindowIs(exp.Expression):
    """WindowIs(stream, left, right)."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "left": True, "right": True}
