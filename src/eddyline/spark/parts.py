"""What an aggregate in signed parts is made of: columns of weighted tuples, and how they are put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from eddyline.algebra.expression import Aggregate, TypedExpr
from eddyline.algebra.types import BIGINT, DOUBLE, DataType
from eddyline.log.segment import DIFF
from eddyline.spark.expression import Names, spark_sql, spark_type, whole_sum

Columns = Sequence[str]
ALWAYS = "true"
#: a sum may have lost as many of its digits as a factor of so much costs: ten of 53 bits
LOST = 1024


@dataclass(frozen=True)
class Part:
    """One column of the state: how tuples make it, how it is put together, and its type."""

    made: str
    merge: str  # sum, min or max; others know `merging` themselves
    type: DataType
    name: str = ""  # if its name tells more than how it is put together
    merging: str = ""

    def merged(self, column: str) -> str:
        if self.merging:
            return self.merging
        if self.type.name == "DECIMAL":  # the sum of DECIMALs has more digits than they have
            return f"CAST({self.merge}({column}) AS {spark_type(self.type)})"
        return whole_sum(f"{self.merge}({column})", self.type if self.merge == "sum" else DOUBLE)


class Centred(Protocol):
    """What must be known of a group before it can be put together; `group` names its columns."""

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns over tuples."""

    def around_tuples(self, group: str) -> list[str]:
        """More columns, over tuples with these."""

    def around_rows(self, group: str) -> list[str]:
        """The same columns over rows of the state."""


@dataclass(frozen=True)
class Signed:
    """An aggregate in signed parts; `final` and `sure` take the SQL text of the merged columns.

    One over distinct values has no parts of its own: there is a row of the state for each value (`by`), and `of_values`
    puts those together that stand.
    """

    parts: tuple[Part, ...]
    final: Callable[[Columns], str]
    sure: Callable[[Columns], str] = lambda columns: ALWAYS
    centred: Centred | None = None
    by: str = ""
    of_values: str = ""


class Values:
    """The arguments of an aggregate over the tuples that it looks at."""

    def __init__(self, aggregate: Aggregate, names: Names) -> None:
        own = [] if aggregate.condition is None else [f"({spark_sql(aggregate.condition, names)})"]
        self._among = "".join(f"{condition} AND " for condition in own)
        self.texts = [spark_sql(argument, names) for argument in aggregate.arguments]
        self.types = [cast(TypedExpr, argument).type for argument in aggregate.arguments]
        self.conditions = [*own, *(f"{text} IS NOT NULL" for text in self.texts)]

    @property
    def text(self) -> str:
        return self.texts[0]

    @property
    def doubles(self) -> list[str]:
        return [
            text if type_ == DOUBLE else f"CAST({text} AS DOUBLE)"
            for text, type_ in zip(self.texts, self.types, strict=True)
        ]

    def count(self, condition: str = ALWAYS) -> Part:
        """How many of the values that are not NULL satisfy a condition."""
        made = f"sum(CASE WHEN {' AND '.join([*self.conditions, f'({condition})'])} THEN {DIFF} ELSE 0 END)"
        return Part(whole_sum(made, BIGINT), "sum", BIGINT)

    def sum(self, value: str, type_: DataType, condition: str = ALWAYS) -> Part:
        """Of nothing it is 0, so that it can be added to others."""
        zero = f"CAST(0 AS {spark_type(type_)})"
        weighted = f"CASE WHEN {DIFF} > 0 THEN {value} ELSE -({value}) END"
        made = f"sum(CASE WHEN {self._among}{self.text} IS NOT NULL AND {condition} THEN {weighted} ELSE {zero} END)"
        cast_to = f"CAST({made} AS {spark_type(type_)})" if type_.name == "DECIMAL" else whole_sum(made, type_)
        return Part(cast_to, "sum", type_)

    def magnitude(self, value: str, condition: str) -> Part:
        """How much was ever added and taken away."""
        made = f"sum(CASE WHEN {self._among}{self.text} IS NOT NULL AND {condition} THEN abs({value}) ELSE 0D END)"
        return Part(made, "sum", DOUBLE)

    def extreme(self, function: str, sign: str, type_: DataType) -> Part:
        """The least or largest value among those that have come (`>`) or gone (`<`)."""
        return Part(f"{function}(CASE WHEN {self._among}{DIFF} {sign} 0 THEN {self.text} END)", function, type_)
