"""Rows set aside are counted, and kept if the user wants them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from eddyline.errors import InvalidDefinition
from eddyline.output import RejectLog
from eddyline.sources import Reject


def reject(extent: str, line: int, text: str = "x") -> Reject:
    return Reject(extent, "road.csv", line, text, f"temp: '{line}' is bad")


def test_the_summary_counts_and_gives_the_first_reasons() -> None:
    log = RejectLog(None)
    assert log.summary() is None
    log.add(reject("road", 3))
    assert log.summary() == (
        "1 row set aside: road 1\n  road.csv:3: temp: '3' is bad\n  --rejects DIR keeps them in files"
    )
    for extent, line in (("traffic", 4), ("road", 5), ("road", 6)):
        log.add(reject(extent, line))
    assert log.summary() == (
        "4 rows set aside: road 3, traffic 1\n"
        "  road.csv:3: temp: '3' is bad\n"
        "  road.csv:4: temp: '4' is bad\n"
        "  road.csv:5: temp: '5' is bad\n"
        "  … and 1 more\n"
        "  --rejects DIR keeps them in files"
    )


def test_one_file_for_each_extent_that_has_any(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    for _ in range(2):  # a second run writes its own
        log = RejectLog(folder)
        log.add(reject("road", 3, 'a,"b\nc"'))
        log.add(reject("network/tcp.dump", 4, "half \ud800"))
        log.close()
        assert f"all of them are in {folder}" in (log.summary() or "")
    assert sorted(path.name for path in folder.iterdir()) == ["network_tcp.dump.csv", "road.csv"]
    with open(folder / "road.csv", newline="") as file:
        assert list(csv.reader(file)) == [
            ["file", "line", "reason", "text"],
            ["road.csv", "3", "temp: '3' is bad", 'a,"b\nc"'],
        ]


def test_nothing_is_made_without_rejects(tmp_path: Path) -> None:
    log = RejectLog(tmp_path / "rejects")
    log.close()
    assert not (tmp_path / "rejects").exists()


def test_data_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "road.csv").write_text("site,time\n1,2\n")
    log = RejectLog(tmp_path)
    with pytest.raises(InvalidDefinition, match="is there already and holds something else"):
        log.add(reject("road", 3))
    assert (tmp_path / "road.csv").read_text() == "site,time\n1,2\n"


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidDefinition, match="is not a folder"):
        RejectLog(tmp_path / "file")
    with pytest.raises(InvalidDefinition, match="cannot write"):
        RejectLog(tmp_path / "file" / "below").add(reject("road", 1))
