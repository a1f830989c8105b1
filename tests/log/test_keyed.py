"""What a stream with a KEY takes: the columns decide as the reference engine does row by row."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import BIGINT, DOUBLE, INTEGER, STRING
from eddyline.catalog.extent import PUSHED, Extent
from eddyline.columnar.types import arrow_schema
from eddyline.errors import DuplicateKey, EddylineError, MissingKey
from eddyline.log.ingest import Ingest
from eddyline.log.journal import Journal
from eddyline.log.key_runs import KeyRuns
from eddyline.log.key_values import key_hashes, key_numbers
from eddyline.log.keyed import KeyedStream
from eddyline.log.lookup import last_rows
from eddyline.log.merging import MERGED, Merge
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.log.storage import Storage
from eddyline.reference.element import Change
from eddyline.session.inflow import Inflow
from eddyline.sources.arrival import DELETE, INSERT, REPLACE, TAG, Arrival, Reject
from eddyline.sources.chunk import chunk_of_arrivals
from eddyline.sources.horizon import LOWEST
from laws.streams import EXAMPLES
from log.statements import updated

FIELDS = (Field("v", INTEGER), Field("k", STRING), Field("n", DOUBLE), Field("t", BIGINT))
STREAM = Extent("s", PUSHED, Schema(FIELDS), timestamp="t", key=("k", "n"))

Standing = dict[int, tuple[int, tuple[Any, ...]]]
Given = tuple[str, int | None, tuple[str, float], int]  # op, ref, key, tick


def rows_of(kinds: list[Given], timed: bool = True) -> list[Arrival]:
    """Arrivals; the value of each is its line."""
    found = []
    for line, (op, ref, (name, number), tick) in enumerate(kinds, 1):
        values: tuple[Any, ...] | None = (line, name, number, tick)
        index = ref if op in (DELETE, REPLACE) else None
        if op == DELETE:
            values = (None, name, number, None) if index is None else None
        at = tick if timed and op in (INSERT, REPLACE) else None
        tag = {"content": "x"} if op == TAG else None
        found.append(Arrival("s", line, op, None if op == TAG else values, at, index, tag, "f", f"row {line}"))
    return found


def in_the_reference(
    extent: Extent, rows: list[Arrival], clock: dict[int, int] | None = None
) -> tuple[Standing, list[Reject]]:
    """`clock`: what it shows before some of the rows, by place."""
    rejects: list[Reject] = []
    inflow = Inflow(1_000_000, lambda row, why: rejects.append(Reject(row.extent, row.file, row.line, row.text, why)))
    inflow.add_stream(extent)
    standing: Standing = {}
    for place, row in enumerate(rows):
        inflow.reached = (clock or {}).get(place, inflow.reached)
        inflow.take(row)
    inflow.end_batch()
    for change in inflow.feed.batches[0].elements.get("s", ()):
        if isinstance(change, Change):
            assert (change.old is None) == (change.index not in standing)
            standing.pop(change.index, None)
            if change.new is not None:
                standing[change.index] = (change.new.tick, change.new.row.values)
    return standing, rejects


class Opened:
    """A database's log of the stream."""

    def __init__(self, folder: str | Path, extent: Extent = STREAM) -> None:
        self.rejects: list[Reject] = []
        self.extent = extent
        self.storage = Storage(str(folder))
        self.journal = Journal(self.storage)
        self.ingest = Ingest(self.storage, self.journal, self.rejects.append)

    def take(self, rows: list[Arrival]) -> None:
        tags = ["{}" if row.op == TAG else None for row in rows]
        self.ingest.append({"s": self.extent}, [chunk_of_arrivals(self.extent, "f", rows, tags, (), 0)])

    def standing(self) -> Standing:
        state = self.journal.state("s")
        everything = list(range(1, state.last_index + 1))
        found = last_rows(self.storage, state.segments, everything, arrow_schema(self.extent.schema)).to_pylist()
        names = self.extent.schema.names
        return {row[INDEX]: (row[TICK], tuple(row[n] for n in names)) for row in found if row[DIFF] > 0}

    def merge(self) -> None:
        """All segments become one."""
        base = self.journal.at(self.journal.number)
        segments = tuple(base.state("s").segments)
        if len(segments) > 1:
            merge = Merge("s", segments, f"streams/s/{MERGED}{self.journal.number}.parquet")
            base.exchange({"s": merge.exchange(merge.run(self.storage))})
        self.journal.fold(base)

    def entries(self) -> int:
        return len(self.ingest._keyed["s"])


