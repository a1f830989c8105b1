"""The examples of README.md and docs/*.md are true: each is bound, and where its output is shown, run and compared.

How a document is read:

- It is cut into sections at its `#` and `##` headings. Sections share nothing.
- A fenced block under a line that ends with "`name.ext`:" is that file. It lies beside the scripts of its section.
- ```sql is a script. It is parsed and bound. If a ```jsonl or ```text block follows directly (blank lines only in
  between), it is run by `eddyline run --format jsonl` or `--format table`, must print exactly that, and nothing else.
- ```console holds commands behind `$ ` and what they print. Those that start with `eddyline` are run in the section's
  folder, and what they print is compared (stdout, then stderr). `echo $?` is the exit code of the one before, and
  `cat FILE` shows a file. Other commands are not run.

A comment on the line above a ```sql block says more:

- `<!-- setup -->`: the block is put in front of every later script of its section (not in front of files).
- `<!-- error -->`: the script stands alone and is refused; the ```text block after it is what stderr says.
- `<!-- fragment -->`: not a whole statement. Not tested, so use it for nothing else.

Lists in the documents that must be complete (functions, errors, options, flags) are compared with the program.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from eddyline.algebra import functions
from eddyline.algebra.functions.datetimes import EXTRACT_FIELDS
from eddyline.binder import call, rewrite
from eddyline.binder.statement import StatementBinder
from eddyline.cli.main import app
from eddyline.errors import BeyondRetention, EddylineError, InvalidAlgebra, NoSuchTuple
from eddyline.language import parse_script
from eddyline.language.parsing.query import TAG_FUNCTIONS
from eddyline.output import table
from eddyline.sources import csv_file, json_file, parquet_file
from eddyline.sources.source import PUSH_WRAPPERS

ROOT = Path(__file__).parents[2]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
LANGUAGE = (ROOT / "docs" / "language.md").read_text()
RUNNING = (ROOT / "docs" / "running.md").read_text()

SCRIPT = "script.sql"
_FILE = re.compile(r"`([\w./-]+\.\w+)`:$")
_MARKER = re.compile(r"<!-- (setup|error|fragment) -->$")
_COMMAND = re.compile(r"(?:\.venv/bin/)?eddyline\b")


# -- reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, what stands on the last line above it, whether it follows another directly."""

    language: str
    text: str
    line: int
    above: str
    follows: bool


@dataclass(frozen=True)
class Example:
    """A block to test, with what its section has given it so far."""

    place: str
    kind: str  # bind, run, error or console
    text: str
    expected: str = ""
    format: str = "table"
    files: dict[str, str] = field(default_factory=dict)


def sections(text: str) -> Iterator[list[Block]]:
    """The blocks of each section."""
    blocks: list[Block] = []
    above, follows = "", False
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if line.startswith("```"):
            body = []
            for _, inner in lines:
                if inner.startswith("```"):
                    break
                body.append(inner)
            blocks.append(Block(line[3:].strip(), "".join(f"{b}\n" for b in body), number, above, follows))
            above, follows = "", True
        elif line.strip():
            if re.match(r"##? ", line):
                yield blocks
                blocks = []
            above, follows = line.strip(), False
    yield blocks


def examples(name: str, text: str) -> Iterator[Example]:
    for blocks in sections(text):
        setup = ""
        files: dict[str, str] = {}
        for block, following in zip_longest(blocks, blocks[1:]):
            place = f"{name}:{block.line}"
            file, marker = _FILE.search(block.above), _MARKER.search(block.above)
            if file is not None:
                files[file[1]] = block.text
            if block.language == "console":
                yield Example(place, "console", block.text, files=dict(files))
            if block.language != "sql":
                continue
            mark = marker[1] if marker is not None else ""
            output = following if following is not None and following.follows else None
            if output is not None and output.language not in ("jsonl", "text"):
                output = None
            script = block.text if file is not None or mark == "error" else setup + block.text
            if mark == "setup":
                setup += block.text
            if mark == "error":
                assert output is not None, f"{place}: an error is followed by its message"
                yield Example(place, "error", script, output.text, files=dict(files))
            elif output is not None and mark != "fragment":
                form = "jsonl" if output.language == "jsonl" else "table"
                yield Example(place, "run", script, output.text, form, dict(files))
            elif mark != "fragment":
                yield Example(place, "bind", script, files=dict(files))


def all_examples() -> list[Example]:
    return [example for path in DOCUMENTS for example in examples(path.name, path.read_text())]


# -- running ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    # a table is laid out anew if its answers come slowly, and this machine may be busy
    monkeypatch.setattr(table, "HELD_SECONDS", math.inf)
    return tmp_path


