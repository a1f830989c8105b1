"""The engine, which sees data come late, be corrected and be withdrawn, folds to what the papers define."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from eddyline.binder.statement import StatementBinder
from eddyline.catalog.catalog import RELATION, WINDOWS
from eddyline.language import parse_script
from eddyline.rules import rule_names
from laws.oracle import Oracle
from laws.streams import EXAMPLES, TABLE, Data, all_queries, data, folded, queries, run, unnumbered


def expected(sql: str, given_data: Data) -> tuple[str, object]:
    """What the oracle says about a query over the tuples that stand in the end."""
    binder = StatementBinder()
    for statement in parse_script(given_data.schema + sql):
        binder.bind(statement.tree)
    query = binder.catalog.query("q1")
    assert query is not None
    starts = [tick for name in query.streams for tick in given_data.ticks(name)]
    streams = {name: given_data.standing(name) for name in ("s", "r")}
    oracle = Oracle(streams, {"d": list(TABLE)}, min(starts), given_data.reached())
    answer = oracle.evaluate(query.plan)
    if query.kind == RELATION:
        return RELATION, dict(answer)
    if query.kind == WINDOWS:
        return WINDOWS, Counter((w.tick, frozenset(Counter(w.rows).items())) for w in answer)
    return query.kind, Counter((t.tick, t.values) for t in answer)


@settings(max_examples=400 * EXAMPLES, deadline=None)
@given(queries, data(), st.sampled_from([1, 2, 3, 1000]))
def test_folds_to_the_papers_definitions(sql: str, given_data: Data, batch_rows: int) -> None:
    """Whatever the order of arrival, the revisions and the batches: the folded answer is that over the final tuples."""
    kind, wanted = expected(sql, given_data)
    session = run(sql, given_data, batch_rows)
    assert [(name, line) for name, line, _ in session.rejects] == given_data.rejected()
    result = folded(session.collected)
    if kind == WINDOWS:
        assert unnumbered(result) == wanted
    elif kind == RELATION:
        assert result["relation"] == wanted
    else:
        assert result["tuples"] == wanted


@settings(max_examples=150 * EXAMPLES, deadline=None)
@given(all_queries, data(), st.integers(2, 6))
def test_batches_do_not_matter(sql: str, given_data: Data, batch_rows: int) -> None:
    row_by_row, batch_by_batch = run(sql, given_data), run(sql, given_data, batch_rows)
    assert row_by_row.rejects == batch_by_batch.rejects
    one_by_one, in_batches = folded(row_by_row.collected), folded(batch_by_batch.collected)
    assert one_by_one["tuples"] == in_batches["tuples"]
    assert one_by_one["relation"] == in_batches["relation"]
    assert unnumbered(one_by_one) == unnumbered(in_batches)


#: a pair of windows looks as before, but it is made of other ones
ANOTHER_LATEST = Data(
    s=[
        {"a": 0, "b": None, "t": 3},
        {"a": 0, "b": None, "t": 0},
        {"_op": "=", "_ref": 1, "a": 0, "b": None, "t": 10},
        {"a": 0, "b": None, "t": 1},
    ],
    r=[{"a": 0, "c": "x", "t": 6}, {"_op": "=", "_ref": 1, "a": 0, "c": "x", "t": 10}],
    retain=(None, None),
    key="",
)


@settings(max_examples=200 * EXAMPLES, deadline=None)
@given(all_queries, data(), st.sets(st.sampled_from(rule_names()), min_size=1))
@example("SELECT b, c FROM s [RANGE 0 SEC], r [RANGE 1 SEC] WHERE s.a = r.a", ANOTHER_LATEST, {"push-selections"})
def test_rules_keep_the_meaning(sql: str, given_data: Data, without: set[str]) -> None:
    """With and without any of the rules, the answers fold to the same, window by window."""
    with_all = folded(run(sql, given_data).collected)
    without_some = folded(run(sql, given_data, without_rules=frozenset(without)).collected)
    assert with_all == without_some
