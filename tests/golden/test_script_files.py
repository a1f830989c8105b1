"""The scripts themselves, without any engine: that they can be read and do not contradict themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.fold import fold
from golden.notation import WINDOW, read_line
from golden.script_file import SCRIPTS, all_scripts, read_script

PATHS = [pytest.param(path, id=str(path.relative_to(SCRIPTS).with_suffix(""))) for path in all_scripts()]


@pytest.mark.parametrize("path", PATHS)
def test_script_is_whole(path: Path) -> None:
    script = read_script(path)
    assert script.comment, "it does not say where it comes from"
    assert script.sql.strip(), "it has no SQL"
    assert script.error or script.answers, "it expects nothing"
    assert not (script.error and script.answers), "a script that fails answers nothing"


@pytest.mark.parametrize("path", PATHS)
def test_answers_fold(path: Path) -> None:
    for query, expected in read_script(path).answers.items():
        fold(expected.lines)
        assert isinstance(expected.tag_fields, tuple)
        created = [line.number for line in expected.lines if line.kind == WINDOW and line.op == "+"]
        assert created == list(range(1, len(created) + 1)), f"{query}: windows are numbered in order of creation"


@pytest.mark.parametrize(
    "text",
    [
        '60     #1    + time=60, name="a, b=(c)", x=1.5, y=null',
        "600    w11   + (min(temp)=3, max(vibration)=9) (min(temp)=4, max(vibration)=9)",
        "600    w11   + ()",
        "600    w11   = (sum(price)=80) -> (sum(price)=77)  moved from 540",
        "600    w11   - (n=1)",
        "3      #1    = v=1 -> v=2",
        "3            + v=1",
        "3            - v=1",
        '0      #       "Running" (+) tagger="user", attributes=["measure"], lifespan=1800',
        '0      #       "Sad" ()',
        "0      stix    (4)2|(1-3)1",
        '0      #1    + a=1, b=2  tags: "Running"(+)[a, b] "Sad"()  stix: (1:1,4-5)2|(1:1-3)1',
        "0      #1    + a=1  tags:",
        '0      w1    + (a=1  tags: "Running"(+)[a])',
    ],
)
def test_notation_prints_as_it_is_read(text: str) -> None:
    assert str(read_line(text)) == text
