"""CSV as columns: the same rows, ticks, lines, texts and rejects as the row-wise reader gives."""

from __future__ import annotations

import gzip
import resource
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import DOUBLE, STRING, TIMESTAMP, DataType, decimal
from eddyline.catalog.extent import PUSHED, SENSED, STORED, Extent
from eddyline.errors import EddylineError
from eddyline.sources import Arrival, Reject, line_blocks, open_source, read_table
from eddyline.sources.batch_intake import Stretch
from eddyline.sources.batches import open_batches, read_table_columns
from sources.batch_rows import check_same
from sources.extents import SECOND, extent, write

WORDS = extent("id INTEGER, word STRING", "words.csv", timestamp=None)
ROAD = extent()
SENSOR = extent("temp INTEGER", kind=SENSED, timestamp=None, sites=(1, 2), interval=60)
ALL_KINDS = "site,time,temp,_op,_ref,_tag\n"

FILES = [
    (WORDS, "id,word\n1,a\n2,b\n"),
    (WORDS, "WORD, id \na,1\nb,2"),
    (WORDS, '\ufeffid,word\n1,é\n2,"x, ""y"""\n'),
    (WORDS, "id,word\r\n1,a\r\n2,\r\n\r\n3,b\r\n"),
    (WORDS, "id,word\r1,a\r2,b"),
    (WORDS, "id,word\r1,a\n2,b\r\n3,c\r\r\n4,d\n\r5,e\n"),
    (WORDS, 'id,word\n\n1,"a\nb"\n   \nx,c\n2,d\n'),
    (WORDS, '\n\n"id",\n'),
    (WORDS, '\n\n"id","wo\nrd"\n'),
    (WORDS, 'id,"word"\n1,"a\n2,b\n3,"c"\n4,"d\n5,e\n'),
    (WORDS, 'id,word\n1,"a"x\n2,b"c\n3,"d" \n4, "e"\n5,5" disk\n6,""\n7,""""\n8,"\n'),
    (WORDS, b'id,word\n1,a\n2,\xff\xfe\n3,\xc3\xa9\n4,\xc3\n5,"\xe9"\n'),
    (WORDS, "id,word\n1,a\x00b\n2,c\x1ad\n3,e\u2028f\n4,\x85\n"),
    (WORDS, "id,word\n1,a,b\n2\n3,c\n,\n,,\n"),
    (WORDS, "id,word\n 1,a\n2 ,b\n+3,c\n0x4,d\n1_0,e\n٣,f\n99999999999999999999,g\n007,h\n-0,i\n"),
    (WORDS, f"id,word\n1,{'x' * 140_000}\n2,b\n"),
    (WORDS, 'id,word\n7,"open\n' + "".join(f"{number},word\n" for number in range(30_000))),
    (WORDS, ""),
    (WORDS, "\ufeff"),
    (WORDS, "id,word"),
    (extent("word STRING", "w.csv", timestamp=None), 'word\na\n\n  \n""\n" "\n"\n "\n\t\n\u3000\n\x1c\nb c\né\n'),
    (extent("id INTEGER", "w.csv", timestamp="id", nullvalue="NA"), "id\n1\nNA\n\n3\n"),
    (extent("id INTEGER, word STRING", "n.csv", timestamp=None, nullvalue="NA"), 'id,word\nNA,NA\n,""\n1,N\n'),
    (extent(header="false"), "1,60,3\n2,x,3\n"),
    (extent(header="false"), '1,60,"3\n2,61,3\n'),
    (ROAD, "site,time,temp\n1,60,3\n1,,3\n1,-5,3\n1,3000000000,3\n"),
    (ROAD, ALL_KINDS + "1,60,3,,,\n1,61,4\n1,62,,=,1,\n,,,-,2,\nx,63,y,-,2,\n,zz,,-,2,\n"),
    (ROAD, ALL_KINDS + '1,1,1,+,,\n,,,#,,"{""content"": ""hot""}"\n,63,,#,,{}\n,,,#,,\n,,,#,,[]\n,,,#,,{\n'),
    (ROAD, ALL_KINDS + f",,,-,0,\n,,,-,,\n,,,-,-1,\n,,,-,1.5,\n,,,-, 7 ,\n,,,-,{'9' * 19},\n,,,-,{'0' * 30}1,\n"),
    (ROAD, ALL_KINDS + "1,,1,=,1,\nx,1,1,=,1,\n1,1,1,=,,\n1,1,1,*,,\n1,1,1, = ,2,\n1,1,1, ,,\n1,60\n1,2,3,4,5,6,7\n"),
    (ROAD, '_op,_ref,site,time,temp\n-,7\n-,8,\n=,1,2,3,4\n"=",1,2,3,"4"\n'),
    (SENSOR, "temp\n1\nbad\n3\n4\n5\n"),
    (SENSOR, 'temp,_op,_ref\n1\nbad\n,-,1\n3\n,-,\n"x\n4,=,1\n4,*,\n1,2,3,4\n5\n'),
    (
        extent("id INTEGER, word STRING", "o.csv", timestamp=None, comment="#"),
        '#a\nid,word\n#"\n1,a\n2,"x\n#y"\n#z\n 3,b\n#',
    ),
    (
        extent("id INTEGER, word STRING", "o.csv", timestamp=None, sep="\\t", quote="'"),
        "id\tword\n1\t'a\t''b'\n\t\n \t \n2\t\"\n",
    ),
    (extent("id INTEGER, word STRING", "o.csv", timestamp=None, delimiter=";", quote=""), 'id;word\n1;"a\n2;b"c"\n'),
    (extent("id INTEGER, word STRING", "o.csv", timestamp=None, escape="\\"), 'id,word\n1,"a\\"b"\n2,\\\n'),
    (extent("id INTEGER, word STRING", "o.csv", timestamp=None, encoding="latin1"), b"id,word\n1,\xe9\n2,\xff\x85\n"),
    (extent("id INTEGER, word STRING", "o.csv", timestamp=None, encoding="ascii"), b"id,word\n1,\xc3\xa9\n2,x\n"),
    (
        extent("id INTEGER, word STRING", "o.csv", timestamp=None, encoding="utf-16"),
        "id,word\n1,é\n2\n".encode("utf-16"),
    ),
    (extent("id INTEGER, word STRING", "o.csv", timestamp=None, sep="¦"), "id¦word\n1¦é\n2\n"),
    (extent("id INTEGER, word STRING", "w.csv.gz", timestamp=None), gzip.compress(b"id,word\n1,a\nx,b\n")),
]


