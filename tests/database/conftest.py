"""A database that goes away after each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from eddyline import testing

if TYPE_CHECKING:
    from eddyline import Database


@pytest.fixture
def db(spark: Any) -> Iterator[Database]:
    """A temporary database with a clock that stands still at 0."""
    with testing.database(master="local[2]") as database:
        yield database
