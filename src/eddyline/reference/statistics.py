"""Moments, covariance and percentiles of DOUBLE values, as Spark's aggregates compute them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Moments:
    """Count, mean, and the sums of the powers of the deviations from the mean: m2 = Σ(x−μ)², m3, m4."""

    count: int
    mean: float
    m2: float
    m3: float
    m4: float


def moments(values: Sequence[float]) -> Moments:
    """One value at a time, as updates of the running mean: δ = x − μ, μ' = μ + δ/n, m2' = m2 + δ(δ − δ/n), …"""
    count, mean, m2, m3, m4 = 0, 0.0, 0.0, 0.0, 0.0
    for value in values:
        count += 1
        delta = value - mean
        part = delta / count
        mean += part
        m2 += delta * (delta - part)
        m3 += -3.0 * part * m2 + delta * (delta * delta - part * part)
        m4 += -4.0 * part * m3 - 6.0 * part * part * m2 + delta * (delta * delta * delta - part * part * part)
    return Moments(count, mean, m2, m3, m4)


def variance(values: Sequence[float], sample: bool) -> float | None:
    """m2 / n, or m2 / (n − 1) of a sample; NULL where that divides by zero."""
    found = moments(values)
    divisor = found.count - 1 if sample else found.count
    return found.m2 / divisor if divisor > 0 else None


def skewness(values: Sequence[float]) -> float | None:
    """√n · m3 / √(m2³)."""
    found = moments(values)
    if found.count == 0 or found.m2 == 0:
        return None
    return math.sqrt(found.count) * found.m3 / math.sqrt(found.m2 * found.m2 * found.m2)


def kurtosis(values: Sequence[float]) -> float | None:
    """n · m4 / m2² − 3."""
    found = moments(values)
    if found.count == 0 or found.m2 == 0:
        return None
    return found.count * found.m4 / (found.m2 * found.m2) - 3.0


def _comoment(pairs: Sequence[tuple[float, float]]) -> float:
    """Σ (x−μx)(y−μy)."""
    mean_x, mean_y, total = 0.0, 0.0, 0.0
    for count, (x, y) in enumerate(pairs, 1):
        delta = x - mean_x
        mean_x += delta / count
        old_y = y - mean_y
        mean_y += old_y / count
        total += delta * (y - mean_y)
    return total


def covariance(pairs: Sequence[tuple[float, float]], sample: bool) -> float | None:
    divisor = len(pairs) - 1 if sample else len(pairs)
    return _comoment(pairs) / divisor if divisor > 0 else None


def correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """The co-moment over √(m2 of x · m2 of y); NULL if one side does not vary, whatever the other is (NaN, too)."""
    if len(pairs) < 2:
        return None
    spreads = [moments(values).m2 for values in zip(*pairs, strict=True)]
    spread = None if 0.0 in spreads else math.sqrt(spreads[0] * spreads[1])
    return _comoment(pairs) / spread if spread else None  # the product of small ones may be zero all the same


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The value at place share·(n−1) of the ordered values, interpolated between its neighbours."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low, high = math.floor(place), math.ceil(place)
    if low == high or ordered[low] == ordered[high]:
        return ordered[low]
    return (high - place) * ordered[low] + (place - low) * ordered[high]
