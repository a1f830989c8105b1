"""Whatever JSON comes as a tag, by whichever way: it is a tag that can be kept, or it is set aside with a reason."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tag_streams import PATIENTS

import eddyline
from eddyline.algebra.dictionary import shipped
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import INTEGER, STRING
from eddyline.catalog.extent import PUSHED, Extent
from eddyline.errors import InvalidTag
from eddyline.log.carried import told_by
from eddyline.reference.tag_input import tick_tag
from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from eddyline.sources.batches import Chunk, open_batches
from eddyline.sources.pushed import chunk_of
from laws.without_spark import kernels_alone

SECOND = 1_000_000
SCHEMA = Schema((Field("b", STRING), Field("t", INTEGER)))
OPTIONS = (("path", "in.json"),)
STREAM = Extent("s", PUSHED, SCHEMA, "t", format="json", options=OPTIONS)

LEAVES = [
    "null", "true", "0", "-1", "3", "1e400", "NaN", "1" + "0" * 30, "9" * 4_000, "9" * 5_000,
    '"x"', '"\\ud800"', '"\\ud83d\\ude00"', '"I"', '"*"', '"1-3,5"', f'"{"9" * 5_000}"', f'"1-{"9" * 30}"',
    '"b"', '"b.value"', '"s"', '"["', '"a{99999999999}"', f'"{"(" * 9_000}{")" * 9_000}"', f'"{"x" * 2_000}"',
    "[" * 20 + "]" * 20, "[" * 900 + "]" * 900, "[" * 100_000 + "]" * 100_000,
]  # fmt: skip
NAMES = ["content", "sign", "lifespan", "mode", "type", "tagger", "applies_to", "\\ud800"]
PLACES = ["stream", "tuples", "next", "attributes", "value", "values"]


def objects(names: list[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.dictionaries(st.sampled_from(names), values, max_size=4)
    return pairs.map(lambda found: "{" + ", ".join(f'"{name}": {value}' for name, value in found.items()) + "}")


VALUES = st.sampled_from(LEAVES) | st.lists(st.sampled_from(LEAVES), max_size=3).map(lambda s: f"[{', '.join(s)}]")
TAGS = st.one_of(
    objects(NAMES, VALUES | objects(PLACES, VALUES)),
    objects(PLACES, VALUES).map('{{"content": "x", "applies_to": {}}}'.format),
    VALUES,
)


def chunks(text: str) -> Iterator[Chunk]:
    """A tag by every way that leads in."""
    quoted = json.dumps(text)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "in.json").write_text("".join(f'{{"_op": "#", "_tag": {tag}}}\n' for tag in (text, quoted)))
        batches = open_batches(STREAM, Path(folder), SECOND)
        assert batches is not None
        yield from batches.chunks()
    yield chunk_of(STREAM, [{"_op": "#", "_tag": text}], SECOND)
    rows = pa.table({"_op": ["#", "#"], "_tag": [text, None]})
    yield chunk_of(STREAM, rows, SECOND)
    of_numbers = pa.DictionaryArray.from_arrays([0, 1], pa.array([text, None]))
    yield chunk_of(STREAM, rows.set_column(1, "_tag", of_numbers), SECOND)
    yield beside({"_before": 1, "_tag": text})
    yield beside(pa.table({"_before": [1, 1], "_tag": of_numbers}))
    try:
        tag = json.loads(text)
    except (ValueError, RecursionError):
        return
    yield chunk_of(STREAM, [{"_op": "#", "_tag": tag}], SECOND)
    yield beside({"_before": 1, "_tag": tag})


def beside(tags: Any) -> Chunk:
    chunk = chunk_of(STREAM, [("x", 1)], SECOND, tags=tags)
    return chunk if chunk.beside is None else chunk.beside.among(chunk)


@settings(deadline=None)
@given(TAGS)
def test_any_json_is_a_tag_or_is_set_aside_with_a_reason(text: str) -> None:
    for chunk in chunks(text):
        told = [tag for tag in chunk.tag.to_pylist() if tag is not None]
        assert told or chunk.rejects
        for reject in chunk.rejects:
            reject.reason.encode()
        for tag in told:
            understood(json.loads(tag))


def understood(fields: Any) -> None:
    try:
        tag = tick_tag(fields, "s", SCHEMA, 0, SECOND, shipped(), 0, 0)
    except InvalidTag as refused:
        refused.message.encode()
        assert len(refused.message) < 500
        return
    text, place = told_by(tag, SCHEMA, 0, 0)
    assert pa.array([text, place]).null_count == 0


PYTHON_S: dict[str, Any] = {
    "long": 10**5_000,
    "below": -(10**5_000),
    "large": 10**30,
    "half": "\ud800",
    "nan": float("nan"),
    "deep": json.loads("[" * 20 + "]" * 20),
    "date": date(2026, 1, 1),
    "set": {1},
    "signal": Decimal("sNaN"),
    "keys": {(1, 2): 3},
}
CIRCLE: dict[str, Any] = {}
CIRCLE["x"] = CIRCLE
PYTHON_S["circle"] = CIRCLE


@pytest.mark.parametrize("kind", PYTHON_S)
@pytest.mark.parametrize("place", [*NAMES, *PLACES])
def test_any_value_of_python_s(kind: str, place: str) -> None:
    """What a program pushes as dicts need not be anything that JSON can write."""
    value = PYTHON_S[kind]
    tag = {"content": "x", "applies_to": {place: value}} if place in PLACES else {"content": "x", place: value}
    ways = chunk_of(STREAM, [{"_op": "#", "_tag": tag}], SECOND), beside({"_before": 1, "_tag": tag})
    for chunk in ways:
        for told in chunk.tag.to_pylist():
            if told is not None:
                understood(json.loads(told))
    among, apart = ([told for told in chunk.tag.to_pylist() if told is not None] for chunk in ways)
    assert list(map(json.loads, among)) == list(map(json.loads, apart)) or kind == "nan"


@pytest.mark.parametrize("number", [np.int64(3), np.float64(1.5), Decimal("1.5"), np.bool_(True)])
def test_numbers_of_numpy_s(number: Any) -> None:
    """What a program has from an array is the number that it is."""
    tag = {"content": "x", "applies_to": {"attributes": ["b"], "value": number}}
    for chunk in (chunk_of(STREAM, [{"_op": "#", "_tag": tag}], SECOND), beside({"_before": 1, "_tag": tag})):
        (told,) = filter(None, chunk.tag.to_pylist())
        assert json.loads(told)["applies_to"]["value"] == number


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.string_view()])
def test_every_form_of_text_that_arrow_has(type_: pa.DataType) -> None:
    kinds, texts = pa.array(["#", None], type_), pa.array(['{"content": "x"}', None], type_)
    among = chunk_of(STREAM, pa.table({"b": [None, "y"], "t": [None, 1], "_op": kinds, "_tag": texts}), SECOND)
    alone = chunk_of(STREAM, pa.table({"_op": kinds[:1], "_tag": texts[:1]}), SECOND)
    apart = beside(pa.table({"_before": [1], "_tag": texts[:1]}))
    assert not any(chunk.rejects for chunk in (among, alone, apart))
    assert [chunk.tag[0].as_py() for chunk in (among, alone, apart)] == ['{"content": "x"}'] * 3


def test_a_place_that_is_larger_than_any() -> None:
    chunk = beside(pa.table({"_before": pa.array([2**64 - 1], pa.uint64()), "_tag": ['{"content": "x"}']}))
    assert "is not between 1 and 2" in chunk.rejects[0].reason


def test_a_tag_in_a_file_that_is_read_exactly(tmp_path: Path) -> None:
    """A DECIMAL column has the numbers of a JSON file read as Decimals."""
    tag = {"content": "x", "lifespan": 9, "applies_to": {"attributes": ["v"], "value": 1.5}}
    lines = [{"_op": "#", "_tag": tag}, {"v": 1.5, "t": 1}, {"v": 2.5, "t": 2}]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, lines)))
    sql = """CREATE STREAM s (v DECIMAL(5, 2), t INTEGER) TIMESTAMP BY t USING json OPTIONS (path 's.jsonl');
    SELECT TAGGED OBJECTS FROM s"""
    rejects: list[Any] = []
    expected = list(Session(sql, tmp_path, on_reject=rejects.append).answers())
    assert [answer.row for answer in expected] == [(Decimal("1.50"), 1)]
    with kernels_alone():
        assert list(SparkRun(sql, tmp_path, on_reject=rejects.append).answers()) == expected
    assert not rejects


@pytest.mark.parametrize("value", [{(1, 2): 3}, 10**5_000, CIRCLE], ids=["keys", "long", "circle"])
def test_what_no_json_can_say_is_no_text(value: Any) -> None:
    chunk = chunk_of(STREAM, [{"b": value, "t": 1}, {"b": "x", "t": 2}], SECOND)
    assert len(chunk.rejects) == 1 and chunk.num_rows == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tuples": [10**30]}, "no tuples have the indexes 1000000000000000000000000000000: no stream goes beyond"),
        ({"tuples": f"1-{'9' * 5_000}"}, "no tuples have the indexes '1-999"),
        ({"attributes": "a{99999999999}"}, "applies_to.attributes: 'a{99999999999}' is too large for a regular"),
        ({"values": "(" * 20_000 + ")" * 20_000}, "applies_to.values: '((((("),
    ],
)
def test_what_is_too_large_is_said(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidTag) as raised:
        tick_tag({"content": "x", "applies_to": fields}, "s", PATIENTS, 0, SECOND, shipped(), 0, 0)
    assert raised.value.message.startswith(message)


@pytest.mark.parametrize(
    "tag",
    [
        '{"content": "x", "applies_to": {"tuples": [1000000000000000000000000000000]}}',
        f'{{"content": "x", "applies_to": {{"tuples": "{"9" * 5_000}"}}}}',
        f'{{"content": "x", "lifespan": "{"9" * 5_000}"}}',
        '{"content": "\\ud800"}',
        '{"content": "x", "tagger": "\\ud800"}',
        '{"content": "x", "applies_to": {"attributes": ["x"], "values": "\\ud800"}}',
        "[" * 100_000,
    ],
)
def test_a_tag_that_is_set_aside_leaves_its_stream_as_it_was(tag: str, tmp_path: Path) -> None:
    with kernels_alone():
        db = eddyline.connect(tmp_path, heartbeat=None)
        db.sql("CREATE STREAM s (x STRING, t INTEGER) TIMESTAMP BY t")
        pushed = db.stream("s").push([{"_op": "#", "_tag": tag}, {"x": "a", "t": 1}])
        assert (pushed.accepted, pushed.rejected) == (1, 1)
        db.close()
        db = eddyline.connect(tmp_path, heartbeat=None)
        assert db.stream("s").push([("b", 2)]).accepted == 1
        db.close()


def test_a_tag_of_an_arrow_push_is_set_aside_with_what_it_said() -> None:
    tag = json.dumps({"content": "x" * 2_000})
    chunk = chunk_of(STREAM, pa.table({"b": ["y"], "t": [1], "_op": ["#"], "_tag": [tag]}), SECOND)
    assert json.loads(chunk.text[0].as_py())["_tag"] == tag
