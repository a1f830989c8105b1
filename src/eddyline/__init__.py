"""Eddyline keeps standing SQL queries over live streams, sensors and tables, and corrects their answers.

The way of a query, package by package:

1. `language` cuts a script into statements and parses each into a syntax tree.
2. `binder` resolves names and types against the `catalog` and gives a plan of the logical `algebra`.
3. `rules` make the plan cheaper without changing its meaning.
4. `reference` runs it: plain generators over the algebra, which say what is right.

The way of the data:

1. `sources` read an extent's files: rows that fit, and rows that are set aside.
2. `session` merges them into arrivals and batches, and moves the clock.
3. `reference` turns every batch into changes of each query's answer.
4. `output` shows the answers, as tables or JSON lines; `cli` is the command `eddyline`.
"""

import sys

# Expressions are trees and every pass over them is recursive; a condition of a few hundred parts is nothing unusual.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))

__version__ = "0.1.0"