def in_the_log(
    extent: Extent, rows: list[Arrival], cuts: list[int], clock: dict[int, int] | None = None
) -> tuple[Standing, list[Reject]]:
    """The rows in batches; before some of them the database is opened anew, before some the clock moves on."""
    rejects: list[Reject] = []
    borders = sorted({0, len(rows), *(cut % (len(rows) + 1) for cut in cuts)})
    with tempfile.TemporaryDirectory() as folder:
        opened = Opened(folder, extent)
        for start, end in pairwise(borders):
            if start in (clock or {}):
                opened.ingest.advance((clock or {})[start])
            opened.take(rows[start:end])
            if start % 3 == 1:
                opened.merge()
            if start % 3:
                rejects += opened.rejects
                opened = Opened(folder, extent)
        return opened.standing(), rejects + opened.rejects


ops = st.sampled_from([INSERT, INSERT, INSERT, REPLACE, REPLACE, DELETE, DELETE, TAG])
refs = st.one_of(st.none(), st.none(), st.integers(1, 6))
keys = st.tuples(st.sampled_from(["x", "y"]), st.sampled_from([0.0, -0.0, float("nan")]))
kinds = st.lists(st.tuples(ops, refs, keys, st.integers(0, 30)), min_size=1, max_size=25)


def shown(result: tuple[Standing, list[Reject]]) -> str:
    """NaN is not NaN in Python, but its text is."""
    standing, rejects = result
    return f"{sorted(standing.items())} {rejects}"


@settings(max_examples=400 * EXAMPLES, deadline=None)
@given(kinds, st.sampled_from([None, None, 0, 3, 10]), st.lists(st.integers(0, 30), max_size=4), st.booleans())
def test_the_log_takes_what_the_reference_takes(
    given_rows: list[Given], retain: int | None, cuts: list[int], timed: bool
) -> None:
    extent = replace(STREAM, retain=retain, timestamp="t" if timed else None)
    rows = rows_of(given_rows, timed)
    assert shown(in_the_log(extent, rows, cuts)) == shown(in_the_reference(extent, rows))


@settings(max_examples=400 * EXAMPLES, deadline=None)
@given(
    kinds,
    st.sampled_from([None, None, 0, 3, 10]),
    st.lists(st.tuples(st.integers(0, 24), st.integers(1, 9)), max_size=4),
    st.lists(st.integers(0, 30), max_size=4),
)
def test_rows_without_times_stand_where_they_do_in_the_reference(
    given_rows: list[Given], retain: int | None, moves: list[tuple[int, int]], cuts: list[int]
) -> None:
    """A tuple that comes again moves to where the clock is; a replacement behind it in the same push stays there."""
    extent = replace(STREAM, retain=retain, timestamp=None)
    rows = rows_of(given_rows, timed=False)
    clock: dict[int, int] = {}
    for place, ticks in sorted(moves):
        if place < len(rows):
            clock[place] = max(clock.values(), default=0) + ticks
    wanted = in_the_reference(extent, rows, clock)
    assert shown(in_the_log(extent, rows, [*clock, *cuts], clock)) == shown(wanted)


@pytest.mark.parametrize("ref", [None, 1])
def test_a_replacement_without_a_time_stays_where_the_push_has_put_its_tuple(ref: int | None) -> None:
    key = ("x", 0.0)
    rows = rows_of([(INSERT, None, key, 0), (INSERT, None, key, 0), (REPLACE, ref, key, 0)], timed=False)
    extent, clock = replace(STREAM, timestamp=None), {0: 5, 1: 50}
    for cuts in ([1], [1, 2]):
        standing, _ = in_the_log(extent, rows, cuts, clock)
        assert standing == in_the_reference(extent, rows, clock)[0] == {1: (50, (3, *key, 0))}


