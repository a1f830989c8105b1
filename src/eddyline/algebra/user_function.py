"""Functions of the user's own: what the plans say of them. Their code is kept and run elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from eddyline.algebra.expression import Expr
from eddyline.algebra.functions.signature import Function, function, of_type
from eddyline.algebra.node import Operator, expressions_of
from eddyline.algebra.spelling import SpeltCall
from eddyline.algebra.types import DataType

#: how much of the hash is in the name that engines know a function by
_DIGITS = 12
_INTERNAL = re.compile(rf"\budf_(\w+)_[0-9a-f]{{{_DIGITS}}}\b", re.IGNORECASE)


@dataclass(frozen=True)
class UserFunction:
    """A function as it was declared; `hash` is that of its code and types, under which the code is found.

    `compute` gives the value for one row, in this process: the engines on Spark have other ways, and where a plan is
    sent to another process, it is left behind.
    """

    name: str  # as declared; looked up without regard to case
    hash: str
    arguments: tuple[DataType, ...]
    returns: DataType
    compute: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    #: of one that plans call and no user has declared: its code, made for a storage, for as long as a plan calls it
    code: Callable[[Any], bytes] | None = field(default=None, compare=False, repr=False)

    @property
    def internal_name(self) -> str:
        """What engines call it: databases in one process may have other functions of the same name."""
        return f"udf_{self.name.lower()}_{self.hash[:_DIGITS]}"

    @property
    def signature(self) -> Function:
        """What it takes and gives, as built-in functions say it."""
        return function(self.name, *map(of_type, self.arguments), returns=self.returns)

    def __reduce__(self) -> tuple[type[UserFunction], tuple[Any, ...]]:
        return UserFunction, (self.name, self.hash, self.arguments, self.returns)

    def __deepcopy__(self, memo: dict[int, Any]) -> UserFunction:
        return self


@dataclass(frozen=True)
class UserCall(SpeltCall):
    """A call of a user's function. `function` is its internal name, the spelling the one it was declared with."""

    definition: UserFunction = field(kw_only=True)


def is_expensive(expr: Expr) -> bool:
    """Whether it calls a user's function, which may take any time; all else is cheap."""
    return any(isinstance(part, UserCall) for part in expr.walk())


def functions_in(exprs: Iterable[Expr]) -> tuple[UserFunction, ...]:
    """The user's functions that expressions call, each once."""
    found = {part.definition for expr in exprs for part in expr.walk() if isinstance(part, UserCall)}
    return tuple(sorted(found, key=lambda function: function.internal_name))


def functions_of(plan: Operator) -> tuple[UserFunction, ...]:
    """The user's functions that a plan calls."""
    called = functions_in(expr for operator in plan.walk() for expr in expressions_of(operator))
    # a tag function is no expression: the operators on tags hold it as it is
    tag_functions = (getattr(operator, "function", None) for operator in plan.walk())
    definitions = (getattr(function, "definition", None) for function in tag_functions)
    compared = {definition for definition in definitions if isinstance(definition, UserFunction)}
    return (*called, *sorted(compared, key=lambda function: function.internal_name))


def plain_names(text: str) -> str:
    """A text of an engine with functions called as the user calls them.

    >>> plain_names("(UDF_SCORE_0123456789ab(x) > 5)").lower()
    '(score(x) > 5)'
    """
    return _INTERNAL.sub(lambda found: found[1].lower(), text)
