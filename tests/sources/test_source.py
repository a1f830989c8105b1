"""Which files an extent has, and what can be asked of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eddyline.errors import EddylineError, InvalidDefinition, NotSupported, SourceMissing, SourceUnusable
from eddyline.sources import Arrival, Source, open_source, reach_of, read_table
from sources.extents import SECOND, extent, ticks, values, write


def opened(folder: Path, path: str) -> Source:
    source = open_source(extent("time INTEGER", path), folder, SECOND)
    assert source is not None
    return source


def test_a_folder_means_all_its_files_in_order(tmp_path: Path) -> None:
    for name, time in (("b.csv", 2), ("a.csv", 1), ("_SUCCESS", 8), (".hidden", 9)):
        write(tmp_path / name, f"time\n{time}\n")
    (tmp_path / "sub").mkdir()
    source = opened(tmp_path, ".")
    assert ticks(list(source.rows())) == [1, 2]
    assert source.total_bytes() == source.bytes_read == 14


def test_a_pattern_means_what_it_matches(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name, time in (("b1.csv", 2), ("a1.csv", 1), ("c.csv", 3), ("d/x1.csv", 4)):
        write(tmp_path / name, f"time\n{time}\n")
    assert ticks(list(opened(tmp_path, "?1.csv").rows())) == [1, 2]
    assert ticks(list(opened(tmp_path, "*/x*").rows())) == [4]
    assert ticks(list(opened(tmp_path, "[cd]*").rows())) == [3, 4]


def test_a_name_with_marks_of_patterns_is_first_of_all_a_name(tmp_path: Path) -> None:
    write(tmp_path / "a[1].csv", "time\n1\n")
    assert ticks(list(opened(tmp_path, "a[1].csv").rows())) == [1]


def test_absolute_paths_and_file_urls(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", "time\n1\n")
    for path in (str(tmp_path / "x.csv"), f"file://{tmp_path}/x.csv", f"file:{tmp_path}/x.csv"):
        assert ticks(list(opened(Path("/nowhere"), path).rows())) == [1]


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("x.csv", SourceMissing, "road: there is no file {}/x.csv"),
        ("*.csv", SourceMissing, "road: the pattern {}/*.csv gives no files"),
        ("empty", SourceMissing, "road: the folder {}/empty gives no files"),
        ("pipe", SourceUnusable, "road: {}/pipe is not a regular file"),
        ("s3://bucket/x.csv", NotSupported, "road: s3://bucket/x.csv is not a local path"),
        ("", InvalidDefinition, "road: USING csv needs a path"),
    ],
)
def test_paths_without_data(tmp_path: Path, path: str, kind: type[EddylineError], message: str) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(kind) as problem:
        opened(tmp_path, path)
    assert problem.value.message == message.format(tmp_path)


def test_every_file_of_a_folder_is_checked(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "time\n1\n")
    write(tmp_path / "b.csv", "tme\n1\n")
    with pytest.raises(SourceUnusable, match=r"b\.csv"):
        opened(tmp_path, ".")


def test_extents_without_files() -> None:
    for format in (None, "http", "websocket"):
        of = extent(format=format)
        assert open_source(of, Path(), SECOND) is None
        assert read_table(of, Path()) == ([], [])


def test_formats_that_need_spark() -> None:
    for format in ("kafka", "delta", "rate", "orc"):
        with pytest.raises(NotSupported, match=f"--engine reference reads csv, json and parquet, not {format}"):
            open_source(extent(format=format), Path(), SECOND)
    with pytest.raises(NotSupported) as problem:
        open_source(extent(format="cvs"), Path(), SECOND)
    assert problem.value.hint == "did you mean csv?"


def test_the_time_must_be_a_time(tmp_path: Path) -> None:
    write(tmp_path / "road.csv", "when\n1\n")
    for columns, timestamp, message in (
        ("when STRING", "when", "road cannot take its time from when, which is of type STRING"),
        ("when BIGINT", "wen", "road has no column wen to take its time from"),
    ):
        with pytest.raises(InvalidDefinition, match=message):
            open_source(extent(columns, timestamp=timestamp), tmp_path, SECOND)


def test_the_first_tick_is_the_smallest_that_a_tuple_has_or_gets(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", "time,_op,_ref\n7,,\n5,,\n9,,\n1,=,1\nbad,,\n,-,1\n")
    assert reach_of(opened(tmp_path, "x.csv")).first == 1
    write(tmp_path / "x.csv", "time\n")
    assert reach_of(opened(tmp_path, "x.csv")).first is None


def test_a_pass_is_lazy(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", "time\n" + "1\n" * 100_000)
    source = opened(tmp_path, "x.csv")
    passing = source.rows()
    assert isinstance(next(passing), Arrival)
    assert 0 < source.bytes_read < (source.total_bytes() or 0)
    assert len(values(list(source.rows()))) == 100_000
