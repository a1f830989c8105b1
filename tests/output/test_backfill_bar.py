"""The bar of those who wait for the past: on a terminal only, and it leaves no trace."""

from __future__ import annotations

import io

import pytest

from eddyline.output import backfill_bar
from eddyline.output.backfill_bar import BackfillBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill_bar, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(backfill_bar, "_REFRESH_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")


def test_it_tells_each_query_and_how_far_it_is(at_once: None) -> None:
    terminal = Terminal()
    bar = BackfillBar(terminal)
    bar.report({"a": 0.25, "b": 0.5})
    bar.report({"b": 0.75})
    bar.clear()
    said = terminal.getvalue()
    assert "backfill of a" in said and "25%" in said and "75%" in said
    assert "backfill of a" not in said[said.rindex("75%") - 60 :]


def test_many_are_told_together(at_once: None) -> None:
    terminal = Terminal()
    BackfillBar(terminal).report({f"q{number}": 0.5 for number in range(100)})
    assert "backfill of 100 queries" in terminal.getvalue() and "q99" not in terminal.getvalue()


def test_it_is_silent_where_nobody_looks(at_once: None) -> None:
    file = io.StringIO()
    bar = BackfillBar(file)
    bar.report({"a": 0.5})
    bar.clear()
    assert file.getvalue() == ""


def test_it_waits_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    BackfillBar(terminal).report({"a": 0.5})
    assert terminal.getvalue() == ""
