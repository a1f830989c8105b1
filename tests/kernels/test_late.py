"""What only goes out is computed once for a segment, and is what the kernel would have made of every row."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest

from eddyline.algebra import marks as of
from eddyline.algebra.marks import MARKS
from eddyline.algebra.user_function import UserCall, UserFunction
from eddyline.kernels import searched
from eddyline.kernels.late import LateCall
from eddyline.kernels.sheet import Frame, Sheet
from eddyline.kernels.task import Work, done
from eddyline.log.storage import Storage
from eddyline.spark.tags import functions
from eddyline.spark.tags.functions import code_for

_ABOUT = "[2,2,[[0],[3]]]"
_SCHEMA = pa.schema([("_tick", pa.int64()), ("_diff", pa.int8()), ("x", pa.int64()), (MARKS, pa.string())])


def _function() -> UserFunction:
    call = functions.side_by_side(None, 2, None, 2)
    assert isinstance(call, UserCall)
    return call.definition


def _text(word: str) -> str:
    mark = of.MarkText(0, 0, 0, "s", "o'neil", word, None, "objective", None, "O", None)
    return str(of.written([mark]))


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Two segments of which some tuples have tags."""
    found, draw = Storage(str(tmp_path)), random.Random(5)
    for name in ("left", "right"):
        texts = [draw.choice([None, None, *(_text(f"{name} {word}") for word in range(12))]) for _ in range(3_000)]
        rows = {"_tick": range(3_000), "a": [draw.randint(0, 800) for _ in texts]}
        found.write_table(name, pa.table({**rows, "_tags": pa.array(texts, pa.string()).dictionary_encode()}))
    code_for(found, [_function()])
    return found


def _joined(sheet: Sheet) -> Frame:
    sides = []
    for name, mark in (("left", "l"), ("right", "r")):
        fields = {"_tick": "BIGINT", "a": "BIGINT", "_tags": "STRING"}
        columns = [f"_tick AS {mark}_tick", f"a AS {mark}a", f"CAST(_tags AS STRING) AS {mark}1"]
        sides.append(sheet.read([name], fields, columns))
    both = sides[0].joined(sides[1], "la = ra AND l_tick < r_tick")
    call = f"{_function().internal_name}(l1, r1, '{_ABOUT}') AS c1"
    return both.selectExpr("l_tick AS _tick", "la AS c0", call)


def _last(made: Frame) -> Frame:
    header = made._sheet.range(0, 3).selectExpr("id AS _tick")
    rows = made.unionByName(header, allowMissingColumns=True)
    return rows.selectExpr("_tick", "CAST(1 AS TINYINT) AS _diff", "c0", "c1")


def _done(storage: Storage, sheet: Sheet, statement: str, late: LateCall | None, few: bool) -> list[tuple[object, ...]]:
    files = sheet.files
    work = Work("s", 0, storage.root, statement, files, schema=_SCHEMA, folder="results/s", few=few, late=late)
    told = list(done([replace(work, functions=(_function(),))]))
    assert not [reference.refused or reference.failed for reference in told if reference.refused or reference.failed]
    (segment,) = [reference.segment for reference in told if reference.segment is not None]
    rows = storage.read_table(segment.path).to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("most", [1_000, 10])
def test_a_late_call_gives_what_the_kernel_gives(storage: Storage, few: bool, most: int) -> None:
    """Also where there are too many texts to number them."""
    sheet = Sheet()
    last = _last(_joined(sheet))
    late = last.with_late(3, [_function()])
    assert late is not None and "struct_pack" in late[0] and late[1].column == 3
    expected = _done(storage, sheet, last.statement(), None, few)
    with (
        patch.object(searched, "_MOST", most),
        patch.object(LateCall, "completed", autospec=True, side_effect=LateCall.completed) as called,
    ):
        searched._texts_of.cache_clear()
        assert _done(storage, sheet, *late, few) == expected
    assert called.call_count == 1
    numbered = pa.types.is_dictionary(called.call_args.args[1].schema.field(MARKS).type.field(0).type)
    assert numbered == (not few and most == 1_000)
    marks = {row[3] for row in expected}
    assert None in marks and any("left" in str(text) and "right" in str(text) for text in marks)


@pytest.mark.parametrize(
    "used",
    [
        lambda made: made.where("c1 IS NOT NULL"),
        lambda made: made.distinct(),
        lambda made: made.selectExpr("_tick", "length(c1) AS c0", "c1"),
        lambda made: made.selectExpr("_tick", "c0", "coalesce(c1, 'none') AS c1"),
        lambda made: made.grouped(["_tick", "c1"], ["count(*) AS c0"]).selectExpr("_tick", "c0", "c1"),
        lambda made: made.unionAll(made.where("c0 > 3")),
    ],
    ids=["asked for", "compared", "read beside", "changed", "grouped", "used twice"],
)
def test_what_is_looked_at_on_its_way_is_not_late(used: Callable[[Frame], Frame]) -> None:
    last = _last(used(_joined(Sheet())))
    assert last.with_late(3, [_function()]) is None


def test_steps_that_only_take_it_along_are_no_hindrance() -> None:
    made = _joined(Sheet()).where("c0 > 3").selectExpr("*", "c0 + 1 AS c2").selectExpr("_tick", "c2 AS c0", "c1 AS m")
    statement, late = made.with_late(2, [_function()]) or ("", None)
    assert "struct_pack(a0 := l1, a1 := r1) AS c1" in statement and "c1 AS m" in statement.replace('"', "")
    assert late is not None and late.arguments == (None, None, _ABOUT)


def test_only_known_functions_of_columns_are_late() -> None:
    known = {_function().internal_name: _function()}
    name = _function().internal_name
    assert LateCall.of(f"{name}(a, b, 'x') AS c1", known) is not None
    for other in (
        f"{name}(a || 'x', b, 'x') AS c1",
        "other(a, b, 'x') AS c1",
        f"{name}('x', 'y', 'z') AS c1",
        "a AS c1",
    ):
        assert LateCall.of(other, known) is None
