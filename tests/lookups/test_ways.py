"""A scan and look-ups at the same table: which way is taken, and that both are taken together."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import pytest

import eddyline
from eddyline.spark.lookups.asking import Job, Lookups
from eddyline.spark.lookups.costs import Costs
from laws.without_spark import LookupsInTurn, kernels_alone, one_batch
from lookups.service import lines

QUERY = "CREATE QUERY q AS SELECT t, name FROM s, people WHERE s.a = people.key"


def definition(tmp_path: Path, more: str = "", function: str = "find") -> str:
    (tmp_path / "people.jsonl").write_text(lines())
    return (
        "CREATE STREAM s (a INTEGER, t INTEGER) TIMESTAMP BY t;"
        "CREATE TABLE people (key INTEGER, name STRING, size BIGINT) USING lookup "
        f"OPTIONS (function 'lookups.service:{function}', key 'key'{more});{QUERY}"
    )


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    with kernels_alone():
        db = eddyline.connect(tmp_path / "db", heartbeat=None, clock=lambda: 0)
        yield db
        db.close()


def table_of(db: Any) -> Any:
    return db._core.engine.executor.lookups._tables["people"]


def rows_of(db: Any) -> list[Any]:
    return sorted((answer.row for answer in db.query("q").fetch()), key=lambda row: (row[0], row[1] or ""))


def test_a_scan_is_begun_when_look_ups_have_cost_as_much() -> None:
    costs = Costs(fresh=100.0)
    costs.estimate_scan(20_000_000)  # 1.2 s
    spent = 0.0
    while not costs.scan_pays(0, now=spent):
        costs.asked(10, 0.1, now=spent)
        spent += 0.1
    assert 1.2 <= spent <= 1.4
    costs.scanned(0.5, now=spent)
    assert costs.scan_seconds == 0.5
    assert not costs.scan_pays(0, now=spent + 100)  # when it is old, half of the next one is owed …
    costs.asked(10, 0.3, now=spent + 101)
    assert costs.scan_pays(0, now=spent + 101)  # … so that fewer look-ups bring it about


def test_look_ups_now_and_then_never_bring_a_scan_about() -> None:
    costs = Costs(fresh=10.0)
    costs.estimate_scan(0)
    for minute in range(1000):
        costs.asked(1, 0.05, now=60.0 * minute)
        assert not costs.scan_pays(1, now=60.0 * minute)


def test_a_scan_answers_for_all_keys(opened: Any, tmp_path: Path) -> None:
    with patch("eddyline.spark.lookups.costs._LEAST", 0.0):
        opened.sql(definition(tmp_path, f", path '{tmp_path}/people.jsonl', batch 1"))
        opened.stream("s").push([(1, 1), (2, 1), (77, 1)])
        opened.flush()
        assert rows_of(opened) == [(1, None), (1, "one"), (1, "uno")]
        table = table_of(opened)
        assert table.known.whole and table.costs.scans == 1
        calls = table.costs.calls + table.costs.failures
        opened.stream("s").push([(0, 2), (3, 3), (99, 4)])
        opened.flush()
        assert rows_of(opened)[3:] == [(2, "zero"), (3, "three")]
        assert table.costs.calls + table.costs.failures == calls  # nobody was asked for what the scan has not
        assert "people is scanned by key" in "\n".join(table.told(0.0))


def test_a_scan_that_fails_leaves_it_to_look_ups(opened: Any, tmp_path: Path) -> None:
    with patch("eddyline.spark.lookups.costs._LEAST", 0.0):
        opened.sql(definition(tmp_path, f", path '{tmp_path}/people.jsonl'"))
        (tmp_path / "people.jsonl").unlink()
        opened.stream("s").push([(1, 1)])
        opened.flush()
        assert rows_of(opened) == [(1, "one"), (1, "uno")] and table_of(opened).costs.scans == 0


def test_who_waits_is_joined_by_whichever_comes_first(tmp_path: Path) -> None:
    """The hybrid join: the scan goes on, and keys are looked up beside it."""

    class ScanLast(LookupsInTurn):
        """A scan takes as long as there is anything else to do."""

        scans: ClassVar[list[Job]] = []

        def _scan(self, *given: Any) -> Job:
            self.scans.append(super()._scan(*given))
            return lambda: None

    def at_once(*arguments: Any, **options: Any) -> Lookups:
        made = ScanLast(*arguments, **options)
        made._slots = 2
        return made

    with kernels_alone(lookups=at_once), patch("eddyline.spark.lookups.costs._LEAST", 0.0):
        db = eddyline.connect(tmp_path / "db", heartbeat=None, clock=lambda: 0)
        db.sql(definition(tmp_path, f", path '{tmp_path}/people.jsonl', batch 1"))
        db.stream("s").push([(1, 1), (2, 2), (0, 3)])
        db.flush()
        assert rows_of(db) == [(1, "one"), (1, "uno"), (2, None), (3, "zero")]  # all of them were looked up
        table = table_of(db)
        assert table.scanning and not table.known.whole and len(ScanLast.scans) == 1
        assert "looked up and scanned" in "\n".join(table.told(0.0))
        ScanLast.scans[0]()
        assert table.known.whole
        db.stream("s").push([(3, 4)])
        db.flush()
        assert rows_of(db)[4:] == [(4, "three")] and table.costs.keys == 3
        db.close()


def test_what_is_known_is_forgotten_in_time_and_kept_small(opened: Any, tmp_path: Path) -> None:
    opened.sql(definition(tmp_path, ", size 4, batch 2"))
    for key in range(100, 120):
        opened.stream("s").push([(key, key)])
        opened.flush()
    table = table_of(opened)
    assert table.known.rows <= 5 and table.costs.keys == 20
    with patch("eddyline.spark.lookups.asking.time.time", lambda: 1e12):
        opened.stream("s").push([(119, 200)])
        opened.flush()
    assert table.costs.keys == 21
    one_batch(opened._core.engine)
    files = {path for path, _ in opened._core.storage.files_below("lookups") if path.endswith(".parquet")}
    assert len(files) <= len(table.known.pieces) + 3, files  # what nobody reads is deleted


def test_many_small_answers_become_one_piece(opened: Any, tmp_path: Path) -> None:
    opened.sql(definition(tmp_path))
    for key in range(20):
        opened.stream("s").push([(key, key)])
        opened.flush()
    known = table_of(opened).known
    assert known.rows >= 20 and len(known.pieces) < 12
    manifest = json.loads((tmp_path / "db/lookups/people/known.json").read_text())
    assert [piece[0] for piece in manifest["pieces"]] == known.paths


def test_patience_ends(opened: Any, tmp_path: Path) -> None:
    """Who waits too long meets nothing, which is told; the next one asks again."""
    opened.sql(definition(tmp_path, ", patience '100 ms'", function="fail"))
    opened.stream("s").push([(1, 1), (2, 2)])
    opened.flush()
    assert rows_of(opened) == []
    assert any("has not answered for" in warning for warning in opened._core.warnings)
    assert any("nobody is there" in warning for warning in opened._core.warnings)
    failures = table_of(opened).costs.failures
    one_batch(opened._core.engine)
    opened.stream("s").push([(1, 3)])
    opened.flush()
    assert table_of(opened).costs.failures > failures


def test_keys_that_cannot_be_asked_for_do_not_keep_others(tmp_path: Path) -> None:
    """A group that fails is asked for in halves, until the bad key is alone."""
    service = tmp_path / "service.py"
    service.write_text(
        "import pyarrow as pa\n"
        "def find(keys):\n"
        "    if 13 in keys.to_pylist():\n"
        "        raise ValueError('unlucky')\n"
        "    names = [str(key) for key in keys.to_pylist()]\n"
        "    return {'key': keys, 'name': names, 'size': pa.nulls(len(keys), pa.int64())}\n"
    )
    with kernels_alone():
        db = eddyline.connect(tmp_path / "db", heartbeat=None, clock=lambda: 0)
        text = definition(tmp_path, ", patience '1 hour'").replace("lookups.service", str(service))
        db.sql(text)
        keys = random.Random(1).sample(range(40), 40)
        db.stream("s").push([(key, key) for key in keys])
        end = time.monotonic() + 60
        while len(rows_of(db)) < 39 and time.monotonic() < end:
            one_batch(db._core.engine)
        assert rows_of(db) == [(key, str(key)) for key in range(40) if key != 13]
        assert table_of(db).keys_waited_for == 1
        db.close()
