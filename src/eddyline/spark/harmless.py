"""Which queries may be answered together: one that fails stops all members of its class.

What the kernel computes does not fail, and neither do most functions that it leaves to Spark. Some do, on a single row
(an index of 0, a year that no calendar has), or take all memory there is: who calls them stands alone.
"""

from __future__ import annotations

from eddyline.algebra.expression import Aggregate, Call
from eddyline.algebra.node import Operator, expressions_of
from eddyline.algebra.sharing import Form
from eddyline.algebra.user_function import UserCall
from eddyline.kernels.fits import why_not
from eddyline.sharing import Shape, with_forms

_OPERATORS = "+ - * / % div pmod neg positive = <=> != < <= > >= in and or not || like ilike & | ^ ~ << >> >>>"
_NAMED = """
    cast case if coalesce nvl nvl2 greatest least nanvl
    sqrt cbrt exp expm1 ln log2 log10 log1p rint sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh cot sec csc
    degrees radians signum power atan2 hypot log pi e abs round bround ceil floor isnan bin hex bit_count
    upper lower initcap length octet_length bit_length substring substring_index left right trim ltrim rtrim concat_ws
    replace translate reverse instr locate find_in_set startswith endswith contains ascii levenshtein soundex md5 sha1
    crc32
    year quarter month dayofweek weekday dayofyear weekofyear dayofmonth dayname monthname unix_date hour minute second
    extract datediff months_between trunc date_trunc unix_seconds unix_millis unix_micros
    size array_size array_contains array_position array_min array_max
"""
_AGGREGATED = """
    count count_if sum avg min max min_by max_by stddev_samp stddev_pop var_samp var_pop skewness kurtosis corr
    covar_samp covar_pop median percentile first last any_value bool_and bool_or bit_and bit_or bit_xor
"""
_NEVER_FAIL = frozenset({*_OPERATORS.split(), *_NAMED.split(), "is null"})
_AGGREGATES = frozenset(_AGGREGATED.split())


def for_spark(shape: Shape) -> bool:
    """Whether the kernel leaves queries of a shape to Spark."""
    return any(why_not(plan) is not None for plan in _plans(shape))


def is_harmless(shape: Shape) -> bool:
    """Whether a query of a shape cannot stop others."""
    return all(why_not(plan) is None or all(map(_never_fails, plan.walk())) for plan in _plans(shape))


def _plans(shape: Shape) -> list[Operator]:
    """That of the class, and the one while members show tags."""
    forms = (Form("", shape.predicate, shape.where),)
    return [with_forms(plan, forms) for plan in (shape.plan, shape.marked) if plan is not None]


def _never_fails(operator: Operator) -> bool:
    for expr in expressions_of(operator):
        for part in expr.walk():
            if isinstance(part, Aggregate):
                fine = part.function in _AGGREGATES
            else:
                fine = not isinstance(part, Call) or isinstance(part, UserCall) or part.function in _NEVER_FAIL
            if not fine:
                return False
    return True
