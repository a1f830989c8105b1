"""What a program pushes becomes rows as those of a file do."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from eddyline.catalog.extent import SENSED, STORED, Extent
from eddyline.errors import DuplicateName, EddylineError, TypeMismatch, UnknownColumn
from eddyline.sources import Arrival, Reject
from eddyline.sources.pushed import chunk_of, taken_turns
from sources.batch_rows import arrivals
from sources.extents import SECOND, extent

ROAD = extent()
MANY = extent("i INTEGER, x DOUBLE, w STRING, b BOOLEAN, time TIMESTAMP")
NOON = datetime(2024, 1, 1, 12)
TICK = int(NOON.replace(tzinfo=UTC).timestamp())


def pushed(rows: Any, of: Extent = ROAD, turns: int = 0) -> tuple[list[Arrival], list[tuple[int, str]]]:
    chunk = chunk_of(of, rows, SECOND, turns)
    assert chunk.file == "push" and chunk.extent == of.name
    assert all(reject.file == "push" and reject.extent == of.name for reject in chunk.rejects)
    return list(arrivals(chunk, of)), [(reject.line, reject.reason) for reject in chunk.rejects]


def test_dicts_by_name_and_tuples_by_position() -> None:
    expected = [Arrival("road", 1, "+", (1, 60, 3), 60), Arrival("road", 2, "+", (2, 61, None), 61)]
    for rows in (
        [{"site": 1, "TIME": 60, "temp": 3}, {"temp": None, "time": 61, "Site": 2}],
        [(1, 60, 3), [2, 61, None]],
        iter([(1, 60, 3), (2, 61, None)]),
        pa.table({"site": [1, 2], "Time": [60, 61], "temp": [3, None]}),
        pa.table({"site": [1, 2], "time": [60, 61], "temp": [3.0, None]}),
        pa.record_batch({"temp": [3, None], "time": [60, 61], "site": [1, 2]}),
        pd.DataFrame({"site": [1, 2], "time": [60, 61], "temp": [3, None]}),
        pd.DataFrame({"site": [1, 2], "time": [60, 61], "temp": pd.array([3, None], "Int64")}),
        pd.DataFrame({"site": [1, 2], "time": [60, 61], "temp": [3, None]}, dtype=object),
        pd.DataFrame({"site": [1, 2], "time": [60, 61], "temp": [3, None]}, index=["a", "b"]),
    ):
        assert pushed(rows) == (expected, [])
    assert pushed({"site": 1, "time": 60, "temp": 3}) == (expected[:1], [])
    assert pushed([]) == ([], [])


def test_values_that_do_not_fit_are_set_aside() -> None:
    for rows in (
        [
            {"site": 2**40, "time": 1, "temp": 1},
            {"site": 1, "time": None, "temp": 1},
            {"site": 1, "time": 1, "temp": 1},
        ],
        [(2**40, 1, 1), (1, None, 1), (1, 1, 1)],
        pa.table({"site": [2**40, 1, 1], "time": [1, None, 1], "temp": [1, 1, 1]}),
        pd.DataFrame({"temp": [1.0, 1.0, 1.0], "site": [2**40, 1, 1], "time": [1, None, 1]}),
    ):
        good, bad = pushed(rows)
        assert [row.line for row in good] == [3]
        assert bad == [
            (1, "site: 1099511627776 does not fit INTEGER"),
            (2, "time: no value, but it is the TIMESTAMP BY column"),
        ]
    assert pushed([(1, 1, "5"), (1, 1), (1, 1, 1, 1)])[1] == [
        (1, 'temp: "5" is not an INTEGER'),
        (2, "too few fields: 2 instead of 3"),
        (3, "too many fields: 4 instead of 3"),
    ]
    [reject] = chunk_of(ROAD, [{"site": 1, "time": 1, "temp": "é"}], SECOND).rejects
    assert reject == Reject("road", "push", 1, '{"site": 1, "time": 1, "temp": "é"}', 'temp: "é" is not an INTEGER')


def test_floats_are_integers_only_if_they_are_whole() -> None:
    good, bad = pushed(pd.DataFrame({"temp": [1.0, 1.5, None], "site": [1, 1, 1], "time": [1, 1, 1]}))
    assert [row.values for row in good] == [(1, 1, 1), (1, 1, None)]
    assert bad == [(2, "temp: 1.5 is not an INTEGER")]
    assert pushed([(1, 1, 1.0)])[1] == [(1, "temp: 1.0 is not an INTEGER")]


def test_rows_of_all_kinds() -> None:
    rows: list[dict[str, Any]] = [
        {"site": 1, "time": 60, "temp": 3},
        {"_op": "-", "_ref": 1},
        {"_op": "=", "_ref": 1, "site": 1, "time": 61, "temp": 4},
        {"_op": "#", "_tag": {"content": "x"}, "time": 62},
        {"_op": "#", "_tag": '{"content": "y"}'},
        {"_op": "-"},
    ]
    good, bad = pushed(rows)
    assert [(row.op, row.tick, row.ref, row.tag) for row in good] == [
        ("+", 60, None, None),
        ("-", None, 1, None),
        ("=", 61, 1, None),
        ("#", 62, None, {"content": "x"}),
        ("#", None, None, {"content": "y"}),
    ]
    assert good[1].text == '{"_op": "-", "_ref": 1}'
    assert bad == [(6, "_ref: missing; a deletion (-) needs the index of its tuple, or a stream with a KEY")]
    columns = {"site": [1, 1], "time": [60, 61], "temp": [3.0, None], "_op": ["+", "="], "_ref": [None, 1]}
    for table in (pa.table(columns), pd.DataFrame(columns)):
        good, bad = pushed(table if isinstance(table, pa.Table) else table.astype({"_ref": "Int64"}))
        assert [(row.op, row.ref, row.values) for row in good] == [("+", None, (1, 60, 3)), ("=", 1, (1, 61, None))]
        assert bad == []
    assert [row.op for row in pushed(pa.table({"_op": ["-", "-"], "_ref": [1, 2]}))[0]] == ["-", "-"]


def test_values_of_numpy_and_pandas() -> None:
    row = (np.int64(1), np.float32(0.5), np.str_("w"), np.bool_(True), np.datetime64(NOON, "ns"))
    expected = [Arrival("road", 1, "+", (1, 0.5, "w", True, NOON), TICK)]
    assert pushed([row], MANY) == (expected, [])
    assert pushed([(1, 0.5, "w", True, pd.Timestamp(NOON, tz="UTC"))], MANY) == (expected, [])
    frame = pd.DataFrame({"i": [1, 2], "x": [0.5, np.nan], "w": ["w", None], "b": [True, None], "time": [NOON, NOON]})
    for zoned in (frame, frame.assign(time=frame["time"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))):
        good, bad = pushed(zoned, MANY)
        assert (good[0], good[1].values, bad) == (expected[0], (2, None, None, None, NOON), [])
    mixed = pd.DataFrame({"i": [1, "x"], "x": [0.5, 1], "w": ["w", 7], "b": [True, 5], "time": [NOON, pd.NaT]})
    good, bad = pushed(mixed, MANY)
    assert (good, bad) == (expected, [(2, 'i: "x" is not an INTEGER')])
    assert pushed([(1, 0.5, pd.NA, None, pd.NaT)], MANY)[1] == [
        (1, "time: no value, but it is the TIMESTAMP BY column")
    ]


def test_chunked_tables_count_on() -> None:
    part = pa.table({"site": [1, 2**40], "time": [1, 1], "temp": [1, 1]})
    good, bad = pushed(pa.concat_tables([part, part, part]))
    assert [row.line for row in good] == [1, 3, 5]
    assert [line for line, _ in bad] == [2, 4, 6]


def test_sensors_take_their_turns_after_those_before() -> None:
    sensed = extent("temp INTEGER", kind=SENSED, timestamp=None, sites=(1, 2), interval=60)
    for rows in ([(1,), ("x",), (3,)], pa.table({"temp": [1, 2**40, 3]})):
        assert [row.tick for row in pushed(rows, sensed, turns=3)[0]] == [60, 120]


@pytest.mark.parametrize(
    ("names", "kind", "message", "hint"),
    [
        (("site", "time", "tmp"), UnknownColumn, "road has no column 'tmp'", "did you mean temp?"),
        (("site", "time", "zzz"), UnknownColumn, "road has no column 'zzz'", "its columns are site, time, temp"),
        (
            ("site", "time"),
            UnknownColumn,
            "the rows pushed to road have no column 'temp', which it declares",
            "their columns are site, time",
        ),
        (("site", "time", "temp", "_opp"), UnknownColumn, "road has no column '_opp'", "did you mean _op?"),
        (("site", "time", "temp", "SITE"), DuplicateName, "the rows pushed to road have two columns 'SITE'", None),
    ],
)
def test_columns_that_do_not_fit(names: tuple[str, ...], kind: type[EddylineError], message: str, hint: str) -> None:
    row = dict.fromkeys(names, 1)
    for rows in ([row], pa.Table.from_pylist([row]), pd.DataFrame([row])):
        with pytest.raises(kind) as problem:
            chunk_of(ROAD, rows, SECOND)
        assert (problem.value.message, problem.value.hint) == (message, hint)


def test_what_is_no_row() -> None:
    for rows in ([1, 2], ["abc"], (1, 60, 3)):
        with pytest.raises(TypeMismatch, match="row 1 pushed to road is neither a dict nor a tuple"):
            chunk_of(ROAD, rows, SECOND)
    with pytest.raises(UnknownColumn, match="has no column '_op'"):
        chunk_of(extent(kind=STORED), [{"_op": "-"}], SECOND)


def test_pandas_is_not_loaded_with_us() -> None:
    code = "import sys, eddyline.sources.pushed; assert 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_arrays_and_intervals_as_python_has_them() -> None:
    from eddyline.algebra.schema import Field, Schema
    from eddyline.algebra.types import INTEGER, INTERVAL, array

    of = Extent("s", "pushed", Schema((Field("a", array(INTEGER)), Field("t", INTERVAL))))
    good, bad = pushed([((1, None), timedelta(seconds=1)), (np.array([2, 3]), np.timedelta64(1, "s"))], of)
    assert [row.values for row in good] == [((1, None), timedelta(seconds=1)), ((2, 3), timedelta(seconds=1))]
    assert bad == []


SAD = '{"content": "sad"}'


def among(rows: Any, tags: Any, of: Extent = ROAD) -> list[tuple[str, int | None, str | None]]:
    """What comes in which order: the kind of row, its tick, and what a tag says."""
    chunk = chunk_of(of, rows, SECOND, tags=tags)
    whole = chunk if chunk.beside is None else chunk.beside.among(chunk)
    return list(zip(whole.op.to_pylist(), whole.tick.to_pylist(), whole.tag.to_pylist(), strict=True))


def test_tags_beside_rows_stand_in_front_of_them() -> None:
    rows = [(1, 60, 3), (1, 61, 3), (1, 62, 3)]
    tags: Any = [{"_before": 4, "_tag": '{"content": "last"}'}, {"_before": 2, "_tag": {"content": "sad"}}]
    expected = [("+", 60, None), ("#", 61, SAD), ("+", 61, None), ("+", 62, None), ("#", None, '{"content": "last"}')]
    assert among(rows, tags) == expected
    assert among(rows, pd.DataFrame(tags)[::-1].assign(_tag=[SAD, '{"content": "last"}'])) == expected
    assert among([], [{"_before": 1, "_tag": SAD}]) == [("#", None, SAD)]


@pytest.mark.parametrize(
    "none", [[], (), pa.table({"_before": [], "_tag": []}), pd.DataFrame({"_before": [], "_tag": []})]
)
def test_no_tags_beside_rows(none: Any) -> None:
    assert among([(1, 60, 3)], none) == [("+", 60, None)]


def test_tags_beside_rows_may_have_a_time_of_their_own() -> None:
    assert among([(1, 60, 3)], [{"_before": 1, "_tag": SAD, "Time": 59}])[0] == ("#", 59, SAD)


def test_a_tag_in_front_of_a_row_that_does_not_fit_is_set_aside_with_it() -> None:
    rows = [(1, 60, 3), (1, "soon", 3), (1, 62, 3)]
    tags = [{"_before": 2, "_tag": SAD}, {"_before": 3, "_tag": SAD}]
    assert among(rows, tags) == [("+", 60, None), ("#", 62, SAD), ("+", 62, None)]
    reject = chunk_of(ROAD, rows, SECOND, tags=tags).rejects[-1]
    assert (reject.file, reject.line, reject.text) == ("push, tags", 1, SAD)
    assert reject.reason == "_before: row 2, which the tag stands in front of, is set aside"


def test_tags_beside_rows_that_do_not_fit_are_set_aside() -> None:
    tags = [{"_before": 2**70, "_tag": SAD}, {"_before": None, "_tag": SAD}, {"_before": 1, "_tag": "sad"}]
    chunk = chunk_of(ROAD, [(1, 60, 3)], SECOND, tags=[*tags, {"_before": 2, "_tag": SAD}])
    assert [(reject.file, reject.line) for reject in chunk.rejects] == [("push, tags", line) for line in (1, 2, 3)]
    assert "not between 1 and 2" in chunk.rejects[0].reason and "_tag" in chunk.rejects[2].reason
    assert "missing or NULL" in chunk.rejects[1].reason
    assert chunk.beside is not None and len(chunk.beside) == 1


@pytest.mark.parametrize(
    "tags, message",
    [
        ([{"_before": "one", "_tag": SAD}], "not whole"),
        ([{"_tag": SAD, "_before": 1, "temp": 3}], "no column 'temp'"),
        (pa.table({"_tag": [SAD]}), "no column '_before'"),
        ([SAD], "no dict"),
        (7, "no rows"),
    ],
)
def test_tags_that_cannot_be_placed(tags: Any, message: str) -> None:
    with pytest.raises(EddylineError, match=message):
        chunk_of(ROAD, [(1, 60, 3)], SECOND, tags=tags)


def test_tags_take_no_turns() -> None:
    sensed = extent("site INTEGER, temp INTEGER", kind=SENSED, timestamp=None, sites=(1, 2), interval=60)
    chunk = chunk_of(sensed, [{"_op": "#", "_tag": SAD}, {"site": 1, "temp": 3}], SECOND)
    assert chunk.num_rows == 2 and taken_turns(chunk) == 1
