"""What compares tags, as functions that the engines can call: for groups by tag and for joins by tag."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from eddyline.algebra.expression import Column, TypedExpr
from eddyline.algebra.first_tags import CARRIED
from eddyline.algebra.tag import TagFunction
from eddyline.algebra.tag_groups import LABEL, RUNS
from eddyline.algebra.tag_matches import ALL_OF_ONE, ALL_OF_OTHER, BOTH, ONE, ONE_KEY, OTHER, OTHER_KEY, TAGS
from eddyline.algebra.types import BIGINT, BOOLEAN, STRING, DataType
from eddyline.algebra.user_function import UserCall, UserFunction
from eddyline.kernels import first_tags as firsts
from eddyline.kernels import tag_groups as groups
from eddyline.kernels import tag_matches as matches
from eddyline.kernels.tag_closeness import Comparison
from eddyline.spark.tags.functions import call, made, made_over


def tag_groups(function: TagFunction, untagged: bool) -> tuple[UserCall, UserCall]:
    """What finds the tag groups of a window, and what reads a label, as `WindowTagGroups` calls them."""
    divided = _comparing("groups", (STRING,), STRING, function, partial(_dividing, untagged), untagged)
    label = made("labelled", (STRING,), STRING, groups.labelled)
    return call(divided, Column(RUNS, STRING)), call(label, Column(LABEL, STRING))


def place_of_group(label: TypedExpr) -> TypedExpr:
    """A number that stands for the group with a label."""
    return call(made("places", (STRING,), BIGINT, groups.places), label)


def tags_of(names: Sequence[str]) -> UserCall:
    """The tags of marks on tuples with these fields."""
    return call(made("listed", (STRING,), STRING, partial(matches.listed, tuple(names))), Column(TAGS, STRING))


def carried(search: Callable[[Any], bool] | None) -> UserCall:
    """The tags of marks, as `FirstTags` asks for them; of those that a query has made, the ones that are searched."""
    return call(made("carried", (STRING,), STRING, partial(firsts.listed, search)), Column(CARRIED, STRING))


def key_of_tag(tag: TypedExpr) -> TypedExpr:
    """What `carried` calls a tag, of its own text."""
    return call(made("key", (STRING,), BIGINT, firsts.keys), tag)


def comparing(function: TagFunction) -> tuple[UserCall, UserCall | None]:
    """Whether two tags match and, if objects decide that, what counts them, as `TagMatches` calls them."""
    if not Comparison(function).by_objects:
        same = _comparing("compared", (STRING, STRING), BOOLEAN, function, _comparing_contents)
        return call(same, Column(ONE, STRING), Column(OTHER, STRING)), None
    by_objects = partial(matches.compared_by_objects, Comparison(function))
    near = made("near", (BIGINT, BIGINT, BIGINT), BOOLEAN, by_objects)
    numbers = (Column(name, BIGINT) for name in (BOTH, ALL_OF_ONE, ALL_OF_OTHER))
    count = made("counted_words", (STRING,), STRING, matches.counted)
    return call(near, *numbers), call(count, Column(TAGS, STRING))


def number_of_match() -> UserCall:
    """A number that stands for two tags."""
    both = (Column(key, BIGINT) for key in (ONE_KEY, OTHER_KEY))
    return call(made("paired", (BIGINT, BIGINT), BIGINT, matches.paired), *both)


def _dividing(untagged: bool, comparison: Comparison) -> Callable[..., Any]:
    return partial(groups.divided, comparison, untagged)


def _comparing_contents(comparison: Comparison) -> Callable[..., Any]:
    return partial(matches.compared, comparison)


def _comparing(
    name: str,
    takes: tuple[DataType, ...],
    gives: DataType,
    function: TagFunction,
    code: Callable[[Comparison], Callable[..., Any]],
    more: Any = None,
) -> UserFunction:
    """A function that goes by a comparison, which brings the user's code along if it is the user's."""
    comparison = Comparison(function)
    if function.definition is None:
        return made(name, takes, gives, code(comparison))
    return made_over(
        name, takes, gives, (comparison, more), lambda own: code(comparison.with_code(own)), function.definition
    )
