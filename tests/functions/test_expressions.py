"""What plans know of functions of the user's own."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from unittest.mock import patch

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from eddyline.algebra.expression import Call, Column, Literal
from eddyline.algebra.sharing import MEMBER
from eddyline.algebra.types import BOOLEAN, DOUBLE, STRING, TIMESTAMP, decimal
from eddyline.algebra.user_function import UserCall, UserFunction, functions_in, is_expensive
from eddyline.columnar.vectorised import vectorised
from eddyline.errors import FunctionFailed, StorageUnreadable
from eddyline.kernels.fits import why_not_expression
from eddyline.kernels.functions import last_failure, loaded, register
from eddyline.kernels.ranges import ranges_of
from eddyline.language import parse_statement, to_sql
from eddyline.log.storage import Storage
from eddyline.session import check
from eddyline.spark.user_functions import hash_of, keep, pickled

X = Column("x", DOUBLE, "s")


def score(hash_: str = "0" * 64) -> UserFunction:
    return UserFunction("Score", hash_, (DOUBLE,), DOUBLE, compute=lambda x: x)


def call(function: UserFunction, *arguments: Column | Literal) -> UserCall:
    return UserCall(function.internal_name, arguments, function.returns, function.name.lower(), definition=function)


def test_what_is_expensive() -> None:
    found = Call("and", (Call(">", (call(score(), X), Literal(5.0, DOUBLE)), BOOLEAN), Literal(True, BOOLEAN)), BOOLEAN)
    assert is_expensive(found) and not is_expensive(X)
    assert functions_in([found, found]) == (score(),)


def test_the_code_is_part_of_what_is_called() -> None:
    assert call(score(), X) != call(score("1" * 64), X)
    assert call(score(), X) == call(score(), X)
    assert pickle.loads(pickle.dumps(score())) == score()
    assert copy.deepcopy(score()).compute is not None


def test_its_result_is_an_attribute_of_the_index() -> None:
    ranges = ranges_of(Call(">", (call(score(), X), Column("p0", DOUBLE, MEMBER)), BOOLEAN))
    assert ranges is not None and ranges.rest is None
    assert list(ranges.attributes.values()) == [call(score(), X)]


def test_the_kernel_takes_what_it_holds() -> None:
    assert why_not_expression(call(score(), X)) is None
    when = UserFunction("f", "0" * 64, (TIMESTAMP,), STRING)
    assert why_not_expression(call(when, Column("t", TIMESTAMP, "s"))) is None
    exact = UserFunction("exact", "0" * 64, (decimal(5, 1),), DOUBLE)
    assert why_not_expression(call(exact, Column("d", decimal(5, 1), "s"))) == "exact is Spark's"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE FUNCTION f(x DOUBLE, `a b` STRING) RETURNS DECIMAL(10, 2) USING python OPTIONS (path 'a.py', name 'g')",
        "CREATE FUNCTION IF NOT EXISTS f(x ARRAY<INTEGER>) RETURNS BOOLEAN USING python",
        "DROP FUNCTION IF EXISTS f",
        "SHOW FUNCTIONS LIKE 'f%'",
        "SHOW FUNCTIONS",
    ],
)
def test_statements_print_as_they_are(text: str) -> None:
    assert to_sql(parse_statement(text)) == text
    pretty = to_sql(parse_statement(text), pretty=True)
    assert parse_statement(pretty) == parse_statement(text)


def test_check_tells_a_mistake_once(tmp_path: Path) -> None:
    text = """
    CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE USING python OPTIONS (path 'none.py');
    CREATE STREAM s (x DOUBLE, t INTEGER) TIMESTAMP BY t;
    SELECT f(x) FROM s;
    """
    errors, _ = check(text, tmp_path)
    assert [error.code for error in errors] == ["SOURCE_MISSING"]


# -- what the engines call --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (pa.array([1, 2], pa.int64()), [1.0, 2.0]),
        (pa.chunked_array([[1.5], [None]]), [1.5, None]),
        ([1, None], [1.0, None]),
        (pa.array([None, None]), [None, None]),
        (pa.array(["1", "2"]), "no DOUBLE"),
        (pa.array([True, False]), "no DOUBLE"),
        (["1", "2"], "no DOUBLE"),
        ([1.0], "1 values for 2 rows"),
        ("ab", "not an array"),
        (pa.scalar(1.0), "not an array"),
        (None, "not an array"),
    ],
)
def test_what_may_be_given(result: object, expected: list[float | None] | str) -> None:
    function = vectorised(score(), lambda x: result)
    given = pa.array([1.0, 2.0])
    if isinstance(expected, str):
        with pytest.raises(FunctionFailed, match=f"the function Score gave .*{expected}"):
            function(given)
    else:
        assert function(given) == pa.array(expected, pa.float64())


def test_nothing_is_lost_and_no_rows_are_no_call() -> None:
    whole = UserFunction("whole", "0" * 64, (DOUBLE,), DOUBLE)
    narrow = UserFunction("narrow", "0" * 64, (DOUBLE,), STRING)
    assert len(vectorised(whole, lambda x: 1 / 0)(pa.array([], pa.float64()))) == 0
    with pytest.raises(FunctionFailed, match="the function whole failed: ZeroDivisionError: division by zero"):
        vectorised(whole, lambda x: 1 / 0)(pa.array([1.0]))
    with pytest.raises(FunctionFailed, match="no STRING"):
        vectorised(narrow, lambda x: x)(pa.array([1.0]))


def test_in_the_kernel(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))

    def compute(x: pa.Array, y: pa.Array) -> pa.Array:
        if 5000.0 in x.to_pylist():
            raise ValueError("too far")
        return pc.add(x, y)

    content, identity = pickled("plus", compute)
    plus = UserFunction("plus", hash_of("", identity), (DOUBLE, DOUBLE), DOUBLE)
    with duckdb.connect() as connection:
        with pytest.raises(StorageUnreadable, match="the code of plus"):
            register(connection, [plus], storage)
        keep(storage, plus, content)
        for _ in range(2):  # the second time it is known
            register(connection, [plus], storage)
        ((found,),) = connection.sql(f"SELECT sum({plus.internal_name}(x::DOUBLE, 1)) FROM range(5000) t(x)").fetchall()
        assert found == sum(range(1, 5001))
        assert last_failure() is None
        with pytest.raises(duckdb.Error, match="too far"):
            connection.sql(f"SELECT {plus.internal_name}(x::DOUBLE, NULL) FROM range(6000) t(x)").fetchall()
        failure = last_failure()
        assert failure is not None and failure.message == "the function plus failed: ValueError: too far"
        assert last_failure() is None


def known_to(connection: duckdb.DuckDBPyConnection) -> set[str]:
    names = connection.sql("SELECT function_name FROM duckdb_functions() WHERE function_name LIKE 'udf!_%' ESCAPE '!'")
    return {name for (name,) in names.fetchall()}


def test_a_process_keeps_the_functions_that_it_used_last(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    made = [UserFunction("f", str(number) * 64, (DOUBLE,), DOUBLE) for number in range(5)]
    for number, function in enumerate(made):
        keep(storage, function, pickled("f", lambda x, number=number: pc.add(x, float(number)))[0])
    few = patch("eddyline.kernels.functions._MOST", 2)
    nothing = patch.dict("eddyline.kernels.functions._loaded", clear=True)
    with few, nothing as loaded_now, duckdb.connect() as connection:
        for number in (0, 1, 0, 2):
            register(connection, [made[number]], storage)
        assert known_to(connection) == {made[0].internal_name, made[2].internal_name}
        assert len(loaded_now) == 2
        register(connection, made[1:], storage)  # all of these are needed now
        assert known_to(connection) == {function.internal_name for function in made[1:]}
        calls = ", ".join(f"{function.internal_name}(1::DOUBLE)" for function in made[1:])
        assert connection.sql(f"SELECT {calls}").fetchall() == [(2.0, 3.0, 4.0, 5.0)]
        register(connection, [made[0]], storage)
        assert known_to(connection) == {made[0].internal_name, made[4].internal_name}
        assert connection.sql(f"SELECT {made[0].internal_name}(1::DOUBLE)").fetchall() == [(1.0,)]
        assert len(loaded_now) == 2


def test_what_is_loaded_is_found_without_its_code() -> None:
    content, identity = pickled("same", lambda x: x)
    same = UserFunction("same", hash_of("", identity), (DOUBLE,), DOUBLE)
    with patch.dict("eddyline.kernels.functions._loaded", clear=True):
        first = loaded(same, lambda: content)
        assert loaded(same, lambda: pytest.fail("it is known")) is first