@pytest.mark.parametrize("block_bytes", [1, 16, 1 << 20])
@pytest.mark.parametrize("number", range(len(FILES)))
def test_files_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, block_bytes: int) -> None:
    of, content = FILES[number]
    if len(content) > 10_000:
        block_bytes *= 10_000
    monkeypatch.setattr(line_blocks, "BLOCK_BYTES", block_bytes)
    write(tmp_path / (of.option("path") or ""), content)
    try:
        source = open_source(of, tmp_path, SECOND)
    except EddylineError as problem:
        with pytest.raises(type(problem)) as same:
            open_batches(of, tmp_path, SECOND)
        assert (same.value.message, same.value.hint) == (problem.message, problem.hint)
        return
    assert source is not None
    check_same(tmp_path, of, (1, 3, 1000) if len(content) < 10_000 else (1000,))
    if of.is_stream:  # a tuple may come too late, so its text is kept
        check_same(tmp_path, replace(of, retain=2), (3,))


NUMBERS = [
    "0",
    "-0",
    "7",
    "+7",
    " 7",
    "7\t",
    "0x1F",
    "1_0",
    "1e3",
    "1e999",
    "-1e999",
    "nan",
    "nan(x)",
    "-inf",
    "1.",
    ".5",
]
NUMBERS += [
    "1e-400",
    "3.4028236e38",
    "1e39",
    "0.1",
    "16777217.0000001",
    "2147483648",
    "-129",
    "9" * 19,
    "1.005",
    "1.995",
]
NUMBERS += ["99999999.995", "1e2", "Infinity", "\x0b7", "\xa07", "7\x1f", ".", "-", "e5", "1e5 ", "-.5e-3", "12345.678"]
MOMENTS = ["2003-06-06", "2003-06-06 18:50", "2003-06-06T18:50:20.5", "2003-06-06 18:50:20.1234567", "0000-01-01"]
MOMENTS += [
    "2003-06-06T18:50:20Z",
    "2003-06-06T18:50:20+02:00",
    "2003-06-06 18:50:20 -0230",
    " 2003-06-06 ",
    "2003-02-30",
]
MOMENTS += [
    "0001-01-01 00:00:00+10:00",
    "9999-12-31T23:59:59-01:00",
    "2003-06-06t18:50",
    "2003-06-06 18:50:20 Europe/Paris",
]
MOMENTS += [
    "1969-12-31 23:59:59.9",
    "2003-06-06 24:00",
    "2003-06-06 23:59:60",
    "2003-13-01",
    "20030606",
    "2003-06-06T18",
]
MOMENTS += ["2003-06-06T185020", "2003-06-06T18:50:20,5", "2003-06-06 18:50:20+24:00", "2003-06-06T18:50:20.123456+01"]
WORDS_OF_ALL_KINDS = [*NUMBERS, *MOMENTS, "", "true", "FALSE", " true", "1", "yes", "NULL", "x"]

