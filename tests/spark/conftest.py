"""One Spark session for all tests of a pytest process: starting one takes longer than most tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from eddyline.spark.start import start_session, stop_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    yield start_session("local[2]", name="eddyline-tests")
    stop_session()
