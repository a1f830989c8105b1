"""A database with a stream of prices: executor and kernels in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import eddyline
from database.revisions.prices import opened
from laws.without_spark import kernels_alone


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db"


@pytest.fixture
def db(path: Path) -> Iterator[eddyline.Database]:
    with kernels_alone(), opened(path) as database:
        database.sql("CREATE STREAM prices (time INTEGER, symbol STRING, price INTEGER) TIMESTAMP BY time")
        yield database
