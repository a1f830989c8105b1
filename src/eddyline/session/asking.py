"""Tables that are asked by key, for the reference engine: one key after the other, and each tuple waits for its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from eddyline.catalog.catalog import Catalog
from eddyline.catalog.lookup import FIRST_PAUSE, LONGEST_PAUSE
from eddyline.errors import FunctionFailed


class Asking:
    """Asks for each key once: over a script's finite inputs an answer holds for ever."""

    def __init__(self, catalog: Catalog, on_warning: Callable[[str], None]) -> None:
        self._catalog, self._on_warning = catalog, on_warning
        self._known: dict[tuple[str, Any], Sequence[tuple[Any, ...]]] = {}

    def answers(self, table: str, key: Any) -> Sequence[tuple[Any, ...]]:
        if (table, key) not in self._known:
            self._known[table, key] = self._asked(table, key)
        return self._known[table, key]

    def _asked(self, table: str, key: Any) -> Sequence[tuple[Any, ...]]:
        """What the function says; if it fails for as long as there is patience, there is nothing."""
        extent = self._catalog.extent(table)
        assert extent is not None and extent.lookup is not None and extent.lookup.function.compute is not None
        lookup, pause, began = extent.lookup, FIRST_PAUSE, time.monotonic()
        compute = extent.lookup.function.compute
        while True:
            try:
                found: Sequence[tuple[Any, ...]] = compute(key)
                return found
            except FunctionFailed as problem:
                if time.monotonic() - began + pause > lookup.patience:
                    self._on_warning(f"{problem.message}; it is as if {table} had nothing for {key}")
                    return ()
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
