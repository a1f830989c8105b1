"""Very many tags that come at once, with no tuple between them, take time by their number."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eddyline.algebra.marks import read
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.tag import Applicability, TickTag
from eddyline.algebra.types import INTEGER
from eddyline.log import coverage
from eddyline.log.active_tag import ActiveTag, Stretch
from eddyline.log.coverage import Coverage
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
    columns, rows = Coverage(SCHEMA, "s", [str, str], None), by_tuple.Coverage(SCHEMA, "s")
    for tag in (both, *tags):
        columns.arrive(tag)
        rows.arrive(TagElement(tag.timestamp, tag))
    assert max(len(active.losses) for active in columns._active) <= 2
    assert max(len(active.losses) for active in rows._active) <= 2
    marks = rows.marks_on(1, Stamped(COUNT // 100, Row((1, 2))))
    assert marks[-1].tag == tags[-1]


def test_a_tag_from_earlier_takes_what_a_later_one_has_taken() -> None:
    """The first is overwritten by the second from 5 on and then, by the third, from 3 on; so is the second."""
    columns, rows = Coverage(SCHEMA, "s", [str, str], None), by_tuple.Coverage(SCHEMA, "s")
    for number, tick in enumerate([1, 5, 3]):
        tag = flood(number, tick, None, None)
        columns.arrive(tag)
        rows.arrive(TagElement(tick, tag))
    assert [active.end for active in columns._active] == [3, 3, None]
    assert [active.end for active in rows._active] == [3, 3, None]


def test_tuples_behind_a_flood() -> None:
    columns = Coverage(SCHEMA, "s", [str, str], None)
    for number in range(COUNT):
        columns.arrive(flood(number, 1, None, None))
    values = pa.table({"x": pa.array([1, 2], pa.int32()), "y": pa.array([1, 2], pa.int32())})
    covered = columns.covered(Stretch.of(values, np.array([1, 2]), np.array([1, 2]))).tags.to_pylist()
    assert f'"n{COUNT - 1}"' in covered[0] and covered[1] is None


def laid_over(taggers: int) -> Coverage:
    columns = Coverage(SCHEMA, "s", [str, str], None)
    for number in range(taggers):
        columns.arrive(TickTag("n", Applicability("s"), f"u{number}", 1, "objective", None, 10**6, "O", number))
    return columns


def test_tags_of_many_taggers_on_a_tuple_take_steps_by_their_number() -> None:
    values, steps = pa.table({"x": pa.array([1], pa.int32()), "y": pa.array([1], pa.int32())}), []
    for taggers in (100, 800):
        columns, stretch = laid_over(taggers), Stretch.of(values, np.array([1]), np.array([1]))
        steps.append(_steps_of(partial(columns.covered, stretch)))
    assert steps[1] < 10 * steps[0]  # eight times as many


def many_over_many() -> list[list[str]]:
    """What twenty taggers say of thirty tuples, some of which come late."""
    columns = laid_over(20)
    columns.arrive(TickTag("early", Applicability("s"), "later", 1, "objective", None, 5, "C", 20))
    columns.arrive(TickTag("once", Applicability("s", (7, 29)), "later", 1, "objective", None, None, "C", 21))
    values = pa.table({name: pa.array(range(30), pa.int32()) for name in ("x", "y")})
    tick = np.array([1, 2, 9, 3, 1] * 6)
    texts = columns.covered(Stretch.of(values, np.arange(1, 31), tick)).tags.to_pylist()
    return [[mark.content for mark in read(text)] for text in texts]


def test_many_tags_are_laid_over_a_few_tuples_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tuples at once would take memory by their number times that of tags."""
    at_once = many_over_many()
    assert at_once[3][-1] == "early" and at_once[6][-1] == "once" and len(at_once[2]) == 20
    seen: list[int] = []
    on = ActiveTag.on

    def noted(self: ActiveTag, stretch: Stretch, texts: Any) -> Any:
        seen.append(len(stretch))
        return on(self, stretch, texts)

    monkeypatch.setattr(ActiveTag, "on", noted)
    monkeypatch.setattr(coverage, "_AT_ONCE", 44)
    assert many_over_many() == at_once
    assert max(seen) == 2


