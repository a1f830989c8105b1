"""Whenever answers come, in whatever order, after however many failures: in the end it is as if nobody had waited."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

import eddyline
from laws.restless import Fickle, Restless, late_lanes
from laws.streams import Data, data, folded
from laws.test_sharing import BUSY, ints, runs
from laws.test_spark import agree
from laws.without_spark import kernels_alone, one_batch
from lookups.late import late_lookups
from lookups.service import ROWS, lines

QUERIES = [
    "SELECT a, b, name, size FROM s, people WHERE s.a = people.key",
    "SELECT b, name FROM s, people WHERE a = key AND b > 0 AND size + b > 1",
    "SELECT b, name FROM s, people WHERE key = a + b",
    "SELECT s.a, p.name, q.name AS other FROM s, people AS p, people AS q WHERE s.a = p.key AND s.b = q.key",
    "SELECT s.b, n.name, p.size FROM s, d AS n, people AS p WHERE s.a = n.a AND n.a = p.key",
    "SELECT name, COUNT(*) AS n, SUM(b) AS m FROM (SELECT b, name FROM s, people WHERE a = key) AS v "
    "[FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY name",
    "SELECT name FROM (SELECT name FROM s, people WHERE a = key) AS v [RANGE 3 SEC]",
    "ISTREAM(SELECT b, size FROM (SELECT b, size FROM s, people WHERE a = key) AS v [FROM NOW-4 TO NOW SLIDE 2 SEC])",
]


@st.composite
def tables(draw: st.DrawFn, function: str, path: str | None = None) -> str:
    """How the table is asked; answers may be forgotten as soon as they were seen."""
    options = {
        "function": function,
        "key": "key",
        "batch": str(draw(st.sampled_from([1, 2, 500]))),
        "fresh": draw(st.sampled_from(["0 seconds", "1 hour"])),
        "size": str(draw(st.sampled_from([1, 3, 1000]))),
        **({"path": path} if path is not None and draw(st.booleans()) else {}),
    }
    said = ", ".join(f"{name} '{value}'" for name, value in options.items())
    return f"CREATE TABLE people (key INTEGER, name STRING, size BIGINT) USING lookup OPTIONS ({said});\n"


@contextmanager
def hasty() -> Iterator[None]:
    """Nobody waits before a failed call is made again."""
    with ExitStack() as stack:
        for place in ("eddyline.spark.lookups.asking", "eddyline.session.asking"):
            stack.enter_context(patch(f"{place}.FIRST_PAUSE", 0.0))
        yield


@runs(40)
@given(
    st.lists(st.sampled_from(QUERIES), min_size=3, max_size=3),
    data(),
    st.sampled_from([1, 3, 1000]),
    tables("lookups.service:find_or_fail"),
    st.integers(0, 2**32),
)
def test_scripts_say_what_the_reference_says(
    several: list[str], given_data: Data, batch_rows: int, table: str, seed: int
) -> None:
    dice = random.Random(seed)
    random.seed(seed)
    with kernels_alone(lookups=late_lookups(dice)), hasty():
        agree(several, given_data, batch_rows, before=table)
