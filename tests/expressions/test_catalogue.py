"""The catalogue of functions and what the reference engine implements are the same set."""

from __future__ import annotations

import pytest

from eddyline.algebra.functions import CATALOGUE, is_aggregate, lookup, names
from eddyline.errors import NotSupported
from eddyline.reference.aggregate import AGGREGATES
from eddyline.reference.functions import IMPLEMENTATIONS
from expressions.evaluation import bound


def test_every_scalar_function_is_implemented_and_every_implementation_is_in_the_catalogue() -> None:
    catalogued = {f.name for f in CATALOGUE if not f.aggregate and f.deterministic}
    # a cast is no function: its type is not found from its arguments
    assert catalogued == set(IMPLEMENTATIONS) - {"cast"}


def test_every_aggregate_is_implemented() -> None:
    assert {f.name for f in CATALOGUE if f.aggregate} == set(AGGREGATES)


def test_no_name_stands_for_two_functions() -> None:
    taken = [name for f in CATALOGUE for name in (f.name, *f.aliases)]
    assert sorted(set(taken)) == sorted(taken)


def test_names_are_found_in_any_case_of_letters() -> None:
    assert lookup("SubStr") is lookup("substring")
    assert is_aggregate("Mean")
    assert not is_aggregate("upper")
    assert "substr" in names()
    assert "+" not in names()


@pytest.mark.parametrize(
    "text", ["current_timestamp", "current_date()", "now()", "rand()", "unix_timestamp()", "uuid()"]
)
def test_what_changes_by_itself_is_refused(text: str) -> None:
    with pytest.raises(NotSupported, match="another answer each time"):
        bound(text)