@settings(max_examples=100 * EXAMPLES, deadline=None)
@given(kinds, st.sampled_from([None, 3, 10]), st.lists(st.integers(0, 30), max_size=3))
def test_hashes_may_collide(given_rows: list[Given], retain: int | None, cuts: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eddyline.log.keyed.key_hashes", lambda keys: np.zeros(keys.num_rows, np.uint64))
        extent, rows = replace(STREAM, retain=retain), rows_of(given_rows)
        assert shown(in_the_log(extent, rows, cuts)) == shown(in_the_reference(extent, rows))


X, Y = ("x", 1.0), ("y", 1.0)


def test_reasons() -> None:
    rows = rows_of(
        [
            (INSERT, None, X, 5),
            (INSERT, None, Y, 20),
            (REPLACE, None, X, 21),  # tuple 1 is at 5, beyond the horizon of 10
            (INSERT, None, X, 9),
            (INSERT, None, X, 12),  # tuple 3
            (REPLACE, None, X, 8),
            (REPLACE, 2, X, 20),
            (DELETE, None, X, 0),
            (DELETE, None, X, 0),
            (INSERT, None, X, 13),  # tuple 4
            (DELETE, 3, X, 0),
            (DELETE, 5, X, 0),
        ]
    )
    extent = replace(STREAM, retain=10)
    key = "the key (k 'x', n 1.0)"
    expected = [
        (3, f"no tuple within the retention of s has {key}"),
        (4, "tick 9 is 1 tick beyond the retention of s"),
        (6, f"{key}: its new tick 8 is 2 ticks beyond the retention of s"),
        (7, f"_ref 2: tuple 3 has {key}"),
        (9, f"no tuple within the retention of s has {key}"),
        (11, "_ref 3: tuple 3 is deleted already"),
        (12, "_ref 5: s has tuples 1 to 4"),
    ]
    standing, rejects = in_the_log(extent, rows, [])
    assert [(reject.line, reject.reason) for reject in rejects] == expected
    assert {index: values[0] for index, (_, values) in standing.items()} == {1: 1, 2: 2, 4: 10}
    assert (standing, rejects) == in_the_reference(extent, rows)


# -- statements -------------------------------------------------------------------------------------------------------


def update(opened: Opened, new: list[tuple[int, int, str | None, int]]) -> int:
    """New versions: index, the tick it had, the new key and tick."""
    index, _, name, tick = ([row[at] for row in new] for at in range(4))
    values = {"k": pa.array(name, pa.string()), "n": [1.0] * len(new), "v": [0] * len(new), "t": tick}
    return updated(opened.storage, opened.journal, opened.ingest, opened.extent, pa.table({INDEX: index, **values}))


def test_an_update_may_exchange_keys_but_not_give_one_twice(tmp_path: Path) -> None:
    opened = Opened(tmp_path)
    opened.take(rows_of([(INSERT, None, X, 1), (INSERT, None, Y, 2), (INSERT, None, ("z", 1.0), 3)]))
    assert update(opened, [(1, 1, "y", 1), (2, 2, "x", 2)]) == 2
    before = opened.standing()
    both = "tuples {} and {} of s would both have the key (k '{}', n 1.0)"
    for new, message in (
        ([(1, 1, "z", 1)], both.format(3, 1, "z")),
        ([(1, 1, "q", 1), (2, 2, "q", 2)], both.format(1, 2, "q")),
    ):
        with pytest.raises(DuplicateKey) as problem:
            update(opened, new)
        assert problem.value.message == message
    with pytest.raises(MissingKey) as missing:
        update(opened, [(1, 1, None, 1)])
    assert missing.value.message == "s: k is NULL, but it is a KEY column"
    assert opened.standing() == before and opened.journal.number == 2
    opened.take(rows_of([(REPLACE, None, X, 7)]))  # the look-up knows of the exchange
    assert opened.standing()[2][0] == 7 and not opened.rejects


statements = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from("xyz"), st.integers(0, 30)),
    min_size=1,
    max_size=3,
    unique_by=lambda s: s[0],
)


