"""Databases on the Spark session that all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import eddyline


@pytest.fixture
def db(spark: Any, tmp_path: Path) -> Iterator[eddyline.Database]:
    opened = eddyline.connect(tmp_path / "db", heartbeat=None)
    yield opened
    opened.close()
