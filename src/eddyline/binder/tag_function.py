"""CREATE TAG FUNCTION, and the tag functions that queries name."""

from __future__ import annotations

from eddyline.algebra.tag import TagFunction
from eddyline.algebra.types import BOOLEAN, DOUBLE, FLOAT, STRING
from eddyline.algebra.user_function import UserFunction
from eddyline.binder.function import Load, bind_one_of
from eddyline.binder.position import position_of
from eddyline.catalog.catalog import Catalog
from eddyline.errors import DuplicateName, InvalidTag, TypeMismatch, UnknownFunction, nearest
from eddyline.language import syntax

#: with the threshold that each has if none is said
_BUILT_IN = {"equality": 0.0, "dictionary": 0.0, "cooccurrence": 1.0, "jaccard": 0.5}
#: that of a function of the user's own which gives a score
_SCORE = 0.5


def bind_tag_function(node: syntax.CreateTagFunction, catalog: Catalog, load: Load) -> UserFunction | None:
    """The tag function that a statement declares; None if it is there already and IF NOT EXISTS was said."""
    if node.this.name.lower() in _BUILT_IN:
        raise DuplicateName(f"{node.this.name} is a built-in tag function", position_of(node.this))

    def checked(function: UserFunction) -> None:
        if function.arguments != (STRING, STRING):
            where = node.args["arguments"][0]
            raise TypeMismatch(
                f"a tag function compares the contents of two tags; {function.name} takes "
                f"({', '.join(map(str, function.arguments))})",
                position_of(where),
                f"write {function.name}(a STRING, b STRING)",
            )
        if function.returns not in (BOOLEAN, DOUBLE, FLOAT):
            raise TypeMismatch(
                f"a tag function says whether two tags match, or gives a score; {function.name} gives "
                f"{function.returns}",
                position_of(node.args["returns"]),
                "write RETURNS BOOLEAN or RETURNS DOUBLE",
            )

    return bind_one_of(catalog.tag_functions, "tag function", node, load, checked)


def tag_function(node: syntax.TagCondition, catalog: Catalog) -> TagFunction:
    """What a query means by ON TAGS … or GROUP BY TAG …."""
    name, given = node.args["this"], node.args.get("threshold")
    threshold = None if given is None else float(given.name)
    own = catalog.tag_functions.get(name.lower())
    if own is not None:
        return _of_the_user(own, threshold, node)
    built_in = name.lower()
    if built_in not in _BUILT_IN:
        guess = nearest(name, [*_BUILT_IN, *(function.name for function in catalog.tag_functions.values())])
        hint = f"did you mean {guess}?" if guess else f"there are {', '.join(_BUILT_IN).upper()}; CREATE TAG FUNCTION"
        raise UnknownFunction(f"there is no tag function {name}", position_of(node), hint)
    words = tuple(catalog.words.values()) if built_in == "dictionary" else ()
    if threshold is None:
        return TagFunction(built_in, _BUILT_IN[built_in], words=words)
    if built_in in ("equality", "dictionary"):
        raise InvalidTag(f"{built_in.upper()} takes no threshold", position_of(node))
    if built_in == "jaccard" and not 0 < threshold <= 1:
        raise InvalidTag("JACCARD's threshold is above 0 and at most 1", position_of(node))
    if built_in == "cooccurrence" and (threshold < 1 or threshold != int(threshold)):
        raise InvalidTag("COOCCURRENCE's threshold is a whole number from 1 on", position_of(node))
    return TagFunction(built_in, threshold)


def _of_the_user(function: UserFunction, threshold: float | None, node: syntax.TagCondition) -> TagFunction:
    if function.returns == BOOLEAN:
        if threshold is not None:
            raise InvalidTag(f"{function.name} says yes or no: it takes no threshold", position_of(node))
        return TagFunction(function.name.lower(), 0.0, function)
    if threshold is not None and threshold <= 0:
        raise InvalidTag("a score's threshold is above 0, for tags with nothing in common have 0", position_of(node))
    return TagFunction(function.name.lower(), _SCORE if threshold is None else threshold, function)
