"""Every error a user can see: one message, a code, an SQLSTATE, and the place in the SQL where it is wrong.

Whatever goes wrong in a user's text or data is raised as an `EddylineError`; the CLI prints it with `render`
and nothing else. Anything that is not an `EddylineError` is a bug of ours.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Position:
    """A stretch of the source text: character offsets, `end` exclusive."""

    start: int
    end: int

    def line_and_column(self, text: str) -> tuple[int, int]:
        """Line and column of the start, both from 1.

        >>> Position(4, 5).line_and_column("ab\\ncd")
        (2, 2)
        """
        start = min(self.start, len(text))
        line_start = text.rfind("\n", 0, start) + 1
        return text.count("\n", 0, start) + 1, start - line_start + 1


class EddylineError(Exception):
    """The base of all errors shown to users. Subclasses fix `code` and `sqlstate`."""

    code = "INTERNAL"
    sqlstate = "XX000"
    #: whether the same request may succeed later without being changed
    retryable = False

    def __init__(self, message: str, position: Position | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.hint = hint
        #: other errors of the same statement, for whoever wants to know them all
        self.others: list[EddylineError] = []

    def render(self, text: str | None = None, source: str | None = None) -> str:
        """The message as the user sees it: headline, place, the line with a caret, the hint."""
        headline = f"ERROR {self.code} (SQLSTATE {self.sqlstate}): {self.message}"
        return "\n".join([headline, *self._details(text, source)])

    def note(self, text: str | None = None, source: str | None = None) -> None:
        """Have a traceback show what `render` shows below its headline; once, however often it is asked for."""
        details = "\n".join(self._details(text, source))
        if details and details not in getattr(self, "__notes__", ()):
            self.add_note(details)

    def _details(self, text: str | None = None, source: str | None = None) -> list[str]:
        """The place, the line with a caret, the hint; as far as they are known."""
        parts = []
        if text is not None and self.position is not None:
            line, column = self.position.line_and_column(text)
            gutter = " " * len(str(line))
            place = f"line {line}, column {column}"
            excerpt, carets = _excerpt(text, self.position, column)
            parts.append(f"{gutter}--> {source}: {place}" if source else f"{gutter}--> {place}")
            parts.append(f"{line} | {excerpt}")
            parts.append(f"{gutter} | {carets}")
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return parts


@contextmanager
def noted(text: str | None = None, source: str | None = None) -> Iterator[None]:
    """Errors of what is done inside show in a traceback where they are in the text, in which file, and their hint."""
    try:
        yield
    except EddylineError as error:
        error.note(text, source)
        raise


#: a line longer than this is cut around the place that is wrong
_WIDTH = 160


def _excerpt(text: str, position: Position, column: int) -> tuple[str, str]:
    """The line that holds the place, and the carets to put under it."""
    start = min(position.start, len(text)) - (column - 1)
    end = text.find("\n", start)
    line = text[start : len(text) if end < 0 else end].rstrip("\r")
    first, last = column - 1, max(column, min(column - 1 + position.end - position.start, len(line)))
    cut = max(0, first - _WIDTH // 2)
    shown = line[cut : cut + _WIDTH]
    before, marked = line[cut:first], line[first : min(last, cut + _WIDTH)]
    lead, tail = "… " if cut else "", " …" if cut + _WIDTH < len(line) else ""
    carets = " " * (len(lead) + _cells(before)) + "^" * max(1, _cells(marked))
    return lead + "".join(" " if c < " " else c for c in shown) + tail, carets


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes: two for the characters of East Asia, none for combining marks."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)


class SyntaxProblem(EddylineError):
    """The text is not a statement of the language."""

    code, sqlstate = "SYNTAX_ERROR", "42601"


class UnknownName(EddylineError):
    """A table, stream, query, column or function that does not exist."""

    code, sqlstate = "UNKNOWN_NAME", "42704"


class UnknownColumn(EddylineError):
    code, sqlstate = "UNKNOWN_COLUMN", "42703"


class UnknownExtent(EddylineError):
    code, sqlstate = "UNKNOWN_EXTENT", "42P01"


class UnknownFunction(EddylineError):
    code, sqlstate = "UNKNOWN_FUNCTION", "42883"


class AmbiguousColumn(EddylineError):
    code, sqlstate = "AMBIGUOUS_COLUMN", "42702"


class DuplicateName(EddylineError):
    code, sqlstate = "DUPLICATE_NAME", "42710"


class TypeMismatch(EddylineError):
    code, sqlstate = "TYPE_MISMATCH", "42804"


class InvalidWindow(EddylineError):
    """A window that cannot be: on a table, empty for ever, of mixed units."""

    code, sqlstate = "INVALID_WINDOW", "42P20"


class Unbounded(EddylineError):
    """A blocking operation (cross product, aggregate, DISTINCT, ORDER BY) over a stream without a window."""

    code, sqlstate = "UNBOUNDED_STREAM", "42P21"


class InvalidLoop(EddylineError):
    """A for-loop that never starts, never ends, or moves a window it does not have."""

    code, sqlstate = "INVALID_LOOP", "42P22"


class InvalidGrouping(EddylineError):
    """A column outside the grouping, an aggregate where none may be."""

    code, sqlstate = "INVALID_GROUPING", "42803"


class InvalidTag(EddylineError):
    """A tick-tag that cannot be attached: unknown attribute, bad sign, mode or lifespan."""

    code, sqlstate = "INVALID_TAG", "42P23"


class InvalidDefinition(EddylineError):
    """A definition or statement whose parts contradict each other."""

    code, sqlstate = "INVALID_DEFINITION", "42611"


class NotSupported(EddylineError):
    code, sqlstate = "NOT_SUPPORTED", "0A000"


class InvalidAlgebra(EddylineError):
    """An operator was built from parts that do not fit together: a bug in a binder or a rule."""

    code, sqlstate = "INVALID_ALGEBRA", "XX001"


class SourceMissing(EddylineError):
    """The file or folder of an extent is not there or cannot be read."""

    code, sqlstate, retryable = "SOURCE_MISSING", "58P01", True


class SourceUnusable(EddylineError):
    """The file is there, but is not what the extent says it is (no header, wrong columns)."""

    code, sqlstate = "SOURCE_UNUSABLE", "22000"


class MissingTime(EddylineError):
    """A tuple without a value in the column that its time is taken from."""

    code, sqlstate = "MISSING_TIME", "22004"


class NoSuchTuple(EddylineError):
    """A revision of a tuple that does not exist, or no longer."""

    code, sqlstate = "NO_SUCH_TUPLE", "02000"


class MissingKey(EddylineError):
    """A tuple without a value in a column of its stream's KEY."""

    code, sqlstate = "MISSING_KEY", "23502"


