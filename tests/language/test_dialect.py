"""The language as a sqlglot dialect: sqlglot's own entry points read and write it."""

from __future__ import annotations

import sqlglot

from eddyline.language import parse_statement, syntax
from eddyline.language.dialect import Eddyline


def test_sqlglot_parses_and_prints_it() -> None:
    sql = "ISTREAM(SELECT a FROM s [FROM NOW-5 TO NOW SLIDE 1 MIN] WHERE a > 1)"
    tree = sqlglot.parse_one(sql, dialect=Eddyline)
    assert tree == parse_statement(sql)
    assert tree.sql(dialect=Eddyline) == sql


def test_several_statements() -> None:
    trees = sqlglot.parse("CREATE TABLE d (a INTEGER); SELECT a FROM d", dialect=Eddyline)
    assert [type(tree) for tree in trees] == [syntax.Extent, syntax.SelectQuery]
