"""Half of a surrogate pair is in no statement, wherever it stands in the script."""

from __future__ import annotations

import pytest

import eddyline
from eddyline.errors import Position, SyntaxProblem
from eddyline.language.pieces import pieces
from eddyline.language.script import parse_piece, parse_script
from laws.without_spark import kernels_alone


@pytest.mark.parametrize("text", ["ATTACH TAG '\ud800' TO s", "SELECT a FROM s WHERE a = '\udfff' AND b = 1"])
def test_it_is_refused_where_it_stands(text: str) -> None:
    at = next(place for place, letter in enumerate(text) if "\ud800" <= letter <= "\udfff")
    with pytest.raises(SyntaxProblem, match=f"half of a surrogate pair, U\\+{ord(text[at]):X}, is no") as raised:
        parse_script(text)
    assert raised.value.position == Position(at, at + 1)


def test_a_query_like_another_is_not_taken_for_it() -> None:
    script = "CREATE QUERY p AS SELECT a FROM s WHERE a = 'x'; CREATE QUERY q AS SELECT a FROM s WHERE a = '\ud800';"
    first, second = pieces(script)
    assert (first.name, second.name) == ("p", None)
    with pytest.raises(SyntaxProblem) as raised:
        parse_piece(second, script)
    at = script.index("\ud800")
    assert raised.value.position == Position(at, at + 1)


def test_a_stream_goes_on_after_such_an_attachment() -> None:
    with kernels_alone(), eddyline.connect(heartbeat=None) as db:
        db.sql("CREATE STREAM s (b STRING, t INTEGER) TIMESTAMP BY t")
        for attach in ("ATTACH TAG '\ud800' TO s", "ATTACH TAG 'x' TO s WHERE b = '\ud800'"):
            with pytest.raises(SyntaxProblem):
                db.sql(attach)
        assert db.stream("s").push([("a", 1)]).accepted == 1
