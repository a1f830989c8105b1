"""JSON lines as columns: the same as the row-wise reader gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import DOUBLE, INTEGER, STRING, array, decimal
from eddyline.catalog.extent import PUSHED, SENSED, STORED, Extent
from eddyline.sources import Arrival, Reject, line_blocks
from eddyline.sources.batch_intake import Stretch
from eddyline.sources.batches import open_batches
from sources.batch_rows import check_same
from sources.extents import SECOND, extent, write

WORDS = extent("id INTEGER, word STRING", "in.json", format="json", timestamp="id")
WHOLE = extent("id INTEGER, word STRING", "in.json", format="json", timestamp="id", multiline="true")
TABLE = extent("id INTEGER, word STRING", "in.json", format="json", timestamp=None, kind=STORED)
SENSOR = extent("t DOUBLE", "in.json", format="json", kind=SENSED, timestamp=None, sites=(1, 2), interval=60)
MANY = extent("i SMALLINT, x DOUBLE, f FLOAT, b BOOLEAN, d DATE, t TIMESTAMP", "in.json", format="json", timestamp="t")
PATH = (("path", "in.json"),)
EXACT = Extent(
    "s",
    PUSHED,
    Schema((Field("d", decimal(30, 20)), Field("f", DOUBLE), Field("a", array(INTEGER)))),
    format="json",
    options=PATH,
)
GOOD = "".join(json.dumps({"id": number, "word": f"w{number}"}) + "\n" for number in range(40))

FILES = [
    (WORDS, '\ufeff{"id": 1, "word": "é"}\n\n{"WORD": null, "Id": 2}\n{"id": 3}\n'),
    (WORDS, '{"ID": 1, "Word": "a"}\n{"ID": 2}\r\n  {"ID": 3}\r{"id": 4, "ID": 5}\n'),
    (WORDS, '{"_op": "-", "_ref": 3}\n{"_op": "=", "_ref": "4", "id": 5}\n{"_op": "#", "_tag": {"content": "x"}}\n'),
    (WORDS, '{"_op": "-", "_ref": 3, "word": 5}\n{"_op": "=", "_ref": 4, "id": 5}\n{"_op": "-", "_ref": 0, "id": 1}\n'),
    (
        WORDS,
        '{"_op": "#", "_tag": "{}"}\n{"_op": "#", "_tag": "{\\"a\\": \\"\\ud800\\"}"}\n{"_OP": "+", "id": 1}\n',
    ),
    (
        WORDS,
        '{"id": 1}{"id": 2}\n{"id":\n2}\n{"id": 3} x\n[1]\nnull\n{}\n{"id": 1.0}\n{"id": "1"}\n{"id": 1e2}\n{bad\n',
    ),
    (
        WORDS,
        '{"id": 1, "id": 2}\n{"id": 1, "wrod": 2}\n{"id": null}\n{"id": 1, "word": 5}\n{"id": 1, "word": {"a": 1}}\n',
    ),
    (
        WORDS,
        '{"id": 1, "word": "\\ud83d\\ude00\\u0000"}\n{"id": 2, "word": "a\tb"}\n{"id": 3, "word": "\\/"}\n{"":1}\n',
    ),
    (WORDS, '{"id": 3000000000}\n{"id": 99999999999999999999}\n{"id": -0}\n{"id": 01}\n{"id": 5,}\n' + '{"id": 1}' * 3),
    (WORDS, b'{"id": 1, "word": "\xff"}\n{"id": 2, "word": "\xc3\xa9"}\n'),
    (
        WORDS,
        GOOD + '{"id": 1, "word": 7}\n' + GOOD + '{"_op": "#", "_tag": {}}\n' + GOOD + '{"id": 1}{"id": 2}\n' + GOOD,
    ),
    (WORDS, ""),
    (WORDS, "\n \n"),
    (TABLE, '{"id": 1}\n{"id": 2, "_op": "-"}\n{"word": "x"}\n'),
    (
        SENSOR,
        '{"t": 1}\n{"t": "x"}\n{bad\n{"t": 2, "u": 1}\n{"t": 3}\n{"_op": "-", "_ref": 1}\n{"_op": "*"}\n{"t": 4}\n',
    ),
    (MANY, '{"i": 1, "x": 1, "f": 0.1, "b": true, "d": "2024-01-01", "t": "2024-01-01T00:00:00Z"}\n' * 3),
    (
        MANY,
        "".join(f'{{"t": "2024-01-01", "x": {x}, "f": {x}}}\n' for x in ("-0", "-0.0", "0", "NaN", "Inf", "Infinity")),
    ),
    (
        MANY,
        "".join(
            f'{{"t": "2024-01-01", "x": {x}}}\n' for x in ("1e999", "1e400", '"NaN"', "1" * 30, "1" * 400, "5e-324")
        ),
    ),
    (MANY, "".join(f'{{"t": "2024-01-01", "f": {x}}}\n' for x in ("1e39", "3.4028236e38", "16777217", "true", '"1"'))),
    (
        MANY,
        "".join(f'{{"t": {t}}}\n' for t in ('"2024-01-01 "', '""', "null", "5", '"2024-02-30"', '"2024-01-01 01:02"')),
    ),
    (MANY, "".join(f'{{"t": "2024-01-01", "d": {d}}}\n' for d in ('"2024-01-01 "', '""', "null", "5", '"0000-01-01"'))),
    (MANY, "".join(f'{{"t": "2024-01-01", "i": {i}}}\n' for i in ("32767", "32768", "-32769", "true"))),
    (WHOLE, '[\n {"id": 1,\n  "word": "a"},\n {"id": "x"}, {"id": 2}\n]\n'),
    (WHOLE, '[{"id": 1},\n{"id": }, {"id": 3}]'),
    (EXACT, '{"d": 0.12345678901234567890, "f": 0.5, "a": [1, null]}\n{"_op": "#", "_tag": {"x": 1.5}}\n{"d": "x"}\n'),
    (
        extent("word STRING", "in.json", format="json", timestamp=None, encoding="latin1"),
        b'{"word": "\xe9"}\n{"word": 1}\n',
    ),
]


@pytest.mark.parametrize("block_bytes", [1, 40, 1 << 21])
@pytest.mark.parametrize("number", range(len(FILES)))
def test_files_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, block_bytes: int) -> None:
    of, content = FILES[number]
    monkeypatch.setattr(line_blocks, "BLOCK_BYTES", block_bytes)
    write(tmp_path / "in.json", content)
    check_same(tmp_path, of, (1, 3, 1000))


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["2024-01-01", "2024-01-01T10:00:00Z", "NaN", "-inf"]),
    st.just({"a": [1]}),
)
NAMES = st.sampled_from(["i", "x", "f", "b", "d", "t", "t", "T", "_op", "_ref", "_tag", "z"])
OBJECTS = st.one_of(
    st.dictionaries(NAMES, VALUES, max_size=5),
    st.fixed_dictionaries({"t": st.just("2024-01-01")}, optional={"x": st.floats(), "i": st.integers(-9, 9)}),
    st.fixed_dictionaries({"_op": st.sampled_from("+-=#"), "_ref": st.integers(0, 3), "t": st.just("2024-01-01")}),
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(OBJECTS, max_size=40), st.booleans(), st.sampled_from([1, 100, 1 << 21]))
def test_whatever_the_objects_hold(tmp_path: Path, objects: list[object], ascii_only: bool, block_bytes: int) -> None:
    lines = [json.dumps(object_, ensure_ascii=ascii_only) for object_ in objects]
    write(tmp_path / "in.json", "\n".join(lines).encode("utf-8", "replace"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_blocks, "BLOCK_BYTES", block_bytes)
        check_same(tmp_path, MANY, (7, 1000))


PIECES = st.sampled_from(
    [
        '{"id": 1}',
        '{"id": 2, "word": "x"}',
        "\n",
        "\n",
        "\n",
        "\r",
        " ",
        "{",
        "}",
        '"',
        ",",
        '"id":',
        "3",
        b"\xff",
        "é",
        '"_tag"',
    ]
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(PIECES, max_size=40))
def test_whatever_a_file_holds(tmp_path: Path, pieces: list[str | bytes]) -> None:
    content = b"".join(piece if isinstance(piece, bytes) else piece.encode() for piece in pieces)
    write(tmp_path / "in.json", content)
    check_same(tmp_path, WORDS, (1000,))


@pytest.mark.parametrize(
    ("of", "content"),
    [
        (WORDS, '{"id": 1, "word": "é"}\n\n{"id": 2}\r\n{"word": null, "id": 3, "_op": ""}\n'),
        (WORDS, '{"ID": 1, "Word": "a"}\n{"_op": "-", "_ref": 1}\n{"_op": "=", "_ref": 1, "ID": 2}\n'),
        (MANY, '{"i": 1, "x": 0, "f": 0.1, "b": true, "d": "2024-01-01", "t": "2024-01-01T00:00:00Z"}\n' * 3),
        (SENSOR, '{"t": 1}\n{"t": 2}\n{"t": 3}\n'),
    ],
)
def test_plain_files_are_not_read_row_by_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: Extent, content: str
) -> None:
    monkeypatch.setattr(Stretch, "take", lambda *_: pytest.fail("taken row by row"))
    write(tmp_path / "in.json", content)
    rows = check_same(tmp_path, of)
    assert rows and not [row for row in rows if isinstance(row, Reject)]


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    r"""JSON can write "\ud800", UTF-8 cannot: the one place where columns cannot hold what a row can."""
    of = Extent("s", PUSHED, Schema((Field("word", STRING), Field("a", array(STRING)))), format="json", options=PATH)
    write(tmp_path / "in.json", '{"word": "a\\ud800b", "a": ["\\udc00"]}\n')
    batches = open_batches(of, tmp_path, SECOND)
    assert batches is not None
    [chunk] = batches.chunks()
    assert chunk.values.to_pylist() == [{"word": "a\ufffdb", "a": ["\ufffd"]}]


def test_few_bad_lines_cost_few_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    original = Stretch.take
    monkeypatch.setattr(Stretch, "take", lambda *arguments: (taken.append(1), original(*arguments))[1])
    lines = [f'{{"id": {number}, "word": "w"}}' for number in range(5000)]
    lines[1234], lines[2345], lines[4000] = '{"id": "x"}', '{"id": 2.5}', '{"id": 1} {"id": 2}'
    write(tmp_path / "in.json", "\n".join(lines))
    rows = check_same(tmp_path, WORDS, (1000,))
    assert sum(isinstance(row, Arrival) for row in rows) == 4997
    assert len(taken) < 500  # in two passes


def test_many_bad_lines_end_the_tries(tmp_path: Path) -> None:
    lines = [f'{{"id": {number}, "word": {number if number % 7 else "null"}}}' for number in range(3000)]
    write(tmp_path / "in.json", "\n".join(lines))
    assert len(check_same(tmp_path, WORDS, (1000,))) == 3000
