"""The grouped filter beside DuckDB joins and loops of numpy expressions: tuples per second on one core.

    python -m bench.grouped_filter [--most 100000] [--tuples 500000]

Seconds are processor time of this thread where the work is done in it, as the machine may be busy with other things.
DuckDB runs with one thread, and like the loop on fewer tuples where it takes long. All answers are compared.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from eddyline.kernels.grouped.filter import GroupedFilter, Matches
from eddyline.kernels.grouped.form import Bound, Form, Range, equal

#: a tuple's matches, about
MATCHES = 5
#: pairs of a tuple and a member that the loop is given to compare
MOST_COMPARED = 2e8
MOST_LOOPED = 1000


@dataclass(frozen=True)
class Case:
    name: str
    form: Form
    members: pa.Table
    tuples: pa.Table
    condition: str  # of the join, between members m and tuples t
    member: Callable[[dict[str, npt.NDArray[Any]], dict[str, Any]], npt.NDArray[np.bool_]]

    def with_first(self, rows: int) -> Case:
        return replace(self, tuples=self.tuples.slice(0, rows))


def one_range(count: int, rows: int, random: np.random.Generator) -> Case:
    low = random.random(count)
    members = pa.table({"a": low, "b": low + 2 * min(1, MATCHES / count) * random.random(count)})
    return Case(
        "p BETWEEN ? AND ?",
        Form(((Range("p", Bound("a"), Bound("b")),),)),
        members,
        pa.table({"p": random.random(rows)}),
        "t.p BETWEEN m.a AND m.b",
        lambda t, m: (t["p"] >= m["a"]) & (t["p"] <= m["b"]),
    )


def symbol_and_price(count: int, rows: int, random: np.random.Generator) -> Case:
    """Ten members a symbol, half of which have a lower price."""
    symbols = np.array([f"SYM{i:06d}" for i in range(max(1, count // (2 * MATCHES)))])
    return Case(
        "s = ? AND p > ?",
        Form(((equal("s", "c"), Range("p", Bound("a", inclusive=False))),)),
        pa.table({"c": random.choice(symbols, count), "a": random.random(count)}),
        pa.table({"s": random.choice(symbols, rows), "p": random.random(rows)}),
        "t.s = m.c AND t.p > m.a",
        lambda t, m: (t["s"] == m["c"]) & (t["p"] > m["a"]),
    )


def two_ranges(count: int, rows: int, random: np.random.Generator) -> Case:
    a, c, width = random.random(count), random.random(count), min(1, MATCHES / count) ** 0.5
    return Case(
        "p BETWEEN ? AND ? AND q BETWEEN ? AND ?",
        Form(((Range("p", Bound("a"), Bound("b")), Range("q", Bound("c"), Bound("d"))),)),
        pa.table({"a": a, "b": a + width, "c": c, "d": c + width}),
        pa.table({"p": random.random(rows), "q": random.random(rows)}),
        "t.p BETWEEN m.a AND m.b AND t.q BETWEEN m.c AND m.d",
        lambda t, m: (t["p"] >= m["a"]) & (t["p"] <= m["b"]) & (t["q"] >= m["c"]) & (t["q"] <= m["d"]),
    )


def best_of(times: int, work: Callable[[], Any]) -> tuple[float, Any]:
    spent, answer = [], None
    for _ in range(times):
        began = time.thread_time()
        answer = work()
        spent.append(time.thread_time() - began)
    return min(spent), answer


def looped(case: Case) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """An expression a member, as a class of few members would be run."""
    columns = {name: case.tuples.column(name).to_numpy() for name in case.tuples.column_names}
    found = [np.flatnonzero(case.member(columns, member)) for member in case.members.to_pylist()]
    return np.concatenate(found), np.repeat(np.arange(len(found)), [rows.size for rows in found])


def joined(case: Case) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    connection = duckdb.connect(config={"threads": 1})
    connection.register("m", case.members.append_column("id", pa.array(np.arange(case.members.num_rows))))
    connection.register("t", case.tuples.append_column("row", pa.array(np.arange(case.tuples.num_rows))))
    pairs = connection.sql(
        f"SELECT m.id, t.row FROM m JOIN t ON {case.condition} ORDER BY m.id, t.row"
    ).to_arrow_table()
    return pairs.column(1).to_numpy(), pairs.column(0).to_numpy()


def joined_for_a_while(case: Case) -> tuple[float, Case, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Tuples per second, of as many tuples as take long enough to tell; which these were, and the pairs."""
    rows = 1000
    while True:
        few = case.with_first(rows)
        began = time.perf_counter()  # the join works in threads of its own, so the clock on the wall has to do
        found = joined(few)
        seconds = time.perf_counter() - began
        if seconds > 1 or rows >= case.tuples.num_rows:
            return few.tuples.num_rows / seconds, few, found
        rows *= 8


def assert_same(matches: Matches, few: Case, rows: npt.NDArray[np.int64], members: npt.NDArray[np.int64]) -> None:
    """The others may have been given the first tuples only."""
    asked = matches.rows < few.tuples.num_rows
    assert np.array_equal(matches.rows[asked], rows)
    assert np.array_equal(matches.members[asked], members)


def measured(case: Case) -> list[str]:
    count, rows = case.members.num_rows, case.tuples.num_rows
    ids = pa.array(np.arange(count))
    building, filter_ = best_of(1, lambda: GroupedFilter(case.form, case.members, ids))
    filtering, matches = best_of(3, lambda: filter_.matches(case.tuples))
    looping = None
    if count <= MOST_LOOPED:
        few = case.with_first(int(MOST_COMPARED / count))
        seconds, found = best_of(1, lambda: looped(few))
        looping = few.tuples.num_rows / seconds
        assert_same(matches, few, *found)
    joining, few, found = joined_for_a_while(case)
    assert_same(matches, few, *found)
    speed = rows / filtering
    return [
        f"{count:,}",
        f"{len(matches) / rows:.1f}",
        f"{filter_.statistics.candidates / filter_.statistics.tuples:.1f}",
        f"{building:.2f} s",
        f"{filter_.bytes / 1e6:,.1f} MB",
        f"[bold]{speed / 1e6:.2f} M/s[/]",
        f"{joining / 1e6:.4f} M/s",
        "" if looping is None else f"{looping / 1e6:.4f} M/s",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=1_000_000, help="members")
    parser.add_argument("--tuples", type=int, default=1_000_000, help="in the batch")
    options = parser.parse_args()
    console = Console(width=120)
    for make in (one_range, symbol_and_price, two_ranges):
        random = np.random.default_rng(1)
        counts = [count for count in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000) if count <= options.most]
        cases = (make(count, options.tuples, random) for count in counts)
        table = Table("members", title=make(1, 1, random).name, title_justify="left")
        for name in ("matches", "candidates", "build", "index", "grouped filter", "DuckDB join", "numpy loop"):
            table.add_column(name, justify="right")
        for case in cases:
            table.add_row(*measured(case))
        console.print(table)


if __name__ == "__main__":
    main()
