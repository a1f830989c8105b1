"""What all tests share: the engines that the golden scripts run on."""

from __future__ import annotations

import pytest

from golden.engines import ENGINES


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine", action="append", choices=ENGINES, help="run the golden scripts on this engine only (repeatable)"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", metafunc.config.getoption("engine") or ENGINES)