class DuplicateKey(EddylineError):
    """A revision that would give a tuple the KEY of another one."""

    code, sqlstate = "DUPLICATE_KEY", "23505"


class BeyondRetention(EddylineError):
    """A row, or a revision of a tuple, that comes later than its stream takes it."""

    code, sqlstate = "BEYOND_RETENTION", "22008"


class TooManyWindows(EddylineError):
    """Time has gone on so far without a tuple that there would be no end of empty windows."""

    code, sqlstate = "TOO_MANY_WINDOWS", "54000"


class FunctionFailed(EddylineError):
    """A function of the user's own has raised an exception, or has given what it said it would not."""

    code, sqlstate = "FUNCTION_FAILED", "38000"


class SparkUnavailable(EddylineError):
    """Spark cannot be started: no usable Java, a master that is not there, a port or memory it cannot have."""

    code, sqlstate = "SPARK_UNAVAILABLE", "58000"


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The existing name that the user most likely meant.

    >>> nearest("vibraton", ["temp", "vibration"])
    'vibration'
    """
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


class StorageUnusable(EddylineError):
    """A folder of the database cannot be read or written: full, read-only, gone, or not permitted."""

    code = "STORAGE_UNUSABLE"
    sqlstate = "58030"
    retryable = True


class StorageUnreadable(StorageUnusable):
    """A file that should be there is gone or damaged: waiting does not bring it back."""

    code = "STORAGE_UNREADABLE"
    retryable = False


class StreamingFailed(EddylineError):
    """The streaming query has ended with an error; the data that has come in is safe, and waits."""

    code = "STREAMING_FAILED"
    sqlstate = "58000"
    retryable = True


class DatabaseInUse(EddylineError):
    """Another process owns the database."""

    code = "DATABASE_IN_USE"
    sqlstate = "55006"
    retryable = True


class DatabaseClosed(EddylineError):
    """The database, or the query of a handle, is no longer there."""

    code = "DATABASE_CLOSED"
    sqlstate = "08003"
