"""Whether code is the same is told by what it says, not by where it is written or in which process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from eddyline.spark.code_identity import identity_of
from eddyline.spark.user_functions import pickled
from functions import halves

TESTS = Path(__file__).parents[1]

#: sets in constants, defaults and modules; classes, and functions that call each other
PROGRAM = """
import dataclasses, enum, re, sys
import eddyline
import pyarrow.compute as pc
from laws.without_spark import kernels_alone

class Kind(enum.Enum):
    ONE = "one"
    TWO = "two"

@dataclasses.dataclass
class Factor:
    by: float = 2.0
    names: frozenset = frozenset({"one", "two", "three", "four"})

WORDS = {"five", "six", "seven", "eight"}
PATTERN = re.compile("a+")

def even(n):
    return n == 0 or odd(n - 1)

def odd(n):
    return n != 0 and even(n - 1)

def scaled(x, known={"nine", "ten", "eleven"}):
    assert even(4) and "six" in WORDS and PATTERN.match("a") and Kind("one") is Kind.ONE
    if "b" in {"a", "b", "c", "d", "e"}:
        return pc.multiply(x, Factor().by)

with kernels_alone(), eddyline.connect(sys.argv[1], heartbeat=None) as db:
    db.function("f", scaled, returns="DOUBLE", arguments=["DOUBLE"])
    if "s" not in db.streams:
        db.sql("CREATE STREAM s (v DOUBLE, t INTEGER) TIMESTAMP BY t; CREATE QUERY q AS SELECT f(v) AS x FROM s")
    db.stream("s").push([(1.0, 1)])
    db.flush()
    print([answer.row for answer in db.query("q").fetch()])
"""


def run(file: Path, text: str, root: Path, seed: int) -> subprocess.CompletedProcess[str]:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    paths = os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": paths}
    command = [sys.executable, str(file), str(root)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)


def test_a_program_that_is_started_again_has_the_same_function(tmp_path: Path) -> None:
    root = tmp_path / "db"
    first = run(tmp_path / "one" / "program.py", PROGRAM, root, seed=1)
    assert first.stdout == "[(2.0,)]\n", first.stderr
    again = run(tmp_path / "other" / "moved.py", f"# a line above\n\n{PROGRAM}", root, seed=2)
    assert again.stdout == "[(2.0,), (2.0,)]\n", again.stderr
    assert len(list((root / "functions").iterdir())) == 1
    changed = run(tmp_path / "one" / "program.py", PROGRAM.replace("by: float = 2.0", "by: float = 3.0"), root, seed=1)
    assert "f is in use: the query q calls it" in changed.stderr


BASE = """
import functools
BY, NAMES, other = 2, {"a", "b"}, 5
class Helper:
    limit = 3
    def more(self, x):
        return x + self.limit
def helper(x):
    return x * BY
def wrapped(x):
    return x
@functools.lru_cache
def cached(x):
    return x + 7
def outer(kept):
    def f(x, y=4, *, z=(1, 2)):
        def inner():
            return len(NAMES)
        return helper(x) + Helper().more(y) + z[0] + kept + inner() + cached(1) + x.other
    return f
f = outer(6)
"""


def made(text: str) -> Callable[..., Any]:
    names: dict[str, Any] = {"__name__": "nowhere"}
    exec(compile(text, "somewhere.py", "exec"), names)
    found: Callable[..., Any] = names["f"]
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("BY, NAMES, other = 2", "BY, NAMES, other = 2.0"),
        ('{"a", "b"}', '{"a", "c"}'),
        ("limit = 3", "limit = 4"),
        ("x + self.limit", "x - self.limit"),
        ("x * BY", "BY * x"),
        ("y=4", "y=5"),
        ("z=(1, 2)", "z=[1, 2]"),
        ("outer(6)", "outer(8)"),
        ("len(NAMES)", "max(NAMES)"),
        ("x + 7", "x + 8"),
        ("x.other", "x.others"),
    ],
)
def test_what_makes_another_function(old: str, new: str) -> None:
    assert old in BASE
    assert identity_of(made(BASE)) != identity_of(made(BASE.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import functools", "# nothing\n\nimport functools"),
        ('{"a", "b"}', '{"b", "a"}'),
        (", 5\n", ", 6\n"),  # an attribute is called like it, but it is not used
        ("def wrapped(x):\n    return x", "def wrapped(x):\n    return 5"),
    ],
)
def test_what_makes_no_difference(old: str, new: str) -> None:
    assert identity_of(made(BASE)) == identity_of(made(BASE.replace(old, new)))


def test_what_is_around_a_function_counts() -> None:
    assert identity_of(partial(max, 1)) == identity_of(partial(max, 1)) != identity_of(partial(max, 2))
    assert identity_of("ab".join) != identity_of("abc".join)
    assert identity_of(10**5000) != identity_of(10**5000 + 1)
    assert identity_of(10**5000) == identity_of(10**5000)


class Reserved:
    """What looks at it fails, but it can be pickled."""

    @property
    def __wrapped__(self) -> None:
        raise ValueError("not for you")

    def __reduce__(self) -> str:
        return "RESERVED"


RESERVED = Reserved()


def test_what_cannot_be_read_is_what_its_pickle_is() -> None:
    assert identity_of(partial(max, RESERVED)) == identity_of(partial(max, RESERVED))
    assert identity_of(partial(max, RESERVED)) != identity_of(partial(min, RESERVED))


def test_a_module_that_is_to_be_pickled_by_value_stays_so() -> None:
    pickled("f", halves.halved)
    assert halves.__name__ not in cloudpickle.list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    cloudpickle.register_pickle_by_value(halves)  # type: ignore[no-untyped-call]
    try:
        pickled("f", halves.halved)
        assert halves.__name__ in cloudpickle.list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    finally:
        if halves.__name__ in cloudpickle.list_registry_pickle_by_value():  # type: ignore[no-untyped-call]
            cloudpickle.unregister_pickle_by_value(halves)  # type: ignore[no-untyped-call]
