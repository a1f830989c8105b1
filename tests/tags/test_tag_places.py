"""Where tags stand, told from tuples: text by text and for whole columns, and what the log keeps of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Row

import eddyline
from eddyline.algebra.marks import MarkText, written
from eddyline.algebra.tag_places import moved, number_of, place_text, places_text, told_apart
from eddyline.errors import StorageUnreadable
from eddyline.log import told_apart as for_columns
from eddyline.log.segment import Segment
from eddyline.spark import writer
from laws.without_spark import kernels_alone

_NUMBERS = st.integers(-(10**6), 10**6)


@st.composite
def rows(draw: st.DrawFn) -> tuple[str | None, str | None, int, int]:
    """Marks, the places of their tags, and the tick and index of the tuple."""
    tick, index = draw(_NUMBERS), draw(st.integers(1, 10**6))
    marks, places = [], []
    for _ in range(draw(st.integers(0, 3))):
        lives, content = draw(st.booleans()), draw(st.sampled_from(["sad", 'a "b"', "x:1 @2"]))
        listed = draw(st.none() | st.just((1, 3)))
        objects: Any = "s" if listed is None else ("s", listed, None, None, False, None)
        marks.append(MarkText(0, 0, 0, objects, "u", content, None, "junk", 5 if lives else None, "O", None))
        number = number_of(draw(st.integers(0, 10**6)), draw(st.integers(0, 3)))
        places.append(place_text(draw(_NUMBERS), number, lives, tick, index))
    return written(marks), places_text(places), tick, index


@settings(max_examples=100, deadline=None)
@given(st.lists(rows(), min_size=1, max_size=12))
def test_columns_say_what_texts_say(given_rows: list[tuple[str | None, str | None, int, int]]) -> None:
    types = (pa.string(), pa.string(), pa.int64(), pa.int64())
    columns = [pa.array(each, type_) for each, type_ in zip(zip(*given_rows, strict=True), types, strict=True)]
    assert for_columns.told_apart(*columns).to_pylist() == [written(told_apart(*row)) for row in given_rows]


@given(rows(), _NUMBERS)
def test_a_tuple_that_moves_keeps_its_tags(row: tuple[str | None, str | None, int, int], by: int) -> None:
    tags, places, tick, index = row
    assert told_apart(tags, moved(places, by) if tags else None, tick + by, index) == told_apart(*row)


def test_columns_of_tuples_that_move() -> None:
    tags = pa.array(["[[1]]", "[[1]]", None, "[[1]]", "[[1]]"])
    places = pa.array([None, "-2:1:0", None, "@7:8", None])
    found = for_columns.moved_places(tags, places, pa.array([3, -2, 4, 5, 0]).to_numpy())
    assert found.to_pylist() == ["-3:1:0", "0:1:0", None, "@7:8", None]  # who does not move is as it was


def test_a_log_of_another_version_is_refused() -> None:
    value = Segment("streams/s/1.parquet", 1, 1, (1, 1), (1, 1), (1, 1), marked=True).to_json()
    assert Segment.from_json(json.loads(json.dumps(value))).marked
    with pytest.raises(StorageUnreadable, match="another version"):
        Segment.from_json({**value, "marked": True})


@pytest.mark.parametrize("marked", [True, False])
def test_a_segment_comes_back_from_a_task_as_it_is(marked: bool) -> None:
    segment = Segment("results/q/1.parquet", 1, 1, (1, 1), (1, 1), (1, 1), marked=marked)
    told = {"stage": "q", **segment.to_json(), "withheld": [], "touched": [[1, 1]]}
    (row,) = pa.RecordBatch.from_pylist([told], schema=writer._ARROW_REFERENCE).to_pylist()
    (reference,) = writer.references_of([Row(**row)])
    assert reference.segment == segment


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Any]:
    with kernels_alone(), eddyline.connect(str(tmp_path), heartbeat=None) as database:
        database.sql("CREATE STREAM s (x INTEGER, t BIGINT) TIMESTAMP BY t")
        yield database


def _tag(content: str, tick: int, **more: Any) -> dict[str, Any]:
    return {"_op": "#", "t": tick, "_tag": {"content": content, **more}}


def test_a_history_is_put_together_for_who_asks_first(db: Any, tmp_path: Path) -> None:
    """It has what was said before, and not what was taken back; what comes later is added."""
    s = db.stream("s")
    table = pa.table({"x": [None, 1], "t": [1, 1], "_op": ["#", "+"], "_tag": ['{"content": "sad"}', None]})
    s.push(table)
    s.push([_tag("Late", 2, lifespan=5, tagger="u"), {"x": 2, "t": 2}, _tag("Gone", 2, tagger="u", lifespan=3)])
    db.sql("ATTACH TAG 'Mine' TO s WITH TAG_MODE = COMBINE")
    db.sql("DETACH TAG 'Mine' FROM s")
    assert not (tmp_path / "streams" / "s$tags").exists()
    query = db.sql("CREATE QUERY q FROM HISTORY AS SELECT content, time, tagger, lifespan FROM TAGS OF s")
    s.push([_tag("New", 3), {"x": 3, "t": 3}])
    db.advance(9, closed=True)
    db.flush()
    found = sorted(answer.row for answer in query.fetch())
    assert found == [("Gone", 2, "u", 3), ("Late", 2, "u", 5), ("New", 3, "s", None), ("sad", 1, "s", None)]


def test_a_tag_in_front_of_one_tuple_stands_in_the_log_once(db: Any, tmp_path: Path) -> None:
    table = pa.table({"x": [None, 1], "t": [1, 1], "_op": ["#", "+"], "_tag": ['{"content": "sad"}', None]})
    query, tags = db.sql("SELECT x FROM s WITH TAGS"), db.sql("SELECT TAGS FROM s")
    db.stream("s").push(table)
    db.flush()
    assert [path.name for path in (tmp_path / "streams" / "s").iterdir()] == ["000000000001.parquet"]
    ((row,), (tag,)) = (list(each.fetch()) for each in (query, tags))
    assert [view.content for view in row.tags] == ["sad"]
    assert (tag.tag.content, tag.tag.timestamp, tag.tag.type) == ("sad", 1, "subjective")
