"""Rows of kept slices that say what has changed become rows that say what it comes to.

The columns of such a log tell by their names what becomes of them: keys begin with k, the parts of aggregates with the
function that puts them together. Sums of powers are around a centre of their row, and are moved to a common one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from math import comb, prod
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.log.segment import TICK

#: how the logs are called that can be added up
SLICES = "slices"
#: what the names of centres and of sums of powers begin with
MIDDLE, POWER = "mid", "pow"
_FUNCTIONS = ("sum", "min", "max")
_POWER = re.compile(rf"{POWER}(\d+)_([su])(\d+)")
_ROW = "row"


def is_added_up(log: str) -> bool:
    """Whether the rows of a log can be added up."""
    return log.endswith(f"/{SLICES}")


def added_up(tables: Sequence[pa.Table]) -> pa.Table:
    """One row for each slice and group; all columns keep their names, types and places.

    Rows with NaN stay as they are: it is above all numbers, but not to Arrow.
    """
    table = pa.concat_tables(tables)
    odd = _with_nan(table)
    if not odd.any():
        return _added_up(table)
    return pa.concat_tables([_added_up(table.filter(pa.array(~odd))), table.filter(pa.array(odd))])


def _added_up(table: pa.Table) -> pa.Table:
    keys = [name for name in table.column_names if name == TICK or name.startswith("k")]
    # the rest is the number of the batch and the weight, which is 1 in all rows
    centred = [name for name in table.column_names if name.startswith((MIDDLE, POWER))]
    others = [(name, _function(name)) for name in table.column_names if name not in keys and name not in centred]
    rows = table.append_column(_ROW, pa.array(np.arange(table.num_rows)))
    try:
        made = rows.group_by(keys).aggregate([*others, *([(_ROW, "list")] if centred else [])])
    except pa.ArrowNotImplementedError:  # for keys that are no plain values, for one
        return table
    named = made.rename_columns([*keys, *(name for name, _ in others), *([_ROW] if centred else [])])
    if centred:
        for name, values in _around_common_centres(table.select(centred), named.column(_ROW)).items():
            named = named.append_column(name, values)
    return named.select(table.column_names).cast(table.schema)


def _with_nan(table: pa.Table) -> Any:
    """Which rows have one somewhere."""
    found = np.zeros(table.num_rows, np.bool_)
    for column in table.columns:
        if pa.types.is_floating(column.type):
            found |= pc.fill_null(pc.is_nan(column), False).to_numpy()
    return found


def _function(name: str) -> str:
    return next((function for function in _FUNCTIONS if name.startswith(function)), "max")


# -- sums of powers ---------------------------------------------------------------------------------------------------


def _around_common_centres(table: pa.Table, rows: pa.ChunkedArray) -> dict[str, pa.Array]:
    """The columns of groups, each of which has some rows of a table."""
    lists = rows.combine_chunks()
    groups = np.empty(table.num_rows, np.int64)
    groups[lists.flatten().to_numpy()] = np.repeat(np.arange(len(lists)), lists.value_lengths().to_numpy())
    powers = {name: _POWER.fullmatch(name) for name in table.column_names}
    given = {name: table.column(name).to_numpy() for name in powers}
    made: dict[str, pa.Array] = {}
    for place in dict.fromkeys(found[1] for found in powers.values() if found):
        own = {(found[2], found[3]): name for name, found in powers.items() if found and found[1] == place}
        middles = [name for name in table.column_names if name.startswith(f"{MIDDLE}{place}_")]
        moved = given[own["u", "0" * len(middles)]]
        shifts = []
        for name in middles:
            centre, shift = _common(given[name], moved, groups, len(lists))
            made[name] = pa.array(centre, from_pandas=True)
            shifts.append(shift)
        for (kind, digits), name in own.items():
            sums = np.zeros(len(lists), given[name].dtype)
            lower = {low: given[column] for (other, low), column in own.items() if other == kind}
            np.add.at(sums, groups, _moved(digits, lower, shifts))
            made[name] = pa.array(sums)
    return made


def _common(centre: Any, moved: Any, groups: Any, count: int) -> tuple[Any, Any]:
    """A centre for each group, amid those of its rows, and how far each row is from it; rows of nothing have none."""
    has = ~np.isnan(centre)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, groups[has], centre[has])
    np.maximum.at(high, groups[has], centre[has])
    weighted, weight = np.zeros(count), np.zeros(count)
    np.add.at(weighted, groups[has], centre[has] * moved[has])
    np.add.at(weight, groups[has], moved[has])
    common = np.full(count, np.nan)
    np.divide(weighted, weight, out=common, where=weight > 0)
    common = np.clip(common, low, np.maximum(low, high))
    shift = np.zeros(len(centre))
    shift[has] = centre[has] - common[groups[has]]
    return common, shift


def _moved(digits: str, powers: Mapping[str, Any], shifts: Sequence[Any]) -> Any:
    """(x − z)ⁿ = ((x − c) + (c − z))ⁿ, for a product of such."""
    exponents = [int(digit) for digit in digits]
    if not any(exponents):
        return powers[digits]
    total = 0.0
    for lower in product(*(range(e + 1) for e in exponents)):
        times = prod(comb(e, j) for e, j in zip(exponents, lower, strict=True))
        shift = prod(d ** (e - j) for d, e, j in zip(shifts, exponents, lower, strict=True))
        total = total + times * shift * powers["".join(map(str, lower))]
    return total
