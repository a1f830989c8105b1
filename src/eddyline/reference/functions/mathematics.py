"""Functions on numbers. Where Java answers with NaN or an infinity, so do we."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

from eddyline.algebra.expression import Call
from eddyline.algebra.types import BIGINT, BOOLEAN, FLOAT, INTERVAL, is_integer
from eddyline.reference.functions.casting import floating_to_whole
from eddyline.reference.functions.implementation import Evaluator, Implementation, given_types, null_aware, plain, typed
from eddyline.reference.value import EXACT, fitted, float32, wrapped

_POINT = re.compile(r"\s*\(?\s*([^,()]+?)\s*,\s*([^,()]+?)\s*\)?\s*")


def _as_java(compute: Callable[..., float]) -> Implementation:
    """A function of DOUBLEs: outside its domain it is NaN, beyond the range infinite."""

    def evaluate(*values: float) -> float:
        try:
            return compute(*values)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return plain(evaluate)


def _logarithm(compute: Callable[[float], float], lowest: float = 0.0) -> Implementation:
    """Logarithms are NULL, not NaN, where they are not defined."""
    return plain(lambda value: None if value <= lowest else compute(value))


def _log(*values: float) -> float | None:
    """log(x), or log(base, x)."""
    if len(values) == 1:
        return None if values[0] <= 0 else math.log(values[0])
    base, value = values
    if base <= 0 or value <= 0:
        return None
    divisor = math.log(base)
    if divisor == 0:
        return _over_zero(math.log(value))
    return math.log(value) / divisor


def _over_zero(value: float) -> float:
    return math.nan if value == 0 or math.isnan(value) else math.copysign(math.inf, value)


def _power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        odd = exponent == math.floor(exponent) and exponent % 2 == 1
        return math.copysign(math.inf, base) if odd else math.inf
    if abs(base) == 1 and not math.isfinite(exponent):
        return math.nan  # Python says 1
    if math.isnan(exponent):
        return math.nan
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def _sinh(value: float) -> float:
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _cbrt(value: float) -> float:
    return math.cbrt(value)


def _inverse(compute: Callable[[float], float]) -> Implementation:
    """1 / f(x), infinite where f is zero."""

    def evaluate(value: float) -> float:
        below = compute(value)
        return 1 / below if below else math.copysign(math.inf, below)

    return _as_java(evaluate)


def _atanh(value: float) -> float:
    if abs(value) == 1:
        return math.copysign(math.inf, value)
    return math.atanh(value)


def _rint(value: float) -> float:
    """The nearest whole number, the even one of two."""
    if not math.isfinite(value):
        return value
    return math.copysign(float(round(value)), value)


def _signum(value: float) -> float:
    return value if value == 0 or math.isnan(value) else math.copysign(1.0, value)


def _abs(call: Call) -> Evaluator:
    if is_integer(call.type):
        return lambda value: wrapped(abs(value), call.type)
    if call.type == INTERVAL:
        return lambda value: abs(value)
    return lambda value: value.copy_abs() if isinstance(value, Decimal) else abs(value)


def _rounding(mode: str) -> Implementation:
    """ROUND (half up) and BROUND (half even), to a number of digits that may be negative."""

    def make(call: Call) -> Evaluator:
        if is_integer(call.type):
            return lambda value, scale=0: wrapped(int(_quantized(Decimal(value), min(scale, 0), mode)), call.type)
        if call.type.name == "DECIMAL":
            return lambda value, scale=0: fitted(
                _quantized(value, min(scale, call.type.parameters[1]), mode), call.type
            )
        fit: Callable[[float], float] = float32 if call.type == FLOAT else float

        def floating(value: float, scale: int = 0) -> float:
            if not math.isfinite(value):
                return value
            return fit(float(_quantized(Decimal(repr(value)), scale, mode))) + 0.0  # never -0.0

        return floating

    return typed(make)


def _quantized(value: Decimal, scale: int, mode: str) -> Decimal:
    if -int(value.as_tuple().exponent) <= scale:
        return value
    return value.quantize(Decimal(1).scaleb(-scale), rounding=mode, context=EXACT)


def _whole(mode: str) -> Implementation:
    """CEIL and FLOOR."""

    def make(call: Call) -> Evaluator:
        if call.type.name == "DECIMAL":
            return lambda value, scale=0: fitted(_quantized(value, scale, mode), call.type)
        towards = math.ceil if mode == ROUND_CEILING else math.floor
        return lambda value: floating_to_whole(value, BIGINT) if not math.isfinite(value) else _clamp(towards(value))

    return typed(make)


def _clamp(value: int) -> int:
    return max(-(1 << 63), min((1 << 63) - 1, value))


def _factorial(value: int) -> int | None:
    """From 0 to 20; more does not fit into a BIGINT."""
    return math.factorial(value) if 0 <= value <= 20 else None


def _hex(value: int | str) -> str:
    return value.encode().hex().upper() if isinstance(value, str) else f"{value % (1 << 64):X}"


def _bit_count(call: Call) -> Evaluator:
    if given_types(call)[0] == BOOLEAN:
        return int
    return lambda value: (value % (1 << 64)).bit_count()


def _dist(*values: Any) -> float | None:
    """The Euclidean distance of two points: dist('1.5,2', '(3, 4)'), dist(array(1, 2), b), dist(x1, y1, x2, y2).

    NULL if a text is no point, or if the points have different numbers of coordinates.
    """
    left, right = (values[:2], values[2:]) if len(values) == 4 else (_point(values[0]), _point(values[1]))
    if left is None or right is None or len(left) != len(right) or None in (*left, *right):
        return None
    return math.dist(left, right)


def _point(value: Any) -> tuple[float, ...] | None:
    if isinstance(value, tuple):
        return value
    if isinstance(value, float):
        return (value,)
    found = _POINT.fullmatch(value)
    try:
        return (float(found[1]), float(found[2])) if found else None
    except ValueError:
        return None


IMPLEMENTATIONS: dict[str, Implementation] = {
    "sqrt": _as_java(math.sqrt),
    "cbrt": _as_java(_cbrt),
    "exp": _as_java(math.exp),
    "expm1": _as_java(math.expm1),
    "ln": _logarithm(math.log),
    "log2": _logarithm(math.log2),
    "log10": _logarithm(math.log10),
    "log1p": _logarithm(math.log1p, lowest=-1.0),
    "log": plain(_log),
    "power": _as_java(_power),
    "hypot": _as_java(math.hypot),
    "rint": plain(_rint),
    "signum": plain(_signum),
    **{name: _as_java(getattr(math, name)) for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    "atan2": _as_java(lambda y, x: math.atan2(y + 0.0, x + 0.0)),  # -0.0 is no other direction than 0.0
    **{name: _as_java(getattr(math, name)) for name in ("cosh", "tanh", "asinh", "acosh")},
    "sinh": plain(_sinh),
    "atanh": _as_java(_atanh),
    "cot": _inverse(math.tan),
    "sec": _inverse(math.cos),
    "csc": _inverse(math.sin),
    "degrees": plain(math.degrees),
    "radians": plain(math.radians),
    "pi": plain(lambda: math.pi),
    "e": plain(lambda: math.e),
    "abs": typed(_abs),
    "round": _rounding(ROUND_HALF_UP),
    "bround": _rounding(ROUND_HALF_EVEN),
    "ceil": _whole(ROUND_CEILING),
    "floor": _whole(ROUND_FLOOR),
    "isnan": null_aware(lambda value: value is not None and math.isnan(value)),
    "factorial": plain(_factorial),
    "bin": plain(lambda value: f"{value % (1 << 64):b}"),
    "hex": plain(_hex),
    "bit_count": typed(_bit_count),
    "dist": plain(_dist),
}
