"""JSON lines, and files that are one array."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import BIGINT, DOUBLE, INTEGER, STRING, array, decimal
from eddyline.catalog.extent import PUSHED, Extent
from eddyline.errors import SourceUnusable
from eddyline.sources import Arrival, open_source
from sources.extents import SECOND, extent, reasons, rows, ticks, values, write

PATH = (("path", "in.json"),)
WORDS = extent("id INTEGER, word STRING", "in.json", format="json", timestamp="id")
WHOLE = extent("id INTEGER, word STRING", "in.json", format="json", timestamp="id", multiline="true")


def test_one_object_a_line(tmp_path: Path) -> None:
    found = rows(tmp_path, '\ufeff{"id": 1, "word": "é"}\n\n{"WORD": null, "Id": 2}\n{"id": 3}\n', WORDS)
    assert values(found) == [(1, "é"), (2, None), (3, None)]
    assert ticks(found) == [1, 2, 3]
    assert [row.line for row in found] == [1, 3, 4]


def test_rows_of_all_kinds(tmp_path: Path) -> None:
    content = '{"_op": "-", "_ref": 3}\n{"_op": "=", "_ref": "4", "id": 5}\n{"_op": "#", "_tag": {"content": "x"}}\n'
    file, lines = str(tmp_path / "in.json"), content.splitlines()
    assert rows(tmp_path, content, WORDS) == [
        Arrival("road", 1, "-", None, None, 3, file=file, text=lines[0]),
        Arrival("road", 2, "=", (5, None), 5, 4, file=file, text=lines[1]),
        Arrival("road", 3, "#", None, None, tag={"content": "x"}, file=file, text=lines[2]),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{bad", "not JSON: expecting property name enclosed in double quotes, at character 2"),
        ('{"id": 1} x', "not JSON: there is more after the object, at column 10"),
        ("[1]", "[1] is not a JSON object"),
        ("null", "null is not a JSON object"),
        ('{"id": "1"}', 'id: "1" is not an INTEGER'),
        ('{"id": 1, "wrod": 2}', "'wrod' is not a column of road; did you mean word?"),
        ('{"id": null}', "id: no value, but it is the TIMESTAMP BY column"),
        ('{"_op": 5}', "_op: 5 is not one of + - = #"),
        ('{"_op": "-", "_ref": true}', "_ref: true is not a positive whole number"),
        ('{"_op": "#", "_tag": 5}', "_tag: 5 is not a JSON object"),
        ("[" * 100_000, "not JSON: nested too deeply"),
        ('{"id": ' + "1" * 5000 + "}", "not JSON: Exceeds the limit"),
    ],
)
def test_bad_lines_are_set_aside_and_the_others_go_on(tmp_path: Path, line: str, reason: str) -> None:
    found = rows(tmp_path, f'{{"id": 1}}\n{line}\n{{"id": 2}}\n', WORDS)
    assert values(found) == [(1, None), (2, None)]
    [(number, said)] = reasons(found)
    assert number == 2
    assert said.startswith(reason)


def test_bytes_that_are_not_utf8_make_their_line_bad(tmp_path: Path) -> None:
    found = rows(tmp_path, b'{"id": 1, "word": "\xff"}\n{"id": 2}\n', WORDS)
    assert values(found) == [(2, None)]
    assert reasons(found) == [(1, "holds bytes that are not text in the file's encoding")]


def test_decimals_keep_their_digits(tmp_path: Path) -> None:
    fields = (Field("d", decimal(30, 20)), Field("f", DOUBLE), Field("a", array(BIGINT)))
    exact = Extent("road", PUSHED, Schema(fields), format="json", options=PATH)
    found = rows(tmp_path, '{"d": 0.12345678901234567890, "f": 0.5, "a": [1, null]}\n', exact)
    assert values(found) == [(Decimal("0.12345678901234567890"), 0.5, (1, None))]


def test_an_array_over_several_lines(tmp_path: Path) -> None:
    found = rows(tmp_path, '[\n {"id": 1,\n  "word": "a"},\n {"id": "x"}, {"id": 2}\n]\n', WHOLE)
    assert values(found) == [(1, "a"), (2, None)]
    assert [row.line for row in found] == [2, 4, 4]


def test_a_single_object_over_several_lines(tmp_path: Path) -> None:
    assert values(rows(tmp_path, '{\n"id": 1}\n', WHOLE)) == [(1, None)]


def test_a_broken_array(tmp_path: Path) -> None:
    found = rows(tmp_path, '[{"id": 1},\n{"id": }, {"id": 3}]', WHOLE)
    assert values(found) == [(1, None)]
    assert reasons(found) == [(2, "not JSON: expecting value, at character 20 of the file; the rest is not read")]
    assert reasons(rows(tmp_path, '[{"id": 1}', WHOLE)) == [(1, "the array is not closed: is the file whole?")]


def test_an_array_read_as_lines_is_told_what_to_do(tmp_path: Path) -> None:
    write(tmp_path / "in.json", '\n[\n{"id": 1}]')
    with pytest.raises(SourceUnusable, match="is a JSON array") as problem:
        open_source(WORDS, tmp_path, SECOND)
    assert problem.value.hint == "read it with OPTIONS (multiLine 'true')"


def test_empty_files_are_empty_inputs(tmp_path: Path) -> None:
    for of in (WORDS, WHOLE):
        for content in ("", "\n"):
            assert rows(tmp_path, content, of) == []
    assert rows(tmp_path, "[]", WHOLE) == []


def test_a_column_may_be_called_like_a_reserved_one_with_another_case(tmp_path: Path) -> None:
    mixed = Extent("road", PUSHED, Schema((Field("Ref", INTEGER), Field("Tag", STRING))), format="json", options=PATH)
    assert values(rows(tmp_path, '{"ref": 1, "TAG": "x", "_OP": "+"}', mixed)) == [(1, "x")]
