"""What all tests share: the engines that the golden scripts run on."""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from golden.engines import ENGINES

#: `make test` draws the same cases each time, so that it says something about what was changed; `make test-long` and
#: whoever sets EDDYLINE_TEST_EXAMPLES draw new ones
settings.register_profile("steady", derandomize=True)
if "EDDYLINE_TEST_EXAMPLES" not in os.environ:
    settings.load_profile("steady")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """For tests that draw by themselves: the same each time where the cases are. EDDYLINE_TEST_SEED draws one again."""
    steady = "EDDYLINE_TEST_EXAMPLES" not in os.environ
    drawn = zlib.crc32(request.node.name.encode()) if steady else random.Random().randrange(2**32)
    chosen = int(os.environ.get("EDDYLINE_TEST_SEED", drawn))
    print(f"EDDYLINE_TEST_SEED={chosen}")  # shown if the test fails
    return chosen


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark session for all tests of a pytest process: starting one takes longer than most tests."""
    from eddyline.session.spark_run import QUICK_START
    from eddyline.spark.start import start_session, stop_session

    yield start_session("local[2]", name="eddyline-tests", conf=QUICK_START)
    stop_session()


@pytest.fixture(scope="session", autouse=True)
def _commands_run_in_this_process() -> None:
    """What is tested of the command line and the documents is not Spark, whose start takes longer than all of it."""
    os.environ["EDDYLINE_ENGINE"] = "reference"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine", action="append", choices=ENGINES, help="run the golden scripts on this engine only (repeatable)"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", metafunc.config.getoption("engine") or ENGINES)
