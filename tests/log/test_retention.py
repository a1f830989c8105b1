"""What a stream takes within its retention: the columns decide as the reference engine does row by row."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import BIGINT, INTEGER
from eddyline.catalog.extent import PUSHED, Extent
from eddyline.columnar.types import arrow_schema
from eddyline.log.ingest import Ingest
from eddyline.log.journal import Journal
from eddyline.log.lookup import last_rows
from eddyline.log.revisions import Revisions
from eddyline.log.segment import DIFF, INDEX, TICK, Exchange
from eddyline.log.storage import Storage
from eddyline.reference.element import Change
from eddyline.session.inflow import Inflow
from eddyline.sources.arrival import DELETE, INSERT, REPLACE, TAG, Arrival, Reject
from eddyline.sources.chunk import chunk_of_arrivals
from eddyline.sources.horizon import LOWEST, horizons
from laws.streams import EXAMPLES
from log.statements import updated

STREAM = Extent("s", PUSHED, Schema((Field("v", INTEGER), Field("t", BIGINT))), timestamp="t")
UNTIMED = replace(STREAM, timestamp=None)
STREAM_10 = replace(STREAM, retain=10)

Standing = dict[int, tuple[int, tuple[Any, ...]]]


def rows_of(kinds: list[tuple[str, int, int]], timed: bool = True) -> list[Arrival]:
    """Arrivals from (op, ref, tick); the value of each is its line."""
    found = []
    for line, (op, ref, tick) in enumerate(kinds, 1):
        values = (line, tick) if op in (INSERT, REPLACE) else None
        at = tick if timed and values is not None else None
        tag = {"content": "x"} if op == TAG else None
        index = ref if op in (DELETE, REPLACE) else None
        found.append(Arrival("s", line, op, values, at, index, tag, "f", f"row {line}"))
    return found


def in_the_reference(extent: Extent, rows: list[Arrival]) -> tuple[Standing, list[Reject]]:
    rejects: list[Reject] = []
    inflow = Inflow(1_000_000, lambda row, why: rejects.append(Reject(row.extent, row.file, row.line, row.text, why)))
    inflow.add_stream(extent)
    standing: Standing = {}
    for row in rows:
        inflow.take(row)
    inflow.end_batch()
    for change in inflow.feed.batches[0].elements.get("s", ()):
        if isinstance(change, Change):
            standing.pop(change.index, None)
            if change.new is not None:
                standing[change.index] = (change.new.tick, change.new.row.values)
    return standing, rejects


def opened(folder: str, rejects: list[Reject]) -> tuple[Storage, Journal, Ingest]:
    storage = Storage(folder)
    journal = Journal(storage)
    return storage, journal, Ingest(storage, journal, rejects.append)


def in_the_log(extent: Extent, rows: list[Arrival], cuts: list[int]) -> tuple[Standing, list[Reject]]:
    """The rows in batches; before each, the database is opened anew."""
    rejects: list[Reject] = []
    borders = sorted({0, len(rows), *(cut % (len(rows) + 1) for cut in cuts)})
    with tempfile.TemporaryDirectory() as folder:
        for start, end in pairwise(borders):
            _, journal, ingest = opened(folder, rejects)
            some = rows[start:end]
            tags = ["{}" if row.op == TAG else None for row in some]
            ingest.append({"s": extent}, [chunk_of_arrivals(extent, "f", some, tags, (), 0)])
            if start % 2:
                journal.fold(journal.at(journal.number))
        storage, journal, _ = opened(folder, rejects)
        state = journal.state("s")
        everything = list(range(1, state.last_index + 1))
        found = last_rows(storage, state.segments, everything, arrow_schema(extent.schema)).to_pylist()
        standing = {row[INDEX]: (row[TICK], (row["v"], row["t"])) for row in found if row[DIFF] > 0}
    return standing, rejects


ops = st.sampled_from([INSERT, INSERT, INSERT, REPLACE, REPLACE, DELETE, TAG])
kinds = st.lists(st.tuples(ops, st.integers(0, 9), st.integers(0, 30)), min_size=1, max_size=25)


@settings(max_examples=250 * EXAMPLES, deadline=None)
@given(kinds, st.sampled_from([None, 0, 3, 10]), st.lists(st.integers(0, 30), max_size=4), st.booleans())
def test_the_log_takes_what_the_reference_takes(
    given_rows: list[tuple[str, int, int]], retain: int | None, cuts: list[int], timed: bool
) -> None:
    extent = replace(STREAM if timed else UNTIMED, retain=retain)
    rows = rows_of(given_rows, timed)
    assert in_the_log(extent, rows, cuts) == in_the_reference(extent, rows)


def test_reasons() -> None:
    rows = rows_of(
        [
            (INSERT, 0, 5),
            (INSERT, 0, 20),
            (INSERT, 0, 9),  # 1 tick too late, and no tuple: the next one is tuple 3
            (INSERT, 0, 10),
            (DELETE, 1, 0),  # tuple 1 was at 5
            (REPLACE, 3, 8),
            (REPLACE, 3, 40),  # from here on the horizon is 30
            (DELETE, 2, 0),
            (DELETE, 4, 0),
        ]
    )
    _, rejects = in_the_log(replace(STREAM, retain=10), rows, [])
    assert [(reject.line, reject.reason) for reject in rejects] == [
        (3, "tick 9 is 1 tick beyond the retention of s"),
        (5, "_ref 1: tuple 1 is beyond the retention of s"),
        (6, "_ref 3: its new tick 8 is 2 ticks beyond the retention of s"),
        (8, "_ref 2: tuple 2 is beyond the retention of s"),
        (9, "_ref 4: s has tuples 1 to 3"),
    ]
    assert rejects[0].text == "row 3"


def test_a_tuple_without_a_text_is_shown_by_its_values() -> None:
    rows = [replace(row, text="") for row in rows_of([(INSERT, 0, 50), (INSERT, 0, 9)])]
    _, rejects = in_the_log(replace(STREAM, retain=10), rows, [])
    assert [reject.text for reject in rejects] == ['{"v": 2, "t": 9}']


def test_a_tuple_that_the_log_has_forgotten_is_beyond_the_retention(tmp_path: Path) -> None:
    """Whoever deletes segments before the horizon changes no reason."""
    rejects: list[Reject] = []
    extent = replace(STREAM, retain=10)
    _, journal, ingest = opened(str(tmp_path), rejects)
    for some in ([(INSERT, 0, 5)], [(INSERT, 0, 50)]):
        ingest.append({"s": extent}, [chunk_of_arrivals(extent, "f", rows_of(some), [None], (), 0)])
    forgotten = journal.state("s").segments[0]
    base = journal.at(journal.number)
    base.exchange({"s": Exchange(frozenset({forgotten.path}))})
    journal.fold(base)
    _, _, ingest = opened(str(tmp_path), rejects)
    ingest.append({"s": extent}, [chunk_of_arrivals(extent, "f", rows_of([(DELETE, 1, 0)]), [None], (), 0)])
    assert [reject.reason for reject in rejects] == ["_ref 1: tuple 1 is beyond the retention of s"]


def test_the_horizon_outlasts_the_process(tmp_path: Path) -> None:
    rejects: list[Reject] = []
    _, journal, ingest = opened(str(tmp_path), rejects)
    assert STREAM_10.horizon(journal.state("s").top) is None
    ingest.append({"s": STREAM}, [chunk_of_arrivals(STREAM, "f", rows_of([(INSERT, 0, 50)]), [None], (), 0)])
    ingest.append({"s": STREAM}, [chunk_of_arrivals(STREAM, "f", rows_of([(DELETE, 1, 0)]), [None], (), 0)])
    for folded in (False, True):
        if folded:
            journal.fold(journal.at(journal.number))
        _, journal, _ = opened(str(tmp_path), rejects)
        state = journal.state("s")
        assert (state.top, STREAM_10.horizon(state.top), STREAM.horizon(state.top)) == (50, 40, None)


def test_a_statement_is_one_step(tmp_path: Path) -> None:
    """All its revisions meet the horizon that stood when it came, although the first of them moves it."""
    rejects: list[Reject] = []
    extent = replace(STREAM, retain=10)
    storage, journal, ingest = opened(str(tmp_path), rejects)
    rows = rows_of([(INSERT, 0, 5), (INSERT, 0, 15), (INSERT, 0, 16), (INSERT, 0, 20)])
    ingest.append({"s": extent}, [chunk_of_arrivals(extent, "f", rows, [None] * 4, (), 0)])
    new = pa.table({INDEX: [1, 2, 3, 4], "v": [7] * 4, "t": [90, 100, 9, 60]})
    assert updated(storage, journal, ingest, extent, new) == 2  # tuple 1 is beyond, tuple 3 would be
    assert rejects == [
        Reject("s", "UPDATE", 3, '{"v": 7, "t": 9}', "_ref 3: its new tick 9 is 1 tick beyond the retention of s")
    ]
    assert journal.state("s").top == 100
    assert updated(storage, journal, ingest, extent, new.slice(0, 1)) == 0


def test_a_dead_sensor_does_not_hold_up_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many revisions in vain, each of which would make the next one good, are settled at once."""
    rounds = []
    judge = Revisions._judge
    monkeypatch.setattr(Revisions, "_judge", lambda self, horizon: (rounds.append(1), judge(self, horizon)))
    rows = [(INSERT, 0, 0), (INSERT, 0, 100)] + [(REPLACE, 1 + n % 2, 100 + n) for n in range(500)]
    extent = replace(STREAM, retain=10)
    result = in_the_log(extent, rows_of(rows), [])
    assert len(rounds) <= 3
    assert result == in_the_reference(extent, rows_of(rows))
    assert len(result[1]) == 250


def test_horizons_at_the_ends_of_the_clock() -> None:
    ticks, brings = pa.array([LOWEST, 5, 2**63 - 1]).to_numpy(), pa.array([True] * 3).to_numpy(zero_copy_only=False)
    assert horizons(ticks, brings, None, 2**63 - 1).tolist() == [LOWEST, LOWEST, 5 - (2**63 - 1)]
    assert horizons(ticks, brings, 2**63 - 1, 0).tolist() == [2**63 - 1] * 3
    assert horizons(ticks[:0], brings[:0], None, 5).tolist() == []