def _steps_of(work: Callable[[], Any]) -> int:
    """How many lines of Python run, those of comprehensions once for each step."""
    steps = 0

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        return count

    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(None)
    return steps


def test_of_taggers_whose_time_has_come_nothing_is_kept() -> None:
    columns = laid_over(100)
    columns.arrive(TickTag("n", Applicability("s"), "later", 9, "objective", None, 10, "O", 100))
    values = pa.table({"x": pa.array([1], pa.int32()), "y": pa.array([1], pa.int32())})
    columns.covered(Stretch.of(values, np.array([1]), np.array([5])))
    assert columns._overwritten == {("later", True): 9}


def test_to_forget_who_waits_takes_no_longer_where_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def more(first: int, count: int) -> None:
        for number in range(first, first + count):
            on = Applicability("s", (10**9,), attributes=("x",) if number % 2 else None)
            columns.arrive(TickTag("n", on, "u", 0, "objective", None, None, "C", number))

    steps = []
    for most in (20, 400):
        monkeypatch.setattr(coverage, "MOST_WAITING", most)
        columns = laid_over(10)
        more(0, most + 1)
        steps.append(_steps_of(partial(more, most + 1, 100)))
        assert len(columns) == 10 + most and sum(map(len, columns._open.values())) == 10 + most
    assert steps[1] < 1.1 * steps[0]


@pytest.mark.parametrize(
    "on",
    [
        Applicability("s", (10**9,)),
        Applicability("s", attributes=("x",), values="never"),
        Applicability("s", (5, 10**9), values="never"),
    ],
)
def test_so_many_tags_wait_and_no_more(on: Applicability, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of tags whose tuples do not come the oldest are forgotten; the others find theirs, on both engines."""
    monkeypatch.setattr(coverage, "MOST_WAITING", 10)
    monkeypatch.setattr(by_tuple, "MOST_WAITING", 10)
    columns, rows = Coverage(SCHEMA, "s", [str, str], None), by_tuple.Coverage(SCHEMA, "s")
    first, seventh = Applicability("s", attributes=("x",), values="7"), Applicability("s", (7,))
    values = pa.table({"x": pa.array([1], pa.int32()), "y": pa.array([1], pa.int32())})
    for number in range(60):
        tags = [TickTag(f"n{number}", on, "u", 0, "objective", None, None, "C", 10 * number)]
        if number in (3, 55):
            tags.append(TickTag(f"seven{number}", first, "u", 0, "objective", None, None, "C", 10 * number + 1))
            tags.append(TickTag(f"long{number}", on, "u", 0, "objective", None, 9, "C", 10 * number + 2))
        if number == 3:
            tags.append(TickTag("listed", seventh, "u", 0, "objective", None, None, "C", 10 * number + 3))
        for tag in tags:
            columns.arrive(tag)
            rows.arrive(TagElement(tag.timestamp, tag))
        for each in (columns, rows):
            assert len(each) <= 12
        assert sum(map(len, columns._open.values())) <= 12
        assert [each.tag for each in columns._active if not each.used_up] == [
            each.tag for each in rows._active if not each.used_up
        ]
        index = number + 1
        value = 7 if index == 60 else 1
        values = pa.table({"x": pa.array([value], pa.int32()), "y": pa.array([1], pa.int32())})
        text = columns.covered(Stretch.of(values, np.array([index]), np.array([0]))).tags.to_pylist()[0] or ""
        marks = [mark.tag.content for mark in rows.marks_on(index, Stamped(0, Row((value, 1))))]
        assert all(f'"{content}"' in text for content in marks)
        assert marks == {7: ["listed"], 60: ["seven55"]}.get(index, [])
