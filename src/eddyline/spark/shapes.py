"""The shapes of queries, by which those are found that are answered together."""

from __future__ import annotations

from dataclasses import replace

from eddyline.catalog.catalog import BoundQuery
from eddyline.sharing import Shape
from eddyline.spark.harmless import for_spark, is_harmless
from eddyline.spark.tags.sharing import shape_in_class
from eddyline.spark.templates import corrected

#: the names under which a bound query keeps its shape, and whether it can be shared
SHAPE, HARMLESS = "$shape", "$harmless"


def shape_of_query(query: BoundQuery) -> Shape | None:
    """The shape of a query. The query keeps it: to look it up by the query would take as long as to make it."""
    if SHAPE not in query.__dict__:
        shape = shape_in_class(query)
        query.__dict__[SHAPE] = shape and replace(corrected(shape, query), on_spark=for_spark(shape))
    found: Shape | None = query.__dict__[SHAPE]
    return found


def shared_shape(query: BoundQuery) -> Shape | None:
    """The shape of a query that can be answered together with others; None if it cannot."""
    if query.join_tree is not None:
        return None  # a class stores nothing of what it joins
    shape = shape_of_query(query)
    if shape is not None and HARMLESS not in query.__dict__:
        query.__dict__[HARMLESS] = is_harmless(shape)
    return shape if shape is not None and query.__dict__[HARMLESS] else None