def eddyline(*arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    result = CliRunner().invoke(app, list(arguments), prog_name="eddyline")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def bind(text: str) -> None:
    binder = StatementBinder()
    for statement in parse_script(text):
        binder.bind(statement.tree)


def outcome(example: Example, folder: Path) -> str:
    """What the example prints, in the place of what it is said to print."""
    for name, text in example.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    if example.kind == "console":
        return _dialogue(example.text)
    (folder / SCRIPT).write_text(example.text)
    code, out, err = eddyline("run", SCRIPT, "--format", example.format)
    if example.kind == "error":
        assert (code, out) == (2, "")
        return err
    assert (code, err) == (0, "")
    return out


def _dialogue(text: str) -> str:
    """The console block as it really goes on. What is printed by commands that are not ours is left as it is."""
    lines: list[str] = []
    code, ours = 0, False
    for line in text.splitlines(keepends=True):
        if not line.startswith("$ "):
            if not ours:
                lines.append(line)
            continue
        command = line[2:].strip()
        lines.append(line)
        ours = True
        if command == "echo $?":
            lines.append(f"{code}\n")
        elif command.startswith("cat "):
            lines.append(Path(command[4:]).read_text())
        elif _COMMAND.match(command):
            code, out, err = eddyline(*shlex.split(command, comments=True)[1:])
            lines.append(out + err)
        else:
            ours = False
    return "".join(lines)


@pytest.mark.parametrize("example", all_examples(), ids=lambda example: example.place)
def test_example(example: Example, folder: Path) -> None:
    if example.kind == "bind":
        bind(example.text)
    else:
        assert outcome(example, folder) == (example.text if example.kind == "console" else example.expected)


def test_the_readme_shows_what_is_printed() -> None:
    """Its console block is run, not only its script bound."""
    shown = [e for e in all_examples() if e.place.startswith("README.md") and "run prices.sql" in e.text]
    assert len(shown) == 1
    assert "prices.sql" in shown[0].files


def python_blocks() -> list[object]:
    """Python and what it prints, which is the block of text behind it."""
    found = []
    for path in DOCUMENTS:
        for blocks in sections(path.read_text()):
            for at, block in enumerate(blocks):
                if block.language == "python":
                    following = blocks[at + 1] if at + 1 < len(blocks) else None
                    printed = following.text if following is not None and following.language == "text" else ""
                    found.append(pytest.param(block.text, printed, id=f"{path.name}:{block.line}"))
    return found


@pytest.mark.parametrize(("code", "printed"), python_blocks())
def test_python_example(
    code: str, printed: str, spark: object, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It runs as it stands, on Spark, and prints exactly that."""
    exec(compile(code, "example", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == printed


def test_every_block_says_what_it_is() -> None:
    for path in DOCUMENTS:
        for blocks in sections(path.read_text()):
            for block in blocks:
                known = block.language in ("sql", "jsonl", "text", "csv", "console", "bash", "python")
                assert known, f"{path.name}:{block.line}: a block of {block.language or 'nothing'}"


def test_a_rotten_example_fails(folder: Path) -> None:
    """The reading above finds mistakes: a wrong output, a name that is gone, a missing message."""
    script = "CREATE STREAM s (x INTEGER);\nSELECT x FROM s;\nINSERT INTO s VALUES (1);\n"
    good = f"## A\n```sql\n{script}```\n\n```jsonl\n{{}}\n```\n"
    (example,) = examples("x.md", good)
    assert example.kind == "run"
    assert outcome(example, folder) == '{"query": "q1", "tick": 0, "index": 1, "op": "+", "row": {"x": 1}}\n'
    (unknown,) = examples("x.md", "```sql\nSELECT x FROM s;\n```\n")
    with pytest.raises(EddylineError):
        bind(unknown.text)


# -- complete lists ---------------------------------------------------------------------------------------------------


def part(text: str, heading: str) -> str:
    """The text under a heading, up to the next heading of its level or above."""
    level = heading.split()[0]
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(level)}}} |\Z)", text, re.DOTALL | re.MULTILINE)
    assert found is not None, f"there is no heading {heading}"
    return found[1]


def code_words(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", text))


def first_cells(text: str) -> list[str]:
    """The first column of the tables in a text, without its quotes."""
    rows = re.findall(r"^\| *(.*?) *\|", text, re.MULTILINE)
    return [row.strip("`") for row in rows if row.startswith("`")]


def callable_functions() -> set[str]:
    found = set(rewrite.REWRITES)
    for name in functions.names():
        try:
            call.find(name, None)
        except EddylineError:
            continue
        found.add(name)
    return found


def test_the_function_catalogue_is_complete() -> None:
    written = code_words(part(LANGUAGE, "## Function catalogue"))
    assert written == callable_functions()


def test_the_fields_of_extract_are_complete() -> None:
    line = next(line for line in LANGUAGE.splitlines() if "`EXTRACT(field FROM x)`" in line)
    assert set(EXTRACT_FIELDS) <= code_words(line)


def error_codes() -> set[tuple[str, str]]:
    """Of all errors that can reach a user."""
    waiting, found = [EddylineError], set()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        # bugs of ours; and what becomes the reason of a row set aside
        if kind not in (EddylineError, InvalidAlgebra, NoSuchTuple, BeyondRetention):
            found.add((kind.code, kind.sqlstate))
    return found | {("SYSTEM_ERROR", "58000")}


def test_the_list_of_errors_is_complete() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", part(LANGUAGE, "## Errors"), re.MULTILINE)
    assert len(rows) == len(set(rows))
    assert set(rows) == error_codes()


def test_the_options_of_formats_are_complete() -> None:
    files = part(LANGUAGE, "### Files")
    for reader in (csv_file, json_file, parquet_file):
        name = reader.__name__.rsplit(".", 1)[-1].removesuffix("_file")
        row = next(line for line in files.splitlines() if line.startswith(f"| `{name}` |"))
        assert {option.lower() for option in code_words(row)} - {name} == reader.OPTIONS
    assert code_words(files) >= PUSH_WRAPPERS


def test_the_tag_functions_are_complete() -> None:
    assert set(first_cells(part(LANGUAGE, "### Tag functions"))) == set(TAG_FUNCTIONS)


def test_the_flags_are_complete() -> None:
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        text = part(RUNNING, f"## eddyline {name}")
        flags = {option for parameter in command.params for option in parameter.opts if option.startswith("-")}
        missing = flags - code_words(text) - {"--help", "-h"}
        assert not missing, f"docs/running.md does not tell of {missing} of eddyline {name}"