@settings(max_examples=150 * EXAMPLES, deadline=None)
@given(
    st.lists(
        st.tuples(st.just(INSERT), st.none(), st.tuples(st.sampled_from("xyz"), st.just(1.0)), st.integers(0, 30))
    ),
    statements,
    st.sampled_from([None, 5]),
    st.booleans(),
)
def test_an_update_fails_where_the_reference_does(
    given_rows: list[Given], new: list[tuple[int, str, int]], retain: int | None, reopen: bool
) -> None:
    extent = replace(STREAM, retain=retain)
    rows = rows_of(given_rows)
    inflow = Inflow(1_000_000, lambda row, why: None)
    inflow.add_stream(extent)
    with tempfile.TemporaryDirectory() as folder:
        opened = Opened(folder, extent)
        for row in rows:
            inflow.take(row)
        if rows:
            opened.take(rows)
        if reopen:
            opened = Opened(folder, extent)
        log, standing = inflow._logs["s"], opened.standing()
        horizon = LOWEST if log.horizon is None else log.horizon
        hit = sorted(
            (index, standing[index][0], name, tick)
            for index, name, tick in new
            if index in standing and standing[index][0] >= horizon and tick >= horizon
        )
        problems: list[str | None] = []
        for run in (
            lambda: update(opened, hit) if hit else None,
            lambda: log.replace_all([(i, tick, (0, name, 1.0, tick)) for i, _, name, tick in hit], log.horizon),
        ):
            try:
                run()
                problems.append(None)
            except EddylineError as problem:
                problems.append(problem.message)
        assert problems[0] == problems[1]
        assert opened.standing() == {i: (s.tick, s.row.values) for i, s in log.standing()}


# -- the look-up ------------------------------------------------------------------------------------------------------


def test_what_is_kept_levels_off(tmp_path: Path) -> None:
    opened = Opened(tmp_path, replace(STREAM, retain=100))
    most = []
    for batch in range(60):
        opened.take(rows_of([(INSERT, None, (f"{batch}-{n}", 0.0), 10 * batch) for n in range(20)]))
        most.append(opened.entries())
    assert max(most) <= 3 * 11 * 20  # 11 batches are within the retention
    assert max(most[30:]) <= max(most[:30])


def test_tuples_that_come_and_go_leave_nothing(tmp_path: Path) -> None:
    opened = Opened(tmp_path)
    for batch in range(30):
        opened.take(rows_of([(INSERT, None, (f"{n}", 0.0), batch) for n in range(20)]))
        opened.take(rows_of([(DELETE, None, (f"{n}", 0.0), batch) for n in range(20)]))
        assert opened.entries() <= 60
    for batch in range(30):
        opened.take(rows_of([(INSERT, None, (f"{n}", 0.0), batch) for n in range(20)]))
    assert len(opened.standing()) == 20 and opened.journal.state("s").last_index == 31 * 20


def found(runs: KeyRuns, hashes: list[int], horizon: int = LOWEST) -> list[tuple[int, int]]:
    """The tuples that may have one of these keys, with their places in the log."""
    index, seq = runs.find(np.array(hashes, np.uint64), horizon)
    return sorted(zip(index.tolist(), seq.tolist(), strict=True))


def test_new_versions_need_no_new_entries() -> None:
    runs = KeyRuns()
    hashes, index = np.array([5, 5, 9, 1], np.uint64), np.array([1, 2, 3, 4])
    runs.add(hashes, index, 10 * index, index, LOWEST)
    assert found(runs, [5, 7]) == [(1, 1), (2, 2)]
    assert found(runs, [5, 9], 15) == [(2, 2), (3, 3)]
    runs.move(hashes[:1], index[:1], np.array([50]), np.array([6]))
    runs.drop(hashes[1:2], index[1:2])
    assert found(runs, [5], 45) == [(1, 6)] and len(runs) == 4
    runs.add(np.array([5] * 4, np.uint64), np.arange(5, 9), np.full(4, 60), np.arange(7, 11), 45)
    assert found(runs, [1, 5, 9]) == [(1, 6), (5, 7), (6, 8), (7, 9), (8, 10)] and len(runs) == 5


