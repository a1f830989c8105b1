"""CSV: headers, odd rows, odd files."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddyline.catalog.extent import SENSED, STORED
from eddyline.errors import EddylineError, InvalidDefinition, SourceUnusable
from eddyline.sources import Arrival, Reject, open_source, read_table
from sources.extents import SECOND, extent, reasons, rows, ticks, values, write

WORDS = extent("id INTEGER, word STRING", "words.csv", timestamp=None)


def test_columns_by_name_in_any_order_and_case(tmp_path: Path) -> None:
    found = rows(tmp_path, "TEMP,site, Time \n3,1,60\n", extent())
    assert values(found) == [(1, 60, 3)]
    assert ticks(found) == [60]


def test_columns_by_position_without_a_header(tmp_path: Path) -> None:
    assert values(rows(tmp_path, "1,60,3\n2,61,4\n", extent(header="false"))) == [(1, 60, 3), (2, 61, 4)]


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    assert values(rows(tmp_path, "\ufeffid,word\n1,é\n", WORDS)) == [(1, "é")]


def test_an_empty_field_is_null_and_so_is_the_null_value(tmp_path: Path) -> None:
    words = extent("id INTEGER, word STRING", "words.csv", timestamp=None, nullvalue="NA")
    assert values(rows(tmp_path, 'id,word\n,\nNA,NA\n1,""\n', words)) == [(None, None), (None, None), (1, None)]


def test_ticks_from_timestamps_are_rounded_down(tmp_path: Path) -> None:
    stream = extent("time TIMESTAMP, x INTEGER")
    found = rows(tmp_path, "time,x\n1970-01-01 00:01:00.9,1\n1969-12-31 23:59:59.5,2\n", stream)
    assert ticks(found) == [60, -1]
    assert ticks(rows(tmp_path, "time,x\n1970-01-02,1\n", extent("time DATE, x INTEGER"))) == [86_400]


def test_sensed_rows_without_a_time_are_acquired_in_turn(tmp_path: Path) -> None:
    sensed = extent("temp INTEGER", kind=SENSED, timestamp=None, sites=(1, 2), interval=60)
    found = rows(tmp_path, "temp\n1\nbad\n3\n4\n5\n", sensed)
    # The bad row took its site's turn: the rows after it keep their acquisition.
    assert ticks(found) == [0, 60, 60, 120]


def test_other_rows_without_a_time_have_no_tick(tmp_path: Path) -> None:
    assert ticks(rows(tmp_path, "id,word\n1,a\n", WORDS)) == [None]


def test_rows_of_all_kinds(tmp_path: Path) -> None:
    content = (
        "site,time,temp,_op,_ref,_tag\n"
        "1,60,3,,,\n"
        "1,61,4\n"  # reserved columns at the end may be left away
        "1,62,,=,1,\n"
        ",,,-,2,\n"
        ',,,#,,"{""content"": ""hot""}"\n'
        ",63,,#,,{}\n"
    )
    found = rows(tmp_path, content, extent())
    file, lines = str(tmp_path / "road.csv"), content.splitlines()
    assert found == [
        Arrival("road", 2, "+", (1, 60, 3), 60),
        Arrival("road", 3, "+", (1, 61, 4), 61),
        Arrival("road", 4, "=", (1, 62, None), 62, 1, file=file, text="1,62,,=,1,"),
        Arrival("road", 5, "-", None, None, 2, file=file, text=",,,-,2,"),
        Arrival("road", 6, "#", None, None, tag={"content": "hot"}, file=file, text=lines[5]),
        Arrival("road", 7, "#", None, 63, tag={}, file=file, text=",63,,#,,{}"),
    ]


def test_deletions_need_no_values_not_even_empty_ones(tmp_path: Path) -> None:
    found = rows(tmp_path, "_op,_ref,site,time,temp\n-,7\n", extent())
    assert found == [Arrival("road", 2, "-", None, None, 7, file=str(tmp_path / "road.csv"), text="-,7")]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,60,abc,,,", "temp: 'abc' is not an INTEGER"),
        ("1,3000000000,1,,,", "time: 3000000000 does not fit INTEGER"),
        ("1,60", "too few fields: 2 instead of 3"),
        (
            "1,60,3,,,,",
            "too many fields: 7 instead of 6 (the JSON of _tag must stand in quotes, with its own quotes doubled)",
        ),
        ("1,,3,,,", "time: no value, but it is the TIMESTAMP BY column"),
        ("1,,3,=,1,", "time: no value, but it is the TIMESTAMP BY column"),
        ("1,60,3,*,,", "_op: '*' is not one of + - = #"),
        (",,,-,,", "_ref: missing; a deletion (-) needs the index of its tuple, or a stream with a KEY"),
        ("1,60,3,=,,", "_ref: missing; a replacement (=) needs the index of its tuple, or a stream with a KEY"),
        (",,,-,0,", "_ref: '0' is not a positive whole number"),
        (",,,-,-1,", "_ref: '-1' is not a positive whole number"),
        (",,,-,1.5,", "_ref: '1.5' is not a positive whole number"),
        (f",,,-,{'9' * 5000},", f"_ref: '{'9' * 59}…' is not a positive whole number"),
        (",x,,-,1,", "time: 'x' is not an INTEGER"),
        (",,,#,,", "_tag: missing; a tick-tag (#) needs a JSON object"),
        (",,,#,,{", "_tag: not JSON: expecting property name enclosed in double quotes, at character 2"),
        (",,,#,,[]", "_tag: [] is not a JSON object"),
        (f",,,#,,{'[' * 100_000}", "_tag: not JSON: nested too deeply"),
        ('1,60,"3"x,,,', "there is text between a closing quote and the next separator"),
    ],
)
def test_bad_rows_are_set_aside_and_the_others_go_on(tmp_path: Path, row: str, reason: str) -> None:
    content = f"site,time,temp,_op,_ref,_tag\n1,60,3,,,\n{row}\n2,61,4,,,\n"
    found = rows(tmp_path, content, extent())
    assert [type(row) for row in found] == [Arrival, Reject, Arrival]
    assert found[1] == Reject("road", str(tmp_path / "road.csv"), 3, row, reason)


def test_negative_ticks_are_ticks(tmp_path: Path) -> None:
    assert ticks(rows(tmp_path, "site,time,temp\n1,-5,3\n", extent())) == [-5]


def test_line_numbers_are_those_of_an_editor(tmp_path: Path) -> None:
    found = rows(tmp_path, 'id,word\n\n1,"a\nb"\n   \nx,c\n2,d\n', WORDS)
    assert values(found) == [(1, "a\nb"), (2, "d")]
    assert [row.line for row in found] == [3, 6, 7]


def test_a_quote_never_closed_costs_one_line(tmp_path: Path) -> None:
    found = rows(tmp_path, 'id,word\n1,"a\n2,b\n3,"c"\n4,"d\n5,e\n', WORDS)
    assert values(found) == [(2, "b"), (3, "c"), (5, "e")]
    assert [line for line, _ in reasons(found)] == [2, 5]


def test_a_quote_never_closed_in_a_long_file_costs_one_line(tmp_path: Path) -> None:
    lines = "".join(f"{number},word\n" for number in range(40_000))
    found = rows(tmp_path, f'id,word\n7,"open\n{lines}', WORDS)
    assert len(values(found)) == 40_000
    assert len(reasons(found)) == 1


def test_bytes_that_are_not_utf8_make_their_row_bad(tmp_path: Path) -> None:
    found = rows(tmp_path, b"id,word\n1,a\n2,\xff\xfe\n3,\xc3\xa9\n", WORDS)
    assert values(found) == [(1, "a"), (3, "é")]
    assert found[1] == Reject(
        "road", str(tmp_path / "words.csv"), 3, r"2,\xff\xfe", "holds bytes that are not text in the file's encoding"
    )


def test_line_ends_of_every_system(tmp_path: Path) -> None:
    for end in ("\n", "\r\n", "\r"):
        assert values(rows(tmp_path, end.join(["id,word", "1,a", "2,b"]), WORDS)) == [(1, "a"), (2, "b")]


def test_dialects(tmp_path: Path) -> None:
    odd = extent("id INTEGER, word STRING", "odd", timestamp=None, sep="\\t", quote="'", escape="\\", comment="#")
    assert values(rows(tmp_path, "# first\nid\tword\n1\t'it\\'s'\n#2\tx\n3\t'# y\n# z'\n", odd)) == [
        (1, "it's"),
        (3, "# y\n# z"),
    ]
    plain = extent("id INTEGER, word STRING", "odd", timestamp=None, delimiter=";", quote="")
    assert values(rows(tmp_path, 'id;word\n1;"a\n', plain)) == [(1, '"a')]
    latin = extent("id INTEGER, word STRING", "odd", timestamp=None, encoding="ISO-8859-1")
    assert values(rows(tmp_path, b"id,word\n1,\xe9\n", latin)) == [(1, "é")]


def test_gzip(tmp_path: Path) -> None:
    packed = extent("id INTEGER, word STRING", "words.csv.gz", timestamp=None)
    assert values(rows(tmp_path, gzip.compress(b"id,word\n1,a\n"), packed)) == [(1, "a")]
    write(tmp_path / "words.csv.gz", gzip.compress(b"id,word\n" + b"1,a\n" * 100_000)[:-20])
    source = open_source(packed, tmp_path, SECOND)
    assert source is not None
    with pytest.raises(SourceUnusable, match="is not a whole gzip file"):
        list(source.rows())
    write(tmp_path / "words.csv.gz", b"id,word\n1,a\n")
    with pytest.raises(SourceUnusable, match="is not a whole gzip file"):
        open_source(packed, tmp_path, SECOND)


def test_an_empty_file_is_an_empty_input_with_a_warning(tmp_path: Path) -> None:
    for content in ("", "\ufeff", "\n\n"):
        assert rows(tmp_path, content, WORDS) == []
        source = open_source(WORDS, tmp_path, SECOND)
        assert source is not None
        assert source.warnings == [f"road: {tmp_path / 'words.csv'} is empty, it has not even a header"]


def test_only_a_header_is_an_empty_input(tmp_path: Path) -> None:
    for content in ("id,word", "id,word\n"):
        assert rows(tmp_path, content, WORDS) == []
        source = open_source(WORDS, tmp_path, SECOND)
        assert source is not None
        assert source.warnings == [f"road: {tmp_path / 'words.csv'} has a header but no rows"]


@pytest.mark.parametrize(
    ("header", "message", "hint"),
    [
        ("id,wrod", "column 'wrod' of FILE is not a column of road", "did you mean word?"),
        ("id,_opp,word", "column '_opp' of FILE is not a column of road", "did you mean _op?"),
        ("1,2", "column '1' of FILE is not a column of road", "OPTIONS (header 'false')"),
        ("id", "FILE has no column 'word', which road declares", "its columns are id"),
        ("id,word,ID", "FILE has two columns 'ID'", None),
        ('"id,word', "the header of FILE cannot be read: a quote is opened and not closed", "is it CSV at all?"),
    ],
)
def test_headers_that_do_not_fit(tmp_path: Path, header: str, message: str, hint: str | None) -> None:
    write(tmp_path / "words.csv", header + "\n")
    with pytest.raises(SourceUnusable) as problem:
        open_source(WORDS, tmp_path, SECOND)
    assert message in problem.value.message.replace(str(tmp_path / "words.csv"), "FILE")
    assert (hint is None and problem.value.hint is None) or (hint or "") in (problem.value.hint or "")


def test_a_table_has_no_reserved_columns(tmp_path: Path) -> None:
    table = extent("id INTEGER, word STRING", "words.csv", timestamp=None, kind=STORED)
    write(tmp_path / "words.csv", "id,word,_op\n")
    with pytest.raises(SourceUnusable, match=r"column _op of .* is for streams, and road is a table"):
        open_source(table, tmp_path, SECOND)
    write(tmp_path / "words.csv", "id,word\n1,a\nx,b\n2,c\n")
    found, rejected = read_table(table, tmp_path)
    assert found == [(1, "a"), (2, "c")]
    assert [reject.reason for reject in rejected] == ["id: 'x' is not an INTEGER"]


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"heade": "true"}, "road: USING csv has no option heade", "did you mean header?"),
        ({"zzz": "true"}, "road: USING csv has no option zzz", "its options are charset, comment"),
        ({"mode": "FAILFAST"}, "road: option mode is not used", "always set aside"),
        ({"header": "maybe"}, "road: option header is true or false, not 'maybe'", None),
        ({"sep": "||"}, "road: option sep is a single character, not '||'", None),
        ({"sep": ""}, "road: option sep cannot be empty", None),
        ({"sep": '"'}, "road: fields cannot be separated and quoted by the same character", None),
        ({"encoding": "utf-9"}, "road: 'utf-9' is not a known encoding", None),
        ({"encoding": "hex"}, "road: 'hex' is not a known encoding", None),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, options: dict[str, str], message: str, hint: str | None) -> None:
    write(tmp_path / "road.csv", "site,time,temp\n")
    with pytest.raises(InvalidDefinition) as problem:
        open_source(extent(**options), tmp_path, SECOND)
    assert problem.value.message == message
    assert hint is None or hint in (problem.value.hint or "")


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1, max_size=12)


@given(st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), TEXTS), max_size=20))
def test_what_a_csv_writer_writes_is_read_back(tmp_path_factory: pytest.TempPathFactory, written: list) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(("id", "word"))
    writer.writerows(written)
    assert values(rows(tmp_path_factory.mktemp("csv"), buffer.getvalue(), WORDS)) == written


@given(st.binary(max_size=200))
def test_whatever_a_file_holds_is_a_row_a_reject_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    write(folder / "words.csv", b"id,word,_op,_ref,_tag\n" + content)
    try:
        source = open_source(WORDS, folder, SECOND)
        assert source is not None
        for row in source.rows():
            assert isinstance(row, Arrival | Reject)
            assert row.line >= 2
            if isinstance(row, Reject):
                row.text.encode()
                row.reason.encode()
    except EddylineError:
        pass


@pytest.mark.parametrize("damaged", ["1", "1,2,3,4", '"1'])
def test_a_damaged_reading_still_takes_its_turn(tmp_path: Path, damaged: str) -> None:
    """SNEEql's Figure 2: the third reading belongs to the second acquisition, whatever became of the second reading."""
    sensed = extent("x INTEGER, y INTEGER", "m.csv", kind=SENSED, timestamp=None, sites=(1, 2), interval=60)
    found = rows(tmp_path, f"x,y\n1,1\n{damaged}\n3,3\n", sensed)
    assert [row.tick for row in found if isinstance(row, Arrival)] == [0, 60]
