"""Very many tags that come at once, with no tuple between them, take time by their number."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.tag import Applicability, TickTag
from eddyline.algebra.types import INTEGER
from eddyline.log import coverage as columnar
from eddyline.reference import coverage as by_tuple
from eddyline.reference.element import Row, Stamped, TagElement

SCHEMA = Schema((Field("x", INTEGER), Field("y", INTEGER)))
COUNT = 2_000


def flood(number: int, tick: int, lifespan: int | None, attributes: tuple[str, ...] | None) -> TickTag:
    return TickTag(
        f"n{number}", Applicability("s", attributes=attributes), "u", tick, "objective", None, lifespan, "O", number
    )


@pytest.mark.parametrize("lifespan", [None, 10])
@pytest.mark.parametrize("attributes", [None, ("x",)])
def test_who_overwrites_all_the_time_leaves_little_behind(
    lifespan: int | None, attributes: tuple[str, ...] | None
) -> None:
    """What a tag has lost is written down once, so that a flood of them is not a flood of losses."""
    tags = [flood(number, number // 100, lifespan, attributes) for number in range(COUNT)]
    both = flood(COUNT, 0, lifespan, ("x", "y"))
    columns, rows = columnar.Coverage(SCHEMA, "s", [str, str], None), by_tuple.Coverage(SCHEMA, "s")
    for tag in (both, *tags):
        columns.arrive(tag)
        rows.arrive(TagElement(tag.timestamp, tag))
    assert max(len(active.losses) for active in columns._active) <= 2
    assert max(len(active.losses) for active in rows._active) <= 2
    marks = rows.marks_on(1, Stamped(COUNT // 100, Row((1, 2))))
    assert marks[-1].tag == tags[-1]


def test_a_tag_from_earlier_takes_what_a_later_one_has_taken() -> None:
    """The first is overwritten by the second from 5 on and then, by the third, from 3 on; so is the second."""
    columns, rows = columnar.Coverage(SCHEMA, "s", [str, str], None), by_tuple.Coverage(SCHEMA, "s")
    for number, tick in enumerate([1, 5, 3]):
        tag = flood(number, tick, None, None)
        columns.arrive(tag)
        rows.arrive(TagElement(tick, tag))
    assert [active.end for active in columns._active] == [3, 3, None]
    assert [active.end for active in rows._active] == [3, 3, None]


def test_tuples_behind_a_flood() -> None:
    columns = columnar.Coverage(SCHEMA, "s", [str, str], None)
    for number in range(COUNT):
        columns.arrive(flood(number, 1, None, None))
    values = pa.table({"x": pa.array([1, 2], pa.int32()), "y": pa.array([1, 2], pa.int32())})
    covered = columns.covered(columnar.Stretch.of(values, np.array([1, 2]), np.array([1, 2]))).tags.to_pylist()
    assert f'"n{COUNT - 1}"' in covered[0] and covered[1] is None
