"""Whatever way tuples take through conditions that cost much, answers are those of the reference engine."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from laws.streams import WHOLE, Data, data
from laws.test_sharing import EVERYONE, NOBODY, ints, runs
from laws.test_spark import agree
from laws.without_spark import kernels_alone

_FILE = Path(__file__).with_name("functions.py")
_FUNCTIONS = "".join(
    f"CREATE FUNCTION {signature} USING python OPTIONS (path '{_FILE}', name '{signature.partition('(')[0]}');\n"
    for signature in (
        "is_even(value INTEGER) RETURNS BOOLEAN",
        "twice(value INTEGER) RETURNS DOUBLE",
        "halved(value INTEGER) RETURNS DOUBLE",
        "letter(value INTEGER, other DOUBLE) RETURNS STRING",
    )
)
_comparing = st.sampled_from(["<", "<=", ">", ">=", "=", "<>"])
_column = st.sampled_from(["a", "b", "a + 1"])
_atoms = st.one_of(
    st.builds("is_even({})".format, _column),
    st.builds("{}({}) {} {}".format, st.sampled_from(["twice", "halved"]), _column, _comparing, ints),
    st.builds("{}.5 {} twice({})".format, ints.filter(lambda i: i >= 0), _comparing, _column),
    st.builds("halved({}) BETWEEN {} AND {}".format, _column, ints, ints),
    st.builds("letter(a, {}) = '{}'".format, _column, st.sampled_from(["x", "y"])),
    st.builds("twice(a) + {} > halved(b)".format, ints),
    st.builds("halved({}) IS NULL".format, _column),
    st.builds("b > {}".format, ints),
    st.builds("a IN ({}, {})".format, ints, ints),
)
_conditions = st.one_of(
    _atoms,
    st.builds("{} AND {}".format, _atoms, _atoms),
    st.builds("{} AND {} AND {}".format, _atoms, _atoms, _atoms),
    st.builds("({} AND {}) OR {}".format, _atoms, _atoms, _atoms),
    st.builds("({} OR {}) AND NOT ({})".format, _atoms, _atoms, _atoms),
)
_frames = st.sampled_from(
    [
        "SELECT a, b FROM s WHERE {}",
        "SELECT twice(b) AS c, a FROM s WHERE {}",
        "SELECT a, b FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] WHERE {}",
        "SELECT COUNT(*) AS n, SUM(b) AS m FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] WHERE {}",
        "SELECT b, c FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC], "
        "(SELECT a AS k, c, t AS u FROM r) [FROM NOW-2 TO NOW SLIDE 2 SEC] AS r WHERE a = k AND {}",
    ]
)
_queries = st.builds(lambda frame, condition: frame.format(condition), _frames, _conditions)


@runs(30)
@given(
    st.lists(_queries, min_size=5, max_size=5),
    data(numbers=WHOLE),  # the kernel leaves it to Spark to make whole numbers of others, as these functions want them
    st.sampled_from([3, 7, 1000]),
    st.sampled_from([EVERYONE, NOBODY]),
)
def test_costly_conditions_say_what_the_reference_says(
    several: list[str], given_data: Data, batch_rows: int, sharing: dict[str, str]
) -> None:
    with kernels_alone(), patch.dict(os.environ, sharing):
        agree(several, given_data, batch_rows, before=_FUNCTIONS)
