"""What the functions of the catalogue (`algebra/functions`) compute, by their names there."""

from __future__ import annotations

from eddyline.reference.functions import (
    arrays,
    casting,
    conditionals,
    datetimes,
    mathematics,
    operators,
    patterns,
    strings,
)
from eddyline.reference.functions.implementation import Implementation

IMPLEMENTATIONS: dict[str, Implementation] = {
    **operators.IMPLEMENTATIONS,
    **casting.IMPLEMENTATIONS,
    **conditionals.IMPLEMENTATIONS,
    **mathematics.IMPLEMENTATIONS,
    **strings.IMPLEMENTATIONS,
    **patterns.IMPLEMENTATIONS,
    **datetimes.IMPLEMENTATIONS,
    **arrays.IMPLEMENTATIONS,
}
