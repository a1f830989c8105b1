"""CASE and its relatives."""

from __future__ import annotations

import math
from typing import Any

from eddyline.reference.functions.implementation import Implementation, null_aware
from eddyline.reference.value import order_key


def case(*arguments: Any) -> Any:
    """(when, then, when, then, … [, else])."""
    pairs = len(arguments) // 2
    for i in range(pairs):
        if arguments[2 * i]:
            return arguments[2 * i + 1]
    return arguments[-1] if len(arguments) % 2 else None


def _if(condition: bool | None, then: Any, otherwise: Any) -> Any:
    return then if condition else otherwise


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _nvl2(value: Any, present: Any, missing: Any) -> Any:
    return missing if value is None else present


def _greatest(*values: Any) -> Any:
    """NULLs do not count."""
    return max((value for value in values if value is not None), key=order_key, default=None)


def _least(*values: Any) -> Any:
    return min((value for value in values if value is not None), key=order_key, default=None)


def _nanvl(value: float | None, replacement: float | None) -> float | None:
    return replacement if value is not None and math.isnan(value) else value


IMPLEMENTATIONS: dict[str, Implementation] = {
    "case": null_aware(case),
    "if": null_aware(_if),
    "coalesce": null_aware(_coalesce),
    "nvl": null_aware(_coalesce),
    "nvl2": null_aware(_nvl2),
    "greatest": null_aware(_greatest),
    "least": null_aware(_least),
    "nanvl": null_aware(_nanvl),
}
