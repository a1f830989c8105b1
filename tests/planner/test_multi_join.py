"""Join graphs from the plans of queries: which inputs, which predicates, and what is assumed of them."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest

from eddyline.algebra.expression import conjuncts
from eddyline.algebra.printing import sql_text
from eddyline.binder.statement import StatementBinder
from eddyline.language import parse_script
from eddyline.planner.graph import BAND, EQUI, THETA, JoinGraph, mask_of
from eddyline.planner.multi_join import LEAST_SIZE, MultiJoin, multi_joins, width_of
from eddyline.planner.parts import Parts
from eddyline.planner.shapes import APART, CLIQUE, LINEAR, STAR, shape_of
from eddyline.planner.statistics import Statistics
from eddyline.rules import optimize

SCHEMA = """
CREATE STREAM a (k INTEGER, x DOUBLE, t INTEGER) TIMESTAMP BY t;
CREATE STREAM b (k INTEGER, x DOUBLE, t INTEGER) TIMESTAMP BY t;
CREATE STREAM c (k INTEGER, name STRING, t INTEGER) TIMESTAMP BY t;
CREATE SENSED STREAM road (site INTEGER, k INTEGER, t INTEGER) SITES (1, 2, 3, 4) EVERY 2 SEC TIMESTAMP BY t;
CREATE TABLE d (k INTEGER, name STRING);
"""
KNOWN = Statistics(rates={"a": 10, "B": 20, "c": 5}, rows={"D": 50})
W = "[FROM NOW-9 TO NOW SLIDE 1 SEC]"  # ten ticks wide


def joins(sql: str, statistics: Statistics = KNOWN, schema: str = SCHEMA) -> list[MultiJoin]:
    binder = StatementBinder()
    for statement in parse_script(schema + sql):
        binder.bind(statement.tree)
    query = list(binder.catalog.queries.values())[-1]
    found = multi_joins(optimize(query.plan).plan, statistics)
    # without the rules it is the same join, but for the columns that its inputs keep
    as_written = multi_joins(query.plan, statistics)
    assert [join.graph.predicates for join in found] == [join.graph.predicates for join in as_written]
    sizes = [[(one.name, pytest.approx(one.size)) for one in join.graph.inputs] for join in as_written]
    assert [[(one.name, one.size) for one in join.graph.inputs] for join in found] == sizes
    return found


def join(sql: str, statistics: Statistics = KNOWN) -> MultiJoin:
    (found,) = joins(sql, statistics)
    return found


def kinds(found: MultiJoin) -> dict[tuple[str, ...], str]:
    names = [one.name for one in found.graph.inputs]
    return {tuple(names[at] for at in sorted(p.inputs)): p.kind for p in found.graph.predicates}


def test_a_join_over_four_inputs() -> None:
    found = join(
        f"SELECT a.x FROM a {W}, b {W}, c {W}, d WHERE a.k = b.k AND b.x = c.k AND c.name = d.name AND a.x > 3"
    )
    assert [(one.name, one.rate, one.size) for one in found.graph.inputs] == [
        ("a", pytest.approx(10 / 3), pytest.approx(100 / 3)),  # a.x > 3 is assumed to keep a third
        ("b", 20, 200),
        ("c", 5, 50),
        ("d", 0, 50),
    ]
    assert shape_of(found.graph) == LINEAR
    assert kinds(found) == {("a", "b"): EQUI, ("b", "c"): EQUI, ("c", "d"): EQUI}
    assert found.assumed == (
        "a.x > 3 holds for 0.333 of the tuples",
        "a.k = b.k holds for 0.01 of the pairs",
        "b.x = c.k holds for 0.01 of the pairs",
        "c.name = d.name holds for 0.01 of the pairs",
    )
    assert found.condition is not None
    assert [sql_text(part) for part in conjuncts(found.condition)] == [
        "a.k = b.k",
        "b.x = c.k",
        "c.name = d.name",
    ]
    assert [operator.schema.fields[0].relation for operator in found.operators] == list("abcd")


def test_what_is_known_is_not_assumed() -> None:
    statistics = Statistics(rates={"a": 10, "b": 20}, selectivities={"a.k = b.k": 0.25, "a.x > 3": 0.5})
    found = join(f"SELECT a.x FROM a {W}, b {W} WHERE a.k = b.k AND a.x > 3", statistics)
    assert found.assumed == () and found.graph.inputs[0].rate == 5
    assert found.graph.predicates[0].selectivity == 0.25


def test_what_nobody_knows_is_assumed() -> None:
    found = join(f"SELECT a.x FROM a {W}, d WHERE a.k = d.k", Statistics())
    assert found.assumed == (
        "a brings 100 tuples in a second",
        "d has 1000 rows",
        "a.k = d.k holds for 0.01 of the pairs",
    )


@pytest.mark.parametrize(
    ("condition", "kind", "selectivity"),
    [
        ("a.k = b.k", EQUI, 0.01),
        ("a.k <=> b.k", EQUI, 0.01),
        ("a.k + 1 = b.k * 2", EQUI, 0.01),
        ("a.k + b.k = 7", THETA, 0.01),  # no index of one side finds it
        ("a.x < b.x", BAND, 1 / 3),
        ("a.x BETWEEN b.x - 1 AND b.x + 1", BAND, 0.1),
        ("a.x >= b.x AND a.x <= b.x + 5", BAND, 0.1),
        ("abs(a.x - b.x) <= 5", THETA, 0.1),
        ("5 > abs(a.x - b.x)", THETA, 0.1),
        ("abs(a.x - b.x) > 5", THETA, 0.9),
        ("5 <= abs(a.x - b.x)", THETA, 0.9),
        ("5 > a.x - b.x", BAND, 1 / 3),
        ("abs(a.x * b.x) <= 5", THETA, 1 / 3),
        ("a.k != b.k", THETA, 0.99),
        ("a.k = b.k OR a.x = b.x", THETA, 1 / 3),
    ],
)
def test_kinds_of_predicates(condition: str, kind: str, selectivity: float) -> None:
    (predicate,) = join(f"SELECT a.x FROM a {W}, b {W} WHERE {condition}").graph.predicates
    assert (predicate.kind, predicate.selectivity) == (kind, pytest.approx(selectivity))


def test_shapes_of_queries() -> None:
    three = f"SELECT a.k FROM a {W}, b {W}, c {W} WHERE "
    assert shape_of(join(three + "a.k = b.k AND b.x < c.k AND a.x > c.k").graph) == CLIQUE
    assert shape_of(join(three + "a.k = b.k AND b.x < c.k").graph) == LINEAR
    assert shape_of(join(three + "a.k = b.k").graph) == APART
    star = f"SELECT a.k FROM a {W}, b {W}, c {W}, d WHERE a.k = b.k AND a.x = c.k AND a.k + 1 = d.k"
    assert shape_of(join(star).graph) == STAR
    found = join(three + "a.k + b.k = c.k")
    assert kinds(found) == {("a", "b", "c"): THETA}


@pytest.mark.parametrize(
    "condition",
    [
        "a.k = b.k AND b.k = c.k",
        "c.k = a.k AND b.k = c.k AND a.k = b.k",
        "a.k = b.k AND c.k = d.k AND b.k = d.k AND a.k = c.k",
    ],
)
def test_a_key_of_three_inputs_is_one_however_it_is_said(condition: str) -> None:
    found = join(f"SELECT a.k FROM a {W}, b {W}, c {W}, d WHERE {condition}")
    (key,) = found.graph.keys
    assert len(key.inputs) == (4 if "d.k" in condition else 3) and key.selectivity == pytest.approx(0.01)
    assert found.graph.predicates == ()
    assert found.graph.size(0b111) == pytest.approx(100 * 200 * 50 * 0.01**2)
    assert found.graph.size(0b101) == pytest.approx(100 * 50 * 0.01)  # a and c are joined, too
    (assumed,) = found.assumed
    assert assumed.endswith(" holds for 0.01 of the pairs") and assumed.count(" = ") == len(key.inputs) - 1


def test_what_is_known_of_a_key() -> None:
    statistics = Statistics(rates={"a": 1, "b": 1, "c": 1}, selectivities={"a.k = b.k": 0.5, "b.k = c.k": 0.02})
    found = join(f"SELECT a.k FROM a {W}, b {W}, c {W} WHERE a.k = b.k AND b.k = c.k", statistics)
    assert found.graph.keys[0].selectivity == pytest.approx(0.1) and found.assumed == ()
    assert found.graph.size(0b111) == pytest.approx(10 * 10 * 10 * 0.5 * 0.02)


def test_two_columns_of_one_input_make_no_key() -> None:
    found = join(f"SELECT a.k FROM a {W}, b {W}, c {W} WHERE a.k = b.k AND a.t = b.k AND b.k = c.k")
    assert found.graph.keys == () and len(found.graph.predicates) == 3


@pytest.mark.parametrize(
    ("window", "size"),
    [
        ("[FROM NOW-4 TO NOW-1 SLIDE 1 SEC]", 40),
        ("[RANGE 4 SEC]", 50),
        ("[NOW]", 10),
        ("[RANGE BY '5 seconds' SLIDE BY '1 seconds']", 50),
        ("[ROWS 7]", 7),
        ("[FROM NOW-2 TO NOW SLIDE 1 ROWS]", 3),
        ("[PARTITION BY k ROWS 2]", 200),
        ("[UNBOUNDED]", 864_000),
    ],
)
def test_how_much_a_window_holds(window: str, size: float) -> None:
    held = join(f"SELECT a.x FROM a {window}, d WHERE a.k = d.k").graph.inputs[0]
    assert held.size == size and held.counted == ("ROWS" in window)


@pytest.mark.parametrize(("left", "size"), [("t - 4", 50), ("ST", 864_000)])
def test_loops(left: str, size: float) -> None:
    loop = f"for (t = ST; t < ST + 50; t++) {{ WindowIs(a, {left}, t); WindowIs(b, t - 1, t); }}"
    found = join(f"SELECT a.x FROM a, b WHERE a.k = b.k {loop}")
    assert [one.size for one in found.graph.inputs] == [size, 40]


def test_sensors_say_how_often_they_are_read() -> None:
    (road, _) = join(f"SELECT site FROM road {W}, d WHERE road.k = d.k").graph.inputs
    assert (road.rate, road.size) == (2.0, 20.0)
    half = Statistics(tick_seconds=0.5)
    (road, _) = join(f"SELECT site FROM road {W}, d WHERE road.k = d.k", half).graph.inputs
    assert (road.rate, road.size) == (4.0, 20.0)


def test_conditions_above_windows_of_rows_count_for_their_input() -> None:
    (first, _) = join("SELECT a.x FROM a [ROWS 30], d WHERE a.k = d.k AND a.k = 1").graph.inputs
    assert first.size == pytest.approx(3) and first.rate == pytest.approx(1)


def test_a_stream_that_never_brings_anything_has_a_state_all_the_same() -> None:
    found = join(f"SELECT a.x FROM a {W}, d WHERE a.k = d.k", Statistics(rates={"a": 0}))
    assert (found.graph.inputs[0].rate, found.graph.inputs[0].size) == (0, LEAST_SIZE)


def test_an_input_may_be_a_query_and_names_may_repeat() -> None:
    found = join(
        f"SELECT s.n FROM (SELECT k, COUNT(*) AS n FROM a {W} GROUP BY k) s, b {W} AS b1, b {W} AS b2 "
        "WHERE s.k = b1.k AND b1.x < b2.x"
    )
    assert [one.name for one in found.graph.inputs] == ["s", "b1", "b2"]
    assert found.graph.inputs[0].size == 100  # at most a hundred groups, and no more than there are tuples
    assert kinds(found) == {("s", "b1"): EQUI, ("b1", "b2"): BAND}


def test_joins_inside_of_inputs_are_joins_of_their_own() -> None:
    inner = f"(SELECT a.k, COUNT(*) AS n FROM a {W}, b {W} WHERE a.k = b.k GROUP BY a.k) s"
    found = joins(f"SELECT s.n FROM {inner}, c {W}, d WHERE s.k = c.k AND c.k = d.k")
    assert [[one.name for one in each.graph.inputs] for each in found] == [["s", "c", "d"], ["a", "b"]]


def test_an_outer_join_stays_as_it_is_written() -> None:
    assert joins(f"SELECT a.x FROM a {W} LEFT JOIN b {W} ON a.k = b.k") == []
    found = join(f"SELECT a.x FROM a {W} LEFT JOIN b {W} ON a.k = b.k, c {W} WHERE a.k = c.k")
    assert [one.name for one in found.graph.inputs] == ["input 1", "c"]
    assert found.graph.inputs[0].size == pytest.approx(100 * 200 * 0.1)  # its condition counts as one on tuples


def test_what_is_no_join_has_none() -> None:
    assert joins("SELECT a.x FROM a WHERE a.x > 1") == []


def test_widths() -> None:
    (found,) = joins(f"SELECT a.x, c.name FROM a {W}, c {W} WHERE a.k = c.k")
    # a tick and an index, and of each input the columns that are needed
    assert [one.width for one in found.graph.inputs] == [16 + 4 + 8, 16 + 4 + 32]
    assert width_of(found.operators[0].schema) == 28


def test_pairs_of_a_key_that_were_measured_apart_count_apart() -> None:
    """Every pair of a and b with one key in two, and c with keys of its own for the most part: counted by hand."""
    dice = Random(3)
    values = [[dice.randrange(2) for _ in range(60)], [dice.randrange(2) for _ in range(60)]]
    values.append([dice.randrange(40) for _ in range(400)])

    def fits(*which: int) -> int:
        return sum(math.prod(values[at].count(value) for at in which) for value in range(40))

    def part(*which: int) -> float:
        return fits(*which) / math.prod(len(values[at]) for at in which)

    known = {"a.k = b.k": part(0, 1), "b.k = c.k": part(1, 2)}
    statistics = Statistics(rates={"a": 1, "b": 1, "c": 1}, selectivities=known)
    found = join(f"SELECT a.k FROM a {W}, b {W}, c {W} WHERE a.k = b.k AND b.k = c.k", statistics)
    sizes = [len(some) for some in values]
    inputs = tuple(replace(one, size=size) for one, size in zip(found.graph.inputs, sizes, strict=True))
    graph = JoinGraph(inputs, found.graph.predicates, found.graph.keys)
    for which in ((0, 1), (1, 2), (0, 2), (0, 1, 2)):
        assert graph.size(mask_of(which)) == pytest.approx(fits(*which), rel=0.3), which
    parts = Parts(graph, [0b101, 0b010])
    assert parts.factor(0b01, 1) * parts.sizes[0] == pytest.approx(graph.size(0b111))
