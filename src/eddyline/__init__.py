"""Eddyline keeps standing SQL queries over live streams, sensors and tables, and corrects their answers.

The way of a query, package by package:

1. `language` cuts a script into statements and parses each into a syntax tree.
2. `binder` resolves names and types against the `catalog` and gives a plan of the logical `algebra`.
3. `rules` make the plan cheaper without changing its meaning; `sharing` finds the queries that are answered together;
   `planner` finds join trees that fit into limits of processor time and memory, by which `spark` runs joins.
4. `reference` runs it: plain generators over the algebra, which say what is right; or `spark` does, on Structured
   Streaming, with the types of `columnar` and, inside of its tasks, the `kernels`.

The way of the data:

1. `sources` read an extent's files: rows that fit, and rows that are set aside.
2. `session` merges them into arrivals and batches, and moves the clock; or a program pushes rows into a `database`,
   which lives on when the program has ended.
3. The `log` keeps what has come in and what was answered, for `spark`.
4. `reference` or `spark` turns every batch into changes of each query's answer.
5. `output` shows the answers, as tables or JSON lines; `cli` is the command `eddyline`.

From Python, eddyline.connect opens a database, and eddyline.testing helps to test one's own queries.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

# Expressions are trees and every pass over them is recursive; a condition of a few hundred parts is nothing unusual.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))

__version__ = "0.1.0"

if TYPE_CHECKING:
    from eddyline.database import Database, connect
    from eddyline.errors import EddylineError

__all__ = ["Database", "EddylineError", "__version__", "connect"]


def __getattr__(name: str) -> Any:
    """`connect` and `Database` are loaded when they are asked for: they bring Spark with them, which takes a moment."""
    if name in ("Database", "connect"):
        return getattr(importlib.import_module("eddyline.database"), name)
    if name == "EddylineError":
        return importlib.import_module("eddyline.errors").EddylineError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
