"""The examples in the help of the commands: they name commands, flags and files that there are."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from eddyline.cli.main import app

ROOT = Path(__file__).parents[2]
COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_a_command(name: str) -> None:
    command = COMMANDS[name]
    assert command.epilog.startswith(f"Example: eddyline {name} ")
    words = command.epilog.split(" | ")[0].split()[3:]
    flags = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= flags
    assert [word for word in words if "/" in word and not (ROOT / word).is_file()] == []