TYPES = [*map(DataType, ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "BOOLEAN", "DATE")), DOUBLE, TIMESTAMP]
TYPES += [STRING, decimal(5, 2), decimal(38, 10), decimal(3, 3), decimal(10, 0)]


def field_texts() -> st.SearchStrategy[str]:
    exotic = st.text(st.sampled_from("0123456789-+.:eETZ x\t"), max_size=12)
    moments = st.from_regex(
        r"\A[12][09]\d\d-[01]\d-[0-3]\d([ T][012]\d(:[0-6]\d){0,2}(\.\d{1,7})?(Z|[+-]\d\d:?\d\d)?)?\Z"
    )
    return st.one_of(
        st.sampled_from(WORDS_OF_ALL_KINDS), exotic, moments, st.floats().map(repr), st.integers().map(str)
    )


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sampled_from(TYPES), st.lists(field_texts(), max_size=12), st.booleans())
def test_texts_become_the_same_values(tmp_path: Path, type_: DataType, texts: list[str], timed: bool) -> None:
    is_time = timed and type_.name in ("TINYINT", "INTEGER", "BIGINT", "DATE", "TIMESTAMP")
    fields = (Field("n", DataType("INTEGER")), Field("x", type_))
    of = Extent("s", PUSHED, Schema(fields), "x" if is_time else None, (), None, "csv", (("path", "x.csv"),))
    write(tmp_path / "x.csv", "n,x\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts)))
    check_same(tmp_path, of, (1000,))


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_every_text_alone_and_among_others(tmp_path: Path, type_: DataType) -> None:
    of = Extent("s", PUSHED, Schema((Field("x", type_),)), None, (), None, "csv", (("path", "."),))
    for number, text in enumerate(WORDS_OF_ALL_KINDS):
        write(tmp_path / f"{number:03}.csv", f'x\n"{text}"\n')
    write(tmp_path / "all.csv", "x\n" + "".join(f'"{text}"\n' for text in WORDS_OF_ALL_KINDS))
    check_same(tmp_path, of, (1000,))


PIECES = st.sampled_from(
    [
        "1",
        "60",
        "a",
        ",",
        ",",
        ",",
        "\n",
        "\n",
        "\n",
        "\r\n",
        "\r",
        '"',
        '"',
        " ",
        "#",
        "-",
        "=",
        "é",
        b"\xff",
        "x",
        "{}",
        "\t",
    ]
)
SHAPES = [
    (WORDS, "id,word\n"),
    (WORDS, ""),
    (ROAD, "site,time,temp\n"),
    (ROAD, ALL_KINDS),
    (SENSOR, "temp\n"),
    (SENSOR, "temp,_op,_ref\n"),
    (extent("word STRING", "w.csv", timestamp=None), "word\n"),
    (extent("id INTEGER, word STRING", "o.csv", timestamp=None, comment="#", header="false"), ""),
    (extent("id INTEGER, word STRING", "o.csv", timestamp=None, quote=""), "id,word\n"),
    (extent("id INTEGER, word STRING", "o.csv", timestamp=None, sep="\\t"), "id\tword\n"),
]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sampled_from(SHAPES), st.lists(PIECES, max_size=60), st.sampled_from([1, 8, 30, 1 << 21]))
def test_whatever_a_file_holds(
    tmp_path: Path, shape: tuple[Extent, str], pieces: list[str | bytes], block_bytes: int
) -> None:
    of, header = shape
    content = b"".join(piece if isinstance(piece, bytes) else piece.encode() for piece in pieces)
    write(tmp_path / (of.option("path") or ""), header.encode() + content)
    try:
        open_source(of, tmp_path, SECOND)
    except EddylineError:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_blocks, "BLOCK_BYTES", block_bytes)
        check_same(tmp_path, of, (2, 1000))


