"""A database that lives: statements come and go while data flows, and what it knows outlasts the process.

1. `opening` starts Spark and opens the folder; `lock` makes sure that one process owns it.
2. `statements` is the log of every definition that was made; when the database is opened, it is read again.
3. `definitions` binds statements one by one; a statement that fails leaves nothing behind.
4. `stream` takes pushed rows in, `flow` reads files; both append to the stream logs and wait for nobody.
5. Spark answers; `reader` follows what it has committed, `present` adds changes up to what stands.
6. `handle` is a standing query in the user's hands, `rows` the answer of a query over tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eddyline.database.database import Database
    from eddyline.database.opening import connect

__all__ = ["Database", "connect"]


def __getattr__(name: str) -> Any:
    """Loaded when asked for: who only reads results needs no Spark."""
    if name == "connect":
        from eddyline.database.opening import connect

        return connect
    if name == "Database":
        from eddyline.database.database import Database

        return Database
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
