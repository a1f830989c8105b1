"""Reading a `.script` file: its sections, what they expect, and what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from golden.notation import TAG, BadNotation, Line, read_line

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


class BadScript(ValueError):
    """The script file itself is wrong."""


@dataclass(frozen=True)
class ExpectedAnswers:
    """The answers of one query. `unordered`: rows that a window-to-stream conversion gives at one tick are a bag."""

    lines: tuple[Line, ...]
    unordered: bool

    @property
    def tag_fields(self) -> tuple[str, ...]:
        """The fields of tick-tags that the script speaks of; the others are not compared."""
        fields = {tuple(key for key, _ in line.tag[2:]) for line in self.lines if line.kind == TAG}
        if len(fields) > 1:
            raise BadScript(f"the tick-tags of one query must all name the same fields, not {sorted(fields)}")
        return next(iter(fields), ())


@dataclass(frozen=True)
class ExpectedReject:
    """A row that is set aside: file, line as an editor counts it, and a part of the reason."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True)
class ExpectedError:
    """What must be wrong with the script; what is None is not checked. `columns` is a range, both ends inclusive."""

    code: str
    line: int | None = None
    columns: tuple[int, int] | None = None
    sqlstate: str | None = None
    parts: tuple[str, ...] = ()  # each must stand in the message or the hint


@dataclass
class Script:
    path: Path
    comment: str = ""
    sql: str = ""
    files: dict[str, str] = field(default_factory=dict)
    algebra: dict[str, str] = field(default_factory=dict)
    answers: dict[str, ExpectedAnswers] = field(default_factory=dict)
    rejects: tuple[ExpectedReject, ...] = ()
    warnings: tuple[str, ...] | None = None
    error: ExpectedError | None = None

    @property
    def name(self) -> str:
        return str(self.path.relative_to(SCRIPTS).with_suffix(""))


def all_scripts() -> list[Path]:
    return sorted(SCRIPTS.glob("*/*.script"))


_HEADER = re.compile(r"===\s+(\w+)(?:\s+(\S+))?(?:\s+(unordered))?\s*$")


def read_script(path: Path) -> Script:
    script = Script(path)
    comment: list[str] = []
    section: tuple[str, str | None, bool] | None = None
    lines: list[tuple[int, str]] = []
    seen: set[tuple[str, str | None]] = set()
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not text.startswith("==="):
            if section is None:
                comment.append(text)
            lines.append((number, text))
            continue
        if section is not None:
            _finish(script, *section, lines)
        found = _HEADER.match(text)
        if found is None:
            raise BadScript(f"{path}:{number}: not a section: {text}")
        section, lines = (found[1], found[2], found[3] is not None), []
        if section[:2] in seen:
            raise BadScript(f"{path}:{number}: a second section {found[1]} {found[2] or ''}")
        seen.add(section[:2])
    if section is None:
        raise BadScript(f"{path}: no section at all")
    _finish(script, *section, lines)
    script.comment = "\n".join(line.lstrip("# ").rstrip() for line in comment).strip()
    return script


def _finish(script: Script, kind: str, name: str | None, unordered: bool, lines: list[tuple[int, str]]) -> None:
    named = kind in ("file", "algebra", "answers")
    if named != (name is not None):
        raise BadScript(f"{script.path}: section {kind} needs {'a' if named else 'no'} name")
    if kind == "file":
        script.files[name or ""] = _file_text(lines)
    elif kind == "sql":
        # a comment becomes an empty line, so that the lines of the errors stay as they are
        script.sql = "\n".join("" if text.startswith("#") else text for _, text in lines).rstrip() + "\n"
    elif kind == "algebra":
        script.algebra[name or ""] = " ".join(text for _, text in _without_comments(lines))
    elif kind == "answers":
        script.answers[name or ""] = ExpectedAnswers(_answers(script.path, lines), unordered)
    elif kind == "rejects":
        script.rejects = tuple(_reject(script.path, *line) for line in _without_comments(lines))
    elif kind == "warnings":
        script.warnings = tuple(text for _, text in _without_comments(lines))
    elif kind == "error":
        script.error = _error(script.path, _without_comments(lines))
    else:
        raise BadScript(f"{script.path}: no such section: {kind}")


def _file_text(lines: list[tuple[int, str]]) -> str:
    texts = [text for _, text in lines]
    while texts and not texts[-1].strip():
        texts.pop()
    return "".join(f"{text}\n" for text in texts)


def _without_comments(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return [(number, text) for number, text in lines if text.strip() and not text.lstrip().startswith("#")]


def _answers(path: Path, lines: list[tuple[int, str]]) -> tuple[Line, ...]:
    joined: list[tuple[int, str]] = []
    for number, text in _without_comments(lines):
        if text[0].isspace() and joined:  # an indented line continues the one before
            joined[-1] = (joined[-1][0], f"{joined[-1][1]} {text.strip()}")
        else:
            joined.append((number, text))
    found = []
    for number, text in joined:
        try:
            found.append(read_line(text))
        except BadNotation as problem:
            raise BadScript(f"{path}:{number}: {problem}") from None
    return tuple(found)


def _reject(path: Path, number: int, text: str) -> ExpectedReject:
    found = re.fullmatch(r"(\S+?):(\d+):\s*(.*)", text.strip())
    if found is None:
        raise BadScript(f"{path}:{number}: expected file:line: part of the reason")
    return ExpectedReject(found[1], int(found[2]), found[3])


def _error(path: Path, lines: list[tuple[int, str]]) -> ExpectedError:
    fields: dict[str, str] = {}
    parts: list[str] = []
    for number, text in lines:
        key, colon, value = text.partition(":")
        key, value = key.strip(), value.strip()
        if not colon or key not in ("code", "sqlstate", "line", "column", "mentions"):
            raise BadScript(f"{path}:{number}: expected code:, sqlstate:, line:, column: or mentions:")
        if key == "mentions":
            parts.append(value)
        else:
            fields[key] = value
    if "code" not in fields:
        raise BadScript(f"{path}: an error needs a code")
    first, _, last = fields.get("column", "").partition("-")
    return ExpectedError(
        fields["code"],
        int(fields["line"]) if "line" in fields else None,
        (int(first), int(last or first)) if first else None,
        fields.get("sqlstate"),
        tuple(parts),
    )
