"""Deviation, skewness, correlation and their like in signed parts: sums of powers around a centre of the row's own.

Sums of x and x² would do if numbers had no last digit: of temperatures in Kelvin, the squares take nine digits that are
then subtracted again. So each row of the state says around which centre it has counted, a number amid its values; rows
are put together around a common one. Beside what stands, a row knows what was ever moved, added or taken away: if
little of the spread of all that is left, so are few of its digits, and the tuples are asked.

    x1_0          a value, NULL where it does not count            z1_0      the centre of the group that is made
    mid1_0        the centre of a row                              pow1_s2   Σ ±(x−c)² of what stands
    pow1_u2       Σ (x−c)² of all that was ever moved              pow1_s11  Σ ±(x−c)(y−d)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import comb, prod

from eddyline.algebra.types import BIGINT, DOUBLE
from eddyline.log.adding import MIDDLE, POWER
from eddyline.log.segment import DIFF
from eddyline.spark.parts import LOST, Part, Signed, Values

_Exponents = tuple[int, ...]
#: beyond it the fourth power would be too large; what is, is counted and not added
_MOST = "1E37D"


class _Moments:
    """The parts of one aggregate, over one value or over pairs."""

    def __init__(self, values: Values, place: int, powers: Sequence[_Exponents]) -> None:
        self._values, self._place = values, place
        self._width = len(values.texts)
        self._signed = list(powers)
        none = (0,) * self._width
        # how far apart things ever were: the even powers of each value
        even = [p for p in powers if p == none or _is_even(p)]
        self._unsigned = sorted({below for p in even for below in product(*(range(e + 1) for e in p))})
        self._fitting = [f"abs({double}) < {_MOST}" for double in values.doubles]  # NaN is greater than all
        self._odd = values.count(" OR ".join(f"NOT {fitting}" for fitting in self._fitting))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The values, NULL where any of them is, and where it is no number."""
        among = " AND ".join([*self._values.conditions, *self._fitting])
        return tuple(
            f"CASE WHEN {among} THEN {text} END AS {self._x(i)}" for i, text in enumerate(self._values.doubles)
        )

    def _x(self, i: int) -> str:
        return f"x{self._place}_{i}"

    def _z(self, i: int) -> str:
        return f"z{self._place}_{i}"

    def _mid(self, i: int) -> str:
        return f"{MIDDLE}{self._place}_{i}"

    def power(self, kind: str, exponents: _Exponents) -> str:
        """The name of a column: `s` for what stands, `u` for what was ever moved."""
        return f"{POWER}{self._place}_{kind}{''.join(map(str, exponents))}"

    # -- centres ------------------------------------------------------------------------------------------------------

    def around_tuples(self, group: str) -> list[str]:
        """The centres of groups of tuples."""
        over = f"OVER (PARTITION BY {group})"
        return [
            f"{_amid(f'(sum({x}) {over} / nullif(count({x}) {over}, 0))', x, over)} AS {self._z(i)}"
            for i, x in ((i, self._x(i)) for i in range(self._width))
        ]

    def around_rows(self, group: str) -> list[str]:
        """The centres of groups of rows of the state."""
        over, moved = f"OVER (PARTITION BY {group})", self.power("u", (0,) * self._width)
        return [
            f"{_amid(f'(sum({mid} * {moved}) {over} / nullif(sum({moved}) {over}, 0))', mid, over)} AS {self._z(i)}"
            for i, mid in ((i, self._mid(i)) for i in range(self._width))
        ]

    # -- columns ------------------------------------------------------------------------------------------------------

    @property
    def parts(self) -> tuple[Part, ...]:
        middles = [
            Part(f"max({self._z(i)})", MIDDLE, DOUBLE, self._mid(i), f"max({self._z(i)})") for i in range(self._width)
        ]
        signed = [self._part("s", exponents) for exponents in self._signed]
        unsigned = [self._part("u", exponents) for exponents in self._unsigned]
        return (*middles, *signed, *unsigned, self._odd)

    def _part(self, kind: str, exponents: _Exponents) -> Part:
        name = self.power(kind, exponents)
        if not any(exponents):
            weight = DIFF if kind == "s" else "1"
            made = f"CAST(sum(CASE WHEN {self._x(0)} IS NOT NULL THEN {weight} ELSE 0 END) AS BIGINT)"
            return Part(made, POWER, BIGINT, name, f"CAST(sum({name}) AS BIGINT)")
        factors = [f"({self._x(i)} - {self._z(i)})" for i, e in enumerate(exponents) for _ in range(e)]
        weight = f"CASE WHEN {DIFF} > 0 THEN 1D ELSE -1D END * " if kind == "s" else ""
        made = f"coalesce(sum({weight}{' * '.join(factors)}), 0D)"
        return Part(made, POWER, DOUBLE, name, f"sum({self._moved(kind, exponents)})")

    def _moved(self, kind: str, exponents: _Exponents) -> str:
        """What a row would have counted around the centre of its group: (x − z)ⁿ = ((x − c) + (c − z))ⁿ."""
        terms = []
        for lower in product(*(range(e + 1) for e in exponents)):
            times = prod(comb(e, j) for e, j in zip(exponents, lower, strict=True))
            shifts = [
                f"coalesce({self._mid(i)} - {self._z(i)}, 0D)"
                for i, (e, j) in enumerate(zip(exponents, lower, strict=True))
                for _ in range(e - j)
            ]
            terms.append(" * ".join([f"{times}D", *shifts, self.power(kind, lower)]))
        return " + ".join(terms)

    # -- answers ------------------------------------------------------------------------------------------------------

    @property
    def count(self) -> str:
        return self.power("s", (0,) * self._width)

    def spread(self, exponents: _Exponents, kind: str = "s") -> str:
        """The sum of products of the distances from the mean, from those from the centre."""
        count = self.power(kind, (0,) * self._width)
        ones = [tuple(int(i == j) for j in range(self._width)) for i in range(self._width)]
        terms = []
        for lower in product(*(range(e + 1) for e in exponents)):
            times = prod(comb(e, j) * (-1) ** (e - j) for e, j in zip(exponents, lower, strict=True))
            means = [
                f"({self.power(kind, ones[i])} / nullif({count}, 0))"
                for i, (e, j) in enumerate(zip(exponents, lower, strict=True))
                for _ in range(e - j)
            ]
            terms.append(" * ".join([f"({times}D)", *means, self.power(kind, lower)]))
        return f"({' + '.join(terms)})"

    def sure(self) -> str:
        """Whether what stands has kept its digits. Nobody can take away an infinity, or tell what comes of one."""
        odd = f"sum{self._place}_{len(self.parts) - 1}"
        even = [p for p in self._unsigned if _is_even(p)]
        kept = " AND ".join(f"{self.spread(p, 'u')} <= {LOST}D * {self.spread(p)}" for p in even)
        return f"({odd} = 0 AND ({self.count} = 0 OR {kept}))"


