"""CREATE FUNCTION: what it declares, and which calls mean it. Whoever runs statements knows how to get at the code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from sqlglot import exp

from eddyline.algebra.printing import RESERVED
from eddyline.algebra.schema import Schema
from eddyline.algebra.types import NULL, DataType
from eddyline.algebra.user_function import UserFunction
from eddyline.binder.call import is_built_in
from eddyline.binder.expression import FUNCTION, FUNCTIONS, data_type, position_of
from eddyline.binder.rewrite import REWRITES
from eddyline.catalog.catalog import Catalog
from eddyline.errors import DuplicateName, InvalidDefinition, NotSupported, Position, TypeMismatch
from eddyline.language import syntax

#: what the parser reads in its own way, though it is written like a call
_WRITTEN_AS_CALLS = frozenset({"between", "extract", "interval", "try_cast"})
_OPTIONS = ("path", "module", "name")


@dataclass(frozen=True)
class Declaration:
    """What a statement says of a function; `options` say where its code is."""

    name: str
    arguments: tuple[DataType, ...]
    returns: DataType
    options: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, Position | None] = field(default_factory=dict)  # of the options, in the text
    gives: Schema | None = None  # of one that tables are asked with: what the rows are that it gives for keys
    key: str = ""  # … and which column has the key

    @property
    def signature(self) -> str:
        if self.gives is not None:
            columns = ", ".join(f"{field.name} {field.type}" for field in self.gives.fields)
            return f"({', '.join(map(str, self.arguments))}) RETURNS TABLE ({columns}) BY {self.key}"
        return f"({', '.join(map(str, self.arguments))}) RETURNS {self.returns}"


#: finds the code of a function that is declared; raises if it cannot be had
Load = Callable[[Declaration], UserFunction]


def declared(declaration: Declaration) -> UserFunction:
    """A function without its code, which is enough to bind what calls it."""
    said = f"{declaration.signature} {sorted(declaration.options.items())}"
    return UserFunction(declaration.name, sha256(said.encode()).hexdigest(), declaration.arguments, declaration.returns)


def bind_function(node: syntax.CreateFunction, catalog: Catalog, load: Load) -> UserFunction | None:
    """The function that a statement declares; None if it is there already and IF NOT EXISTS was said."""
    return bind_one_of(catalog.functions, "function", node, load)


def bind_one_of(
    known: Mapping[str, UserFunction],
    what: str,
    node: syntax.CreateFunction,
    load: Load,
    checked: Callable[[UserFunction], None] = lambda function: None,
) -> UserFunction | None:
    """The same for functions of one kind; `checked` looks at the declaration before the code is asked for."""
    name, place = node.this.name, position_of(node.this)
    if name.lower() in known:
        if node.args.get("exists"):
            return None
        raise DuplicateName(f"the {what} {name} exists already", place, f"DROP {what.upper()} {name} first")
    _check_name(name, place)
    using = node.args["using"]
    if using.name.lower() != "python":
        raise NotSupported(f"functions cannot be written in {using.name}", position_of(using), "write USING python")
    options = {option.args["this"].lower(): option for option in node.args.get("options") or ()}
    for key, option in options.items():
        if key not in _OPTIONS:
            hint = f"it has {', '.join(_OPTIONS)}"
            raise InvalidDefinition(f"a function has no option {key}", position_of(option), hint)
    declaration = Declaration(
        name,
        tuple(_type(argument.args["type_"]) for argument in node.args["arguments"]),
        _type(node.args["returns"]),
        {key: option.args["value"] for key, option in options.items()},
        {key: position_of(option) for key, option in options.items()},
    )
    checked(declared(declaration))
    return load(declaration)


def _check_name(name: str, place: Position | None) -> None:
    if is_built_in(name) or name.lower() in REWRITES or name.lower() in _WRITTEN_AS_CALLS:
        raise DuplicateName(f"{name} is a built-in function", place, "give it another name")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name.upper() in RESERVED:
        raise InvalidDefinition(f"a function cannot be called {name}", place, "letters, digits and _ make a name")


def _type(node: exp.DataType) -> DataType:
    found = data_type(node)
    if found == NULL:
        raise TypeMismatch("a function neither takes nor gives a value of type NULL", position_of(node))
    return found


def mark_calls(tree: exp.Expr, functions: Mapping[str, UserFunction]) -> None:
    """Tell every call in a statement which of the user's functions it means, if any."""
    for node in tree.find_all(exp.Anonymous) if functions else ():
        name = node.this if isinstance(node.this, str) else node.this.name
        found = functions.get(name.lower())
        if found is not None:
            node.meta[FUNCTION] = found
        else:
            node.meta[FUNCTIONS] = frozenset(functions)
