"""Spark SQL expressions as the kernel writes them.

Where both say different things in the same words, the difference is written out: division by zero is NULL, an average
adds up DOUBLEs, constants have types. What overflows is an error in the kernel; the stage then runs on Spark, whose
integers wrap around.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import count

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

#: functions that every connection of the kernel is given
MACROS = ("CREATE OR REPLACE MACRO pmod(a, b) AS ((a % b) + b) % b",)

#: a number that may differ from batch to batch: a tick, an index, the number of a batch. The one that is an INT with a
#: minus sign and a BIGINT without it stays what it is.
_NUMBER = re.compile(r"(?<![\w.'\"`])(?!2147483648\b)\d{2,}(?=L?\b)(?![\w.]*[.'\"`eED])")
_WORD = re.compile(r"\b\w+\b")
_INT, _BIGINT, _DOUBLE = (exp.DataType.build(name) for name in ("INT", "BIGINT", "DOUBLE"))
#: what stands for it in texts that are remembered: an INT for an INT, a BIGINT for a BIGINT
_STAND_INS = {_INT: 2_013_765_400, _BIGINT: 4_613_765_400_000_000_000}

#: puts an aggregate into the FILTER that another one has
_Among = Callable[[exp.Expr], exp.Expr]


class Untranslatable(Exception):
    """The kernel has no words for it."""


def kernel_sql(text: str) -> tuple[str, str]:
    """An expression, and the name of the column that it makes.

    >>> kernel_sql("pmod(`a b`, 120L) AS c0")
    ('PMOD("a b", CAST(120 AS BIGINT)) AS c0', 'c0')

    Texts that differ in their numbers alone are translated once: ticks are new in every batch.
    """
    numbers: dict[str, str] = {}
    words = set(_WORD.findall(text))

    def stand_in(found: re.Match[str]) -> str:
        first = _STAND_INS[_type_of(int(found[0]))] + len(numbers)
        # one that is in the text, a part of a number or of a string perhaps, would be taken for this number
        name = next(name for name in map(str, count(first)) if name not in words and name not in numbers)
        numbers[name] = found[0]
        return name

    written, name = _translated(_NUMBER.sub(stand_in, text))
    if numbers:  # all at once: a number may be what stands for another
        written = _WORD.sub(lambda found: numbers.get(found[0], found[0]), written)
    return written, name


@lru_cache(maxsize=20_000)
def _translated(text: str) -> tuple[str, str]:
    try:
        whole = exp.Tuple(expressions=[sqlglot.parse_one(text, read="spark")])
    except SqlglotError as problem:
        raise Untranslatable(text) from problem
    for node in reversed(list(whole.walk())):  # from below: what is rewritten has its parts rewritten already
        changed = _same_meaning(node)
        if changed is not node:
            node.replace(changed)
    (found,) = whole.expressions
    return found.sql("duckdb"), found.alias_or_name


def _same_meaning(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Cast | exp.TryCast):
        return _cast(node)
    if _is_number(node) and not isinstance(node.parent, exp.Cast | exp.TryCast | exp.Neg | exp.DataTypeParam):
        return exp.Cast(this=node.copy(), to=_type_of(int(node.name)))
    if isinstance(node, exp.Neg) and _is_number(node.this):
        return exp.Cast(this=exp.Literal.number(f"-{node.this.name}"), to=_type_of(-int(node.this.name)))
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Cast) and _is_number(node.this.this):
        return exp.Cast(this=exp.Literal.number(f"-{node.this.this.name}"), to=node.this.to)
    if isinstance(node, exp.Mod | exp.IntDiv):
        return type(node)(this=node.this.copy(), expression=_not_zero(node.expression))
    if isinstance(node, exp.CountIf):  # over nothing it would be NULL
        counted = exp.Case(ifs=[exp.If(this=node.this.copy(), true=exp.true())])
        return exp.Count(this=counted)
    if type(node) in _IN_OTHER_WORDS and not isinstance(node.parent, exp.Filter):
        return _IN_OTHER_WORDS[type(node)](node, lambda aggregate: aggregate)
    if isinstance(node, exp.Filter) and type(node.this) in _IN_OTHER_WORDS:
        where = node.expression
        return _IN_OTHER_WORDS[type(node.this)](
            node.this, lambda aggregate: exp.Filter(this=aggregate, expression=where.copy())
        )
    return node


def _cast(node: exp.Cast | exp.TryCast) -> exp.Expr:
    """A constant with a point is read from text: by way of a DECIMAL it could be off by the last bit."""
    value = node.this.copy()
    if node.to == _DOUBLE and isinstance(value, exp.Literal):
        value = exp.Literal.string(value.name)
    return exp.Cast(this=value, to=node.to.copy())


def _average(node: exp.Expr, among: _Among) -> exp.Expr:
    total = among(exp.Sum(this=exp.Cast(this=node.this.copy(), to=_DOUBLE.copy())))
    return exp.Paren(this=exp.Div(this=total, expression=_not_zero(among(exp.Count(this=node.this.copy())))))


def _variance(node: exp.Expr, among: _Among) -> exp.Expr:
    """That of one value with itself: of a single NaN or infinity the kernel's own variance is 0, not NaN."""
    return among(exp.CovarPop(this=node.this.copy(), expression=node.this.copy()))


def _deviation(node: exp.Expr, among: _Among) -> exp.Expr:
    return exp.Sqrt(this=_variance(node, among))


def _correlation(node: exp.Expr, among: _Among) -> exp.Expr:
    """NULL, not NaN, where one side does not vary, whatever the other is."""
    x, y = node.this, node.expression

    def moment(name: str) -> exp.Expr:
        return among(exp.Anonymous(this=name, expressions=[y.copy(), x.copy()]))

    spread = exp.Mul(this=_not_zero(moment("regr_sxx")), expression=_not_zero(moment("regr_syy")))
    return exp.Paren(this=exp.Div(this=moment("regr_sxy"), expression=_not_zero(exp.Sqrt(this=spread))))


#: aggregates for which the kernel has none that means the same; each by itself, or with a FILTER
_IN_OTHER_WORDS: dict[type[exp.Expr], Callable[[exp.Expr, _Among], exp.Expr]] = {
    exp.Avg: _average,
    exp.Corr: _correlation,
    exp.StddevPop: _deviation,
    exp.VariancePop: _variance,
}


def _not_zero(divisor: exp.Expr) -> exp.Expr:
    return exp.Nullif(this=divisor.copy(), expression=exp.Literal.number(0))


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()


def _type_of(number: int) -> exp.DataType:
    """The type that Spark gives a whole number without a suffix."""
    return _INT if -(2**31) <= number < 2**31 else _BIGINT