def test_a_new_version_reads_the_one_before_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the tuple has been revised, and however many others there are."""
    opened = Opened(tmp_path)
    for batch in range(5):
        opened.take(rows_of([(INSERT, None, X, batch), (INSERT, None, (f"{batch}", 0.0), batch)]))
    read, read_table = [], Storage.read_table
    monkeypatch.setattr(Storage, "read_table", lambda self, *rest: (read.append(rest[0]), read_table(self, *rest))[1])
    opened.take(rows_of([(INSERT, None, X, 9)]))
    assert len(read) == 1
    assert opened.standing()[1] == (9, (1, *X, 9))


def test_a_push_of_new_keys_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Opened(tmp_path)
    opened.take(rows_of([(INSERT, None, X, 1)]))
    with monkeypatch.context() as watched:
        watched.setattr(Storage, "read_table", lambda *_: pytest.fail("the log was read"))
        opened.take(rows_of([(INSERT, None, Y, 1)]))
    assert len(opened.standing()) == 2


def test_keys_of_all_types() -> None:
    moment = datetime(2026, 1, 1, 12)
    columns: dict[str, Any] = {
        "text": pa.array(["", "a", "a"]),
        "real": pa.array([0.0, float("nan"), -float("nan")]),
        "short": pa.array([0.0, -0.0, 0.0], pa.float32()),
        "exact": pa.array([Decimal("1.50"), Decimal("-2.00"), Decimal("-2.00")]),
        "flag": pa.array([False, True, True]),
        "day": pa.array([date(2026, 1, 1), date(1969, 1, 1), date(1969, 1, 1)]),
        "moment": pa.array([moment, moment + timedelta(1), moment + timedelta(1)], pa.timestamp("us", tz="UTC")),
        "length": pa.array([timedelta(0), timedelta(1), timedelta(1)]),
        "small": pa.array([0, -1, -1], pa.int8()),
    }
    for name, column in columns.items():
        table = pa.table({name: column})
        hashes, numbers = key_hashes(table), key_numbers(table)
        assert hashes[1] == hashes[2] and numbers[1] == numbers[2], name
        if name != "short":  # 0.0 = -0.0
            assert hashes[0] != hashes[1] and numbers[0] != numbers[1], name
    table = pa.table(columns)
    assert key_hashes(table.slice(1)).tolist() == key_hashes(table).tolist()[1:]
    assert len(key_hashes(table.slice(3))) == 0 and len(key_numbers(table.slice(3))) == 0


def test_what_fails_while_keys_are_learned_is_seen_unless_there_is_no_memory(tmp_path: Path) -> None:
    """Rows that are written stay written; what is known of keys is built anew from the log."""
    storage = Storage(str(tmp_path))
    journal = Journal(storage)
    rejects: list[Reject] = []
    ingest = Ingest(storage, journal, rejects.append)

    def push(op: str, name: str, tick: int) -> None:
        rows = rows_of([(op, None, (name, 1.0), tick)])
        ingest.append({"s": STREAM}, [chunk_of_arrivals(STREAM, "f", rows, [None], (), 0)])

    push(INSERT, "a", 1)
    with patch.object(KeyedStream, "take", side_effect=MemoryError):
        push(INSERT, "b", 2)
    with patch.object(KeyedStream, "take", side_effect=IndexError("ours")), pytest.raises(IndexError, match="ours"):
        push(INSERT, "c", 3)
    assert journal.state("s").last_index == 3
    for name in "abc":
        push(DELETE, name, 4)
    assert not rejects and sum(segment.minus for segment in journal.state("s").segments) == 3
