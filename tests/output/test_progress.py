"""The progress bar: on a terminal, after a while, without a trace."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from eddyline.output import ProgressBar, progress

HALF = SimpleNamespace(rows=12_345, bytes_read=50, total_bytes=100, clock=600, answers=7, queries=1, revisions=2_000)
ENDLESS = SimpleNamespace(rows=1, bytes_read=0, total_bytes=None, clock=None, answers=0, queries=3, revisions=0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


def test_it_shows_how_far_the_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "QUIET_SECONDS", -1)
    half = ("50%", "12,345 rows", "/s", "tick 600", "1 query", "7 answers", "2,000 revisions")
    for reached, shown in ((HALF, half), (ENDLESS, ("1 row", "3 queries", "0 revisions"))):
        stream = Terminal()
        bar = ProgressBar(stream)
        bar.report(reached)
        assert all(text in stream.getvalue() for text in shown)
        bar.clear()
        assert stream.getvalue().endswith("\x1b[2K")  # the line is wiped


def test_a_narrow_terminal_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "QUIET_SECONDS", -1)
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    bar = ProgressBar(stream)
    bar.report(HALF)
    assert "\n" not in stream.getvalue().rstrip("\n")
    assert "12,345 rows" in stream.getvalue() and "2,000 revisions" in stream.getvalue()


def test_short_runs_see_nothing() -> None:
    stream = Terminal()
    bar = ProgressBar(stream)
    bar.report(HALF)
    bar.clear()
    assert stream.getvalue() == ""


def test_files_see_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "QUIET_SECONDS", -1)
    stream = io.StringIO()
    bar = ProgressBar(stream)
    bar.report(HALF)
    bar.clear()
    assert stream.getvalue() == ""
