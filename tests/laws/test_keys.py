"""Streams with a key: both engines say the same, and it is what a stream without one says that is told indexes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from laws.streams import EXAMPLES, NUMBERS, Data, all_queries, data, folded, queries, run, unnumbered
from laws.test_spark import agree, spark_answers
from laws.without_spark import kernels_alone

#: no stream here is so long
_NOBODY = 1000


@st.composite
def keyed_rows(draw: st.DrawFn, name: str, number: str, with_references: bool) -> list[dict[str, Any]]:
    """Rows of s that come again, are replaced and withdrawn, by the key of this name and sometimes by index."""
    columns = {"a": st.sampled_from([0, 1, 2]), "b": NUMBERS[number], "w": st.sampled_from(["", "x", "y"])}
    rows: list[dict[str, Any]] = []
    now = draw(st.integers(0, 5))
    for _ in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from("+++==-"))
        now += draw(st.integers(0, 4))
        late = draw(st.sampled_from([0, 0, 0, 3, 9]))
        row = {**draw(st.fixed_dictionaries(columns)), "t": max(0, now - late)}
        key = {name: row[name]}
        if kind != "+":
            ref = {"_ref": draw(st.integers(1, 5))} if with_references and draw(st.integers(0, 3)) == 0 else {}
            row = {"_op": kind, **ref, **(row if kind == "=" else {} if ref else key)}
        rows.append(row)
    return rows


def keyed_data(with_references: bool = True) -> st.SearchStrategy[Data]:
    def keyed(others: Data, key: str) -> st.SearchStrategy[Data]:
        rows = keyed_rows(key, others.number, with_references)
        return rows.map(lambda s: replace(others, s=s, key=key))

    return st.tuples(data(), st.sampled_from("aw")).flatmap(lambda drawn: keyed(*drawn))


@settings(max_examples=60 * EXAMPLES, deadline=None)
@given(st.lists(all_queries, min_size=3, max_size=3), keyed_data(), st.sampled_from([1, 3, 7, 1000]))
def test_kernels_alone_fold_to_what_the_reference_folds_to(
    several: list[str], given_data: Data, batch_rows: int
) -> None:
    with kernels_alone():
        agree(several, given_data, batch_rows)


@dataclass
class Translation:
    """What a source would send that knows the indexes of its tuples."""

    key: str  # the name of the column
    standing: dict[int, Any] = field(default_factory=dict)  # the keys by index
    arrived: int = 0

    def take(self, row: dict[str, Any]) -> dict[str, Any]:
        op, values = row.get("_op", "+"), {name: row[name] for name in "abtw" if name in row}
        holder = next((index for index, key in self.standing.items() if key == row.get(self.key)), None)
        index = row.get("_ref", holder)
        if op == "+" and holder is None:
            self.arrived += 1
            self.standing[self.arrived] = row[self.key]
            return values
        if index not in self.standing or (op == "=" and holder not in (None, index)):
            return {"_op": op, "_ref": _NOBODY, **values}  # set aside here too; its tick counts for the start
        if op == "-":
            del self.standing[index]
            return {"_op": "-", "_ref": index}
        self.standing[index] = row[self.key]
        return {"_op": "=", "_ref": index, **values}


@settings(max_examples=80 * EXAMPLES, deadline=None)
@given(queries, keyed_data(), st.sampled_from([1, 3, 1000]))
def test_a_key_says_what_an_index_says(query: str, given_data: Data, batch_rows: int) -> None:
    by_key = replace(given_data, retain=(None, None))
    translation = Translation(given_data.key)
    by_index = replace(by_key, s=[translation.take(row) for row in by_key.s], key="")
    wanted, got = (folded(run(query, some, batch_rows).collected) for some in (by_index, by_key))
    assert got["tuples"] == wanted["tuples"] and got["relation"] == wanted["relation"]
    assert unnumbered(got) == unnumbered(wanted)


_TWO = "SELECT a, b, t FROM s; SELECT COUNT(*) AS n, SUM(b) AS x FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC];"


def said_again(given_data: Data, times: int) -> tuple[Data, Data]:
    """Data, and the same from a source that is not sure whether a row has come, and sends it again."""
    once = replace(given_data, retain=(None, None))
    again = [row for row in once.s for _ in range(times if row.get("_op", "+") != "-" else 1)]
    return once, replace(once, s=again)


@settings(max_examples=60 * EXAMPLES, deadline=None)
@given(keyed_data(with_references=False), st.integers(2, 4))
def test_saying_it_again_changes_nothing(given_data: Data, times: int) -> None:
    """Nothing comes out of a query for it."""
    once, again = said_again(given_data, times)
    assert run(_TWO, once).collected == run(_TWO, again).collected


@settings(max_examples=15 * EXAMPLES, deadline=None)
@given(keyed_data(with_references=False))
def test_saying_it_again_changes_nothing_on_spark(given_data: Data) -> None:
    once, again = said_again(given_data, 2)
    with kernels_alone():
        wanted = spark_answers(_TWO, once, 1)[0]
        assert spark_answers(_TWO, again, 1)[0] == wanted
