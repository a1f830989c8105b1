"""A log that is written anew holds nothing of what it held before, whichever way it is put together."""

from __future__ import annotations

import json

from eddyline.log.results import Record, Results, StageResult
from eddyline.log.segment import Segment

LOG = "q/slices"


def segment(batch: int) -> Segment:
    return Segment(f"results/{LOG}/{batch}", 1, 1, (batch, batch), (0, -1), (0, 9))


def record(batch: int, anew: bool = False, start: int | None = 0) -> Record:
    segments = () if start is None else (segment(batch),)
    return Record(batch, batch, None, None, {LOG: StageResult(segments, start=start, anew=anew)})


def put_together(*records: Record) -> Results:
    results = Results()
    for one in records:
        results.take(Record.from_json(json.loads(json.dumps(one.to_json()))))
    return results


def batches(results: Results) -> list[int]:
    return [found.seq[0] for found in results.stages[LOG].segments]


def test_what_was_before_is_gone() -> None:
    results = put_together(record(0), record(1), record(2, anew=True, start=5), record(3))
    assert batches(results) == [2, 3]
    assert (results.stages[LOG].since, results.stages[LOG].anew) == (2, False)
    ended = put_together(record(0), record(1), record(2, anew=True, start=None))
    assert batches(ended) == [] and ended.stages[LOG].start is None


def test_a_snapshot_from_before_does_not_bring_it_back() -> None:
    """Upkeep folds what was committed some batches ago, while the executor has gone on."""
    results = put_together(record(0), record(1), record(2, anew=True), record(3))
    results.rest_on(put_together(record(0), record(1)))
    assert batches(results) == [2, 3]
    ended = put_together(record(0), record(1, anew=True, start=None))
    ended.rest_on(put_together(record(0)))
    assert batches(ended) == []


def test_a_snapshot_from_after_counts() -> None:
    results = put_together(record(0), record(1, anew=True), record(2), record(3))
    base = Results.from_json(json.loads(json.dumps(put_together(record(0), record(1, anew=True), record(2)).to_json())))
    results.rest_on(base)
    assert batches(results) == [1, 2, 3]
    base.take(record(3))
    assert (batches(base), base.stages[LOG].since) == ([1, 2, 3], 1)
