"""The sides of `bench.tags` ask what they should: the reference engine answers what numpy and pandas work out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bench.tags import untagged
from bench.tags.answers import different
from bench.tags.apart import untagged_sides
from bench.tags.experiments import EXPERIMENTS, TAGGER, Cell, Side, cells, reports
from bench.tags.roads import WIDTH, Traffic
from bench.tags.workload import COLUMNS, GRAINS, STATION, UNTAGGED, Batch, Stream

from eddyline.log.segment import TAG
from eddyline.session.session import Session


def _batches(cell: Cell, per_tick: int, count: int = 2, rows: int = 150) -> list[Batch]:
    return list(Stream(cell.tags, cell.grain, per_tick).batches(count, rows))


def _answered(side: Side, batches: Sequence[Batch], folder: Path) -> int:
    """In how many rows the reference engine differs."""
    assert side.query is not None and side.shape is not None and side.right is not None
    fed: dict[str, list[dict[str, Any]]] = {}
    for batch in batches:
        for stream, given in side.feed(batch).items():
            fed.setdefault(stream, []).extend(_rows(*(given if isinstance(given, tuple) else (given, None))))
    script = ""
    for stream, columns in side.streams.items():
        with (folder / f"{stream}.jsonl").open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(_written(row)) + "\n" for row in fed[stream])
        script += f"CREATE STREAM {stream} ({columns}) TIMESTAMP BY t USING json OPTIONS (path '{stream}.jsonl');\n"
    set_aside: list[object] = []
    session = Session(f"{script}{side.query};", folder, on_reject=set_aside.append)
    answers = list(session.answers())
    assert not set_aside
    return different(side.shape(session.queries["q1"], answers), side.right(batches))


def _rows(rows: pa.Table, tags: pa.Table | None) -> Iterator[dict[str, Any]]:
    """Rows as files have them, with the tags among them."""
    said = {} if tags is None else dict(zip(tags["_before"].to_pylist(), tags["_tag"].to_pylist(), strict=True))
    for number, row in enumerate(rows.to_pylist(), 1):
        if number in said:
            yield {"t": row["t"], "_op": "#", "_tag": said[number]}
        yield row


def _written(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


@pytest.mark.parametrize("share", [0, 40, 100])
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_reference_engine_gives_the_answers_that_are_expected(experiment: str, share: int, tmp_path: Path) -> None:
    for number, cell in enumerate(cells(experiment, share, WIDTH * share / 100)):
        batches = _batches(cell, per_tick=30)
        for side in cell.sides:
            if side.query is not None:
                folder = tmp_path / f"{number} {side.name}"
                folder.mkdir()
                assert _answered(side, batches, folder) == 0, (cell.grain, side.name)
        last = cell.sides[-1]
        assert last.right is not None
        assert share == 0 or len(last.right(batches)), "nothing is asked for"


@pytest.mark.parametrize("grain", GRAINS)
def test_so_many_percent_of_the_reports_are_tagged(grain: str) -> None:
    for share in (0, 20, 100):
        (batch,) = Stream(share, grain).batches(1, 20_000)
        assert (batch.words != UNTAGGED).mean() == pytest.approx(share / 100, abs=0.02)
        assert (0 if batch.tick_tags is None else batch.tick_tags.num_rows) == batch.tags
        assert grain != STATION or batch.tags <= batch.size / 5


def test_objects_move_along_streets() -> None:
    """A report is as far from the last one as the object can have gone in that time, and never off the map."""
    reported = Traffic(300, 100).batch(60).to_pandas()
    assert reported["x"].between(0, WIDTH).all() and reported["y"].between(0, WIDTH).all()
    for _, path in reported.groupby("id"):
        miles = (path["x"].diff() ** 2 + path["y"].diff() ** 2) ** 0.5
        assert (miles.dropna() <= path["t"].diff().dropna() * 90 / 3600 + 0.001).all()
        assert list(path["report"]) == list(range(1, len(path) + 1))
    assert set(reported["type"]) == {"car", "cyclist", "pedestrian"}


def test_the_same_seed_is_the_same_stream() -> None:
    one, other = (next(iter(Stream(40).batches(1, 2_000))) for _ in range(2))
    assert one.tick_tags is not None and one.tick_tags.equals(other.tick_tags)
    assert reports([one]).equals(reports([other]))
    assert [column.split()[0] for column in COLUMNS.split(", ")] == one.reports.column_names


def test_the_tagger_and_the_selection_take_the_same_reports() -> None:
    (cell,) = cells(TAGGER, 40, WIDTH * 0.4)
    batches = _batches(cell, per_tick=30)
    _, selection, tagger = cell.sides
    assert selection.right is not None and tagger.right is not None
    assert len(selection.right(batches)) == (tagger.right(batches)["tag"] != "").sum()


def test_what_is_done_for_tags_is_done_twice_on_one_side(tmp_path: Path) -> None:
    side = next(each for each in untagged_sides() if each.name == "selection")
    spent = untagged.measured(side, rows=300, settle=1, batches=2, folder=tmp_path)
    assert {name: len(seconds) for name, seconds in spent.items()} == {untagged.ONCE: 2, untagged.TWICE: 2}
    written = {
        name: {
            column for file in (tmp_path / name / "streams").rglob("*.parquet") for column in pq.read_schema(file).names
        }
        for name in spent
    }
    assert written[untagged.TWICE] - written[untagged.ONCE] == {f"{TAG}_again"}