def _is_even(exponents: _Exponents) -> bool:
    """Whether it is an even power of one value, so that it is never negative."""
    return sum(map(bool, exponents)) == 1 and max(exponents) % 2 == 0


def _amid(mean: str, value: str, over: str) -> str:
    """A mean that is not outside of the values by its last digit: of equal ones it is the same."""
    return f"greatest(min({value}) {over}, least(max({value}) {over}, {mean}))"


_ONE: tuple[_Exponents, ...] = ((0,), (1,), (2,))
_FOUR: tuple[_Exponents, ...] = (*_ONE, (3,), (4,))
_PAIR: tuple[_Exponents, ...] = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0))
#: by aggregate, the powers that it is made of, and the answer: $n values, and the spreads $2, $11, …
STATISTICS: dict[str, tuple[tuple[_Exponents, ...], str]] = {
    "var_pop": (_ONE, "CASE WHEN $n > 0 THEN $2 / $n END"),
    "var_samp": (_ONE, "CASE WHEN $n > 1 THEN $2 / ($n - 1) END"),
    "stddev_pop": (_ONE, "CASE WHEN $n > 0 THEN sqrt($2 / $n) END"),
    "stddev_samp": (_ONE, "CASE WHEN $n > 1 THEN sqrt($2 / ($n - 1)) END"),
    "skewness": (_FOUR, "CASE WHEN $2 > 0D THEN sqrt($n) * $3 / sqrt($2 * $2 * $2) END"),
    "kurtosis": (_FOUR, "CASE WHEN $2 > 0D THEN $n * $4 / ($2 * $2) - 3D END"),
    "covar_pop": (_PAIR, "CASE WHEN $n > 0 THEN $11 / $n END"),
    "covar_samp": (_PAIR, "CASE WHEN $n > 1 THEN $11 / ($n - 1) END"),
    "corr": (_PAIR, "CASE WHEN $n > 1 AND $20 > 0D AND $02 > 0D THEN $11 / sqrt($20 * $02) END"),
}


def statistic(function: str, values: Values, place: int) -> Signed:
    """An aggregate of those above."""
    powers, answer = STATISTICS[function]
    moments = _Moments(values, place, powers)
    text = answer.replace("$n", moments.count)
    for exponents in powers:
        spread = moments.spread(exponents)
        name = "$" + "".join(map(str, exponents))  # rounding could put an even one below zero
        text = text.replace(name, f"greatest({spread}, 0D)" if _is_even(exponents) else spread)
    return Signed(moments.parts, lambda columns: text, lambda columns: moments.sure(), moments)