PLAIN = [
    (
        extent("id INTEGER, x DOUBLE, w STRING, time TIMESTAMP"),
        "id,x,w,time\n1,0.5,a,2024-01-01 00:00:00\n2,,é,2024-01-01\n",
    ),
    (extent("id INTEGER, x FLOAT, time DATE"), 'id,x,time\r\n 1, 0.5 ,2024-01-01\r\n2,"1",2024-01-02\r\n\r\n'),
    (extent("b BOOLEAN, time TIMESTAMP"), "b,time\ntrue,2024-01-01T00:00:00Z\nFALSE,2024-01-01 00:00+02:00\n"),
    (extent("time BIGINT, x INTEGER"), "time,x,_op,_ref\n1,2,,\n1,2,+,\n,,-,1\n2,3,=,1\n"),
    (SENSOR, "temp\n1\n2\n3\n"),
]


@pytest.mark.parametrize("number", range(len(PLAIN)))
def test_plain_files_are_not_read_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    of, content = PLAIN[number]
    monkeypatch.setattr(Stretch, "take", lambda *_: pytest.fail("taken row by row"))
    write(tmp_path / (of.option("path") or ""), content)
    rows = check_same(tmp_path, of)
    assert rows and not [row for row in rows if isinstance(row, Reject)]


def test_the_turns_of_sensors_go_on_from_file_to_file(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name in ("a.csv", "b.csv", "c.csv"):
        write(tmp_path / "d" / name, "temp\n1\nbad\n3\n")
    sensed = extent("temp INTEGER", "d", kind=SENSED, timestamp=None, sites=(1, 2), interval=60)
    rows = check_same(tmp_path, sensed)
    assert [row.tick for row in rows if isinstance(row, Arrival)] == [0, 60, 60, 120, 180, 240]


def test_tables(tmp_path: Path) -> None:
    table = extent("id INTEGER, word STRING", "words.csv", timestamp=None, kind=STORED)
    write(tmp_path / "words.csv", "id,word\n1,a\nx,b\n2,\n")
    found, rejected = read_table_columns(table, tmp_path)
    assert found.schema == pa.schema([("id", pa.int32()), ("word", pa.string())])
    rows, same = read_table(table, tmp_path)
    assert list(zip(*found.to_pydict().values(), strict=True)) == rows
    assert rejected == same
    nothing, none = read_table_columns(extent("id INTEGER", kind=STORED, format=None), tmp_path)
    assert (nothing.num_rows, nothing.schema.names, none) == (0, ["id"], [])


def test_extents_without_files() -> None:
    assert open_batches(extent(format="http"), Path(), SECOND) is None


def test_a_broken_gzip_file_is_told(tmp_path: Path) -> None:
    packed = extent("id INTEGER, word STRING", "words.csv.gz", timestamp=None)
    write(tmp_path / "words.csv.gz", gzip.compress(b"id,word\n" + b"1,a\n" * 100_000)[:-20])
    batches = open_batches(packed, tmp_path, SECOND)
    assert batches is not None
    with pytest.raises(EddylineError, match="is not a whole gzip file"):
        list(batches.chunks())


def test_a_large_file_streams_in_bounded_memory(tmp_path: Path) -> None:
    with open(tmp_path / "big.csv", "w") as file:
        file.write("id,word\n")
        lines = "".join(f"{number},{'word' * 20}{number}\n" for number in range(20_000))
        for _ in range(80):
            file.write(lines)
    batches = open_batches(extent("id INTEGER, word STRING", "big.csv", timestamp="id"), tmp_path, SECOND)
    assert batches is not None
    passing = batches.chunks()
    for _ in range(10):
        next(passing)
    assert 0 < batches.bytes_read < (batches.total_bytes() or 0) // 2
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = sum(chunk.num_rows for chunk in passing)
    assert rows > 1_000_000
    grown_kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kilobytes < 60_000 < (batches.total_bytes() or 0) // 1024
