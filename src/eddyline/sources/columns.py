"""Which column of a file is which column of its extent. Names are matched without regard to case, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eddyline.catalog.extent import Extent
from eddyline.errors import SourceUnusable, nearest

#: the columns that carry what a stream can carry beside tuples
OP, REF, TAG = RESERVED = ("_op", "_ref", "_tag")


@dataclass(frozen=True)
class ColumnPlan:
    """Positions in the file: of every declared column, in the order of the schema, and of the reserved ones."""

    order: tuple[int, ...]
    op: int | None = None
    ref: int | None = None
    tag: int | None = None

    @property
    def width(self) -> int:
        """How many columns the file has."""
        return len(self.order) + sum(position is not None for position in (self.op, self.ref, self.tag))

    @property
    def only_tuples(self) -> bool:
        return self.op is None and self.tag is None


def columns_by_position(extent: Extent) -> ColumnPlan:
    return ColumnPlan(tuple(range(len(extent.schema))))


def columns_by_name(extent: Extent, names: Sequence[str], file: str, hint: str | None = None) -> ColumnPlan:
    """The plan for a file whose columns have names; `hint` is for files that do not fit at all."""
    declared = {name.lower(): name for name in extent.schema.names}
    allowed = [*declared, *RESERVED] if extent.is_stream else [*declared]
    found: dict[str, int] = {}
    for position, name in enumerate(names):
        key = name.strip().lower()
        if key in RESERVED and not extent.is_stream:
            raise SourceUnusable(f"column {key} of {file} is for streams, and {extent.name} is a table")
        if key not in allowed:
            guess = nearest(key, allowed)
            suggestion = f"did you mean {declared.get(guess, guess)}?" if guess else hint
            raise SourceUnusable(f"column '{name}' of {file} is not a column of {extent.name}", hint=suggestion)
        if key in found:
            raise SourceUnusable(f"{file} has two columns '{name}'")
        found[key] = position
    for key, name in declared.items():
        if key not in found:
            raise SourceUnusable(
                f"{file} has no column '{name}', which {extent.name} declares",
                hint=f"its columns are {', '.join(name.strip() for name in names)}",
            )
    return ColumnPlan(tuple(found[key] for key in declared), found.get(OP), found.get(REF), found.get(TAG))
