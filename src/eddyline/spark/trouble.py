"""What went wrong, dug out of the long messages in which Spark tells it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from eddyline.errors import EddylineError, FunctionFailed, StorageUnreadable, StorageUnusable, StreamingFailed

_OF_FUNCTION = re.compile(r"\bFunctionFailed: ([^\n]+)")


class Cancelled(Exception):
    """Nobody wants the work any more."""


def storage_problem(problem: BaseException) -> StorageUnusable | None:
    """What is wrong with the database's folders, if that is what went wrong; a task's own words are deep in Spark's."""
    if isinstance(problem, StorageUnusable):
        return problem
    text = str(problem)
    for kind in (StorageUnusable, StorageUnreadable):
        marker = f"{kind.__name__}: "
        if marker in text:
            return kind(text.split(marker, 1)[1].splitlines()[0].strip())
    return None


def function_problem(problem: BaseException) -> FunctionFailed | None:
    """What a function of the user's own says in a task, if that is what went wrong."""
    found = _OF_FUNCTION.search(str(problem))
    return None if found is None else FunctionFailed(found[1].strip())


def explained(problem: BaseException | None, what: str = "the streaming query has stopped") -> EddylineError:
    """The error of ours inside Spark's, or what Spark says in one sentence."""
    found = None if problem is None else storage_problem(problem) or function_problem(problem)
    return found or StreamingFailed(f"{what}: {reason_of(str(problem or ''))}")


@contextmanager
def told_plainly(what: str) -> Iterator[None]:
    """Whatever Spark raises while it runs something is told as an error of ours."""
    try:
        yield
    except EddylineError:
        raise
    except Exception as problem:
        raise explained(problem, what) from problem


def was_cancelled(problem: BaseException) -> bool:
    """Whether somebody has stopped the work, so that nothing is wrong with it."""
    if isinstance(problem, Cancelled):
        return True
    said = r"InterruptedException|JOB_CANCELLED|\bjob \d+ cancell?ed\b|SparkContext was shut ?down|stopped SparkContext"
    return re.search(said, str(problem), re.IGNORECASE) is not None


def reason_of(text: str) -> str:
    """The sentence of a long message that says what is wrong.

    >>> reason_of("[STREAM_FAILED] Query [id = 1] terminated with exception: no such thing SQLSTATE: XXKST")
    'no such thing'
    >>> reason_of("[PATH_NOT_FOUND] Path does not exist: /a. SQLSTATE: 42K03")
    'Path does not exist: /a.'
    """
    of_function = _OF_FUNCTION.search(text)
    if of_function:
        return of_function[1].strip()
    in_task = re.search(r"Lost task [^:]*: (?:[\w$]+\.)*(\w+(?:Exception|Error)): ([^\n]+)", text)
    if in_task:
        return f"{in_task[1]}: {in_task[2].strip()}"
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it gave no reason"]
    raised = [line for line in lines if re.match(r"(?!org\.apache)(\w+\.)*\w*(Error|Exception): \S", line)]
    if raised:  # by Python code
        return raised[-1]
    known = next((line for line in lines if re.search(r"\[[A-Z_.0-9]+\] ", line)), lines[0])
    sentence = re.sub(r"^.*?\[[A-Z_.0-9]+\] |\s*SQLSTATE: \w+.*$", "", known)
    return re.sub(r"^.*terminated with exception: (\[[A-Z_.0-9]+\] )?", "", sentence)
