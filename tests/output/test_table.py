"""Tables for people: the same answers, readable at a glance."""

from __future__ import annotations

import io
from collections.abc import Iterable

import pytest

from eddyline.algebra.answer import (
    Answer,
    RelationAnswer,
    StixAnswer,
    TagAnswer,
    TagView,
    TextAnswer,
    TupleAnswer,
    WindowAnswer,
)
from eddyline.algebra.tag import Applicability, TickTag
from eddyline.output import Painter, Tables
from eddyline.output.table import HELD_LINES


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(answers: Iterable[Answer], stream: io.StringIO | None = None, **columns: tuple[str, ...]) -> str:
    stream = stream if stream is not None else io.StringIO()
    tables = Tables(stream.write, Painter(stream))
    for query, names in columns.items():
        tables.begin(query, names)
    for answer in answers:
        tables.show(answer)
    tables.close()
    return stream.getvalue()


def test_a_stream_with_revisions() -> None:
    answers = [
        TupleAnswer("q1", 60, 1, "+", (60, "cold")),
        TupleAnswer("q1", 120, 2, "+", (120, None)),
        TupleAnswer("q1", 120, 2, "=", (120, "hot"), (120, None)),
        TupleAnswer("q1", 60, 1, "-", (60, "cold")),
    ]
    assert printed(answers, q1=("time", "class")) == (
        "q1  tick  index       time  class\n"
        "      60      1  +      60  cold\n"
        "     120      2  +     120  NULL\n"
        "     120      2  =     120  hot\n"
        "                 was   120  NULL\n"
        "      60      1  -      60  cold\n"
    )


def test_windows() -> None:
    answers = [
        WindowAnswer("q2", 600, 11, "+", ((3, "a"), (14, "b"))),
        WindowAnswer("q2", 660, 12, "+", ()),
        WindowAnswer("q2", 600, 11, "=", ((3, "a"),), ((3, "a"), (14, "b")), 590),
        WindowAnswer("q2", 660, 12, "=", ((1, "c"),), ()),
        WindowAnswer("q2", 600, 11, "-", (), ((3, "a"),)),
    ]
    assert printed(answers, q2=("min", "site")) == (
        "q2  tick  window       min  site\n"
        "     600      11  +      3  a\n"
        "                        14  b\n"
        "     660      12  +    no rows\n"
        "     600      11  =      3  a\n"
        "                  was    3  a\n"
        "                        14  b\n"
        "                  was  at tick 590\n"
        "     660      12  =      1  c\n"
        "                  was  no rows\n"
        "     600      11  -      3  a\n"
    )


def test_a_header_whenever_the_query_changes() -> None:
    answers = [
        RelationAnswer("a", 1, "+", (1,)),
        RelationAnswer("bb", 1, "+", (1,)),
        RelationAnswer("a", 2, "-", (1,)),
    ]
    assert printed(answers, a=("x",), bb=("y",)) == (
        "a   tick       x\n"
        "       1  +    1\n"
        "\n"
        "bb  tick       y\n"
        "       1  +    1\n"
        "\n"
        "a   tick       x\n"
        "       2  -    1\n"
    )


def test_tags() -> None:
    running = TickTag("Running", Applicability("Patients", None, ("measure",)), "user", 5, "objective", "+", 1800, "C")
    value = TickTag("sick", Applicability("Patients", (1, 2), ("a", "b"), by_value=True), "q1", 5, "junk", lifespan=1)
    answers = [
        TagAnswer("p", 5, running),
        TagAnswer("p", 5, value),
        TupleAnswer("p", 5, 17, "+", (8,), tags=(TagView("Running", "+", ("m",)), TagView("x", None, ())), stix="(1)1"),
        StixAnswer("p", 6, "(4)2|(1-3)1"),
    ]
    assert printed(answers, p=("m",)) == (
        "p  tick  index       m\n"
        "      5         #    Running (+) on Patients.measure, 1800 ticks, combines, objective, by user\n"
        "      5         #    sick on Patients.(a, b).value, tuples 1, 2, 1 tick, overwrites, junk, by q1\n"
        "      5     17  +    8  # Running (+) on m · x · stix (1)1\n"
        "      6         #    stix (4)2|(1-3)1\n"
    )


def test_text_is_printed_as_it_is() -> None:
    text = printed([TextAnswer("e1", "Select\n  Receive"), TextAnswer("e2", "x")])
    assert text == "e1\n  Select\n    Receive\n\ne2\n  x\n"


def test_what_a_terminal_would_obey_is_shown_instead() -> None:
    text = printed([TupleAnswer("q", 1, 1, "+", ("\x1b[2Jx\ny", ""))], q=("a", "b"))
    assert "\x1b" not in text
    assert text.endswith("\\x1b[2Jx\\ny  ''\n")
    tag = TickTag("\x1b[1m", Applicability("s", attributes=("\x1b[2m",)), "\x1b[3m", 1, "objective")
    assert "\x1b" not in printed([TagAnswer("q", 1, tag)])


def test_a_table_too_wide_for_the_terminal_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    row = tuple(range(1000, 1012))
    columns = tuple(f"column_{number}" for number in range(12))
    text = printed([TupleAnswer("q", 1, 1, "+", row)], Terminal(), q=columns)
    assert max(map(len, text.splitlines())) < 60
    assert all(f"{name}={value}" in text for name, value in zip(columns, row, strict=True))
    long = printed([TupleAnswer("q", 1, 1, "+", ("word " * 100,))], Terminal(), q=("text",))
    assert max(map(len, long.splitlines())) < 60
    assert long.count("word") == 100


def test_nothing_is_folded_or_coloured_where_there_is_no_terminal() -> None:
    text = printed([TupleAnswer("q", 1, 1, "+", ("word " * 100,))], q=("text",))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 2


def test_colour_on_a_terminal_and_none_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [TupleAnswer("q", 1, 1, op, (1,), (2,) if op == "=" else None) for op in "+-="]
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = printed(answers, Terminal(), q=("x",))
    assert (
        "\x1b[1;32m+" in coloured and "\x1b[31m-" in coloured and "\x1b[33m=" in coloured and "\x1b[2mwas" in coloured
    )
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in printed(answers, Terminal(), q=("x",))


def test_a_long_run_is_printed_while_it_runs() -> None:
    stream = io.StringIO()
    tables = Tables(stream.write, Painter(stream))
    tables.begin("q", ("x",))
    for index in range(HELD_LINES):
        tables.show(TupleAnswer("q", 1, index, "+", (1,)))
    assert len(stream.getvalue().splitlines()) == HELD_LINES + 1
    tables.show(TupleAnswer("q", 1, 1, "+", (10**9,)))
    tables.close()
    # The column has become wider: the header is printed again, so that it stands over its values.
    assert stream.getvalue().count("tick") == 2
