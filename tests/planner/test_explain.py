"""EXPLAIN of multi-way joins, the limits of the language, and what databases keep of them."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from behaviour.running import error, marked
from eddyline.binder.explain import Show
from eddyline.binder.statement import StatementBinder
from eddyline.errors import EddylineError
from eddyline.language import parse_script
from eddyline.log.segment import Segment
from eddyline.planner import machine
from eddyline.planner.cost import Costs
from eddyline.planner.explain import Question, drawings, explained
from eddyline.session.join_trees import with_join_trees
from eddyline.spark.evaluate.batch import Log
from eddyline.spark.observed import observed_rates

STREAMS = """
CREATE STREAM a (k INTEGER, x DOUBLE, t INTEGER) TIMESTAMP BY t;
CREATE STREAM b (k INTEGER, x DOUBLE, t INTEGER) TIMESTAMP BY t;
CREATE STREAM c (k INTEGER, x DOUBLE, t INTEGER) TIMESTAMP BY t;
"""
JOIN = "SELECT a.x FROM a [RANGE 9 SEC], b [RANGE 9 SEC], c [RANGE 9 SEC] WHERE a.k = b.k AND b.x = c.x"


def shown(sql: str) -> Show:
    binder = StatementBinder()
    steps = [step for statement in parse_script(STREAMS + sql) for step in binder.bind(statement.tree)]
    last = steps[-1]
    assert isinstance(last, Show)
    return last


def text(sql: str, **rates: float) -> str:
    return with_join_trees("the plan", shown(sql), rates)


def test_explain_draws_the_join_tree_and_says_that_it_is_a_plan_only() -> None:
    lines = text(f"SET cpu_limit = 0.5; SET memory_limit = '1 MB'; EXPLAIN {JOIN};", a=100, b=100, c=100).splitlines()
    assert lines[:4] == [
        "the plan",
        "join tree for a, b, c (linear); a plan, the reference engine joins as it is written:",
        "  within cpu_limit = 0.5 (given) and memory_limit = '1 MiB' (given), for this join alone",
        "  mjoin, by JTree-Finder: 0.0335 of 0.5 cpu, 78.1 KiB of 1 MiB memory",
    ]
    assert lines[-3:] == [
        "  assumed: a.k = b.k holds for 0.01 of the pairs",
        "  assumed: b.x = c.x holds for 0.01 of the pairs",
        "  assumed: 1 µs to insert a tuple, 0.5 µs to purge one, 1 µs for a joined one, 2 ns to compare a pair",
    ]


def test_a_state_that_is_stored_says_what_it_saves() -> None:
    # few tuples of two inputs, very many of the third: what the two have in common is worth storing
    found = text(f"EXPLAIN {JOIN};", a=0.01, b=0.01, c=100_000)
    assert re.search(r"storing a b takes [\d.]+ .?i?B and saves [\d.]+ cpu", found)


def test_limits_of_a_query_come_before_those_of_the_system_and_these_before_the_machines() -> None:
    step = shown(f"SET cpu_limit = 3; CREATE QUERY q WITH (memory_limit = '2 GB') AS {JOIN}; EXPLAIN q;")
    assert (step.cpu_limit, step.memory_limit) == (3, 2 * 1024**3)
    step = shown(f"SET cpu_limit = 3; CREATE QUERY q WITH (cpu_limit = 0.25) AS {JOIN}; EXPLAIN Q;")
    assert (step.cpu_limit, step.memory_limit) == (0.25, None)
    step = shown(f"SET cpu_limit = 3; SET cpu_limit = DEFAULT; EXPLAIN {JOIN};")
    assert (step.cpu_limit, step.memory_limit) == (None, None)
    assert "(the machine's) and memory_limit" in text(f"EXPLAIN {JOIN};")
    assert machine.processors() > 0 and machine.memory_for_joins() > 1e6


def test_where_nothing_fits_it_says_what_would_and_that_is_true() -> None:
    begin = f"SET cpu_limit = 0.001; SET memory_limit = 10000; EXPLAIN {JOIN};"
    found = text(begin, a=50, b=50, c=50)
    assert "no join tree fits" in found and "nearest: mjoin" in found
    windows = re.search(r"a join tree fits with windows of (\d+)% of their length", found)
    rates = re.search(r"a join tree fits with (\d+)% of the tuples", found)
    assert windows and rates
    fewer = 50 * int(rates[1]) / 100
    assert "no join tree" not in text(begin, a=fewer, b=fewer, c=fewer)


@pytest.mark.parametrize(
    ("window", "length"),
    [("[RANGE {} SEC]", 60), ("[FROM NOW-{} TO NOW SLIDE 1 SEC]", 60), ("[ROWS {}]", 100)],
)
def test_windows_that_would_do_can_be_written(window: str, length: int) -> None:
    """[RANGE 12 SEC] reaches over thirteen ticks, and no window is shorter than one."""
    query = f"SELECT a.x FROM a {window}, b {window}, c {window} WHERE a.k = b.k AND b.k = c.k"
    told = 0
    for limit in (0.00002, 0.0001, 0.0005, 0.001, 0.01, 0.05, 0.3):
        begin = f"SET cpu_limit = {limit}; EXPLAIN "
        found = text(f"{begin}{query.format(length, length, length)};", a=100, b=100, c=100)
        part = re.search(r"fits with windows of (\d+)% of their length", found)
        if part is not None:
            shorter = length * int(part[1]) // 100
            again = text(f"{begin}{query.format(*[max(shorter, 'ROWS' in window)] * 3)};", a=100, b=100, c=100)
            assert "no join tree" not in again, (limit, part[0])
            told += 1
    assert told > 1


def test_limits_that_would_do_can_be_pasted() -> None:
    roomy, tight = f"SET memory_limit = '1 TB'; EXPLAIN {JOIN};", "SET cpu_limit = 0.001; "
    cpu = re.search(r"fits with cpu_limit = (\S+)", text(tight + roomy, a=50, b=50, c=50))
    assert cpu and "no join tree" not in text(f"SET cpu_limit = {cpu[1]}; {roomy}", a=50, b=50, c=50)
    roomy, tight = f"SET cpu_limit = 100; EXPLAIN {JOIN};", "SET memory_limit = 1000; "
    memory = re.search(r"fits with memory_limit = ('.*?')", text(tight + roomy, a=50, b=50, c=50))
    assert memory and "no join tree" not in text(f"SET memory_limit = {memory[1]}; {roomy}", a=50, b=50, c=50)


def test_where_both_limits_are_too_low_a_pair_is_told_that_would_do() -> None:
    found = text(f"SET cpu_limit = 1e-9; SET memory_limit = 1; EXPLAIN {JOIN};", a=50, b=50, c=50)
    assert "no single change would do: both limits are too low" in found
    pair = re.search(r"fits with cpu_limit = (\S+) and memory_limit = ('.*?') together", found)
    least = re.search(r"the least cpu that a join tree was found for is (\S+) cpu, with ", found)
    assert pair and least and float(least[1]) <= float(pair[1])
    begin = f"SET cpu_limit = {pair[1]}; SET memory_limit = {pair[2]}; EXPLAIN {JOIN};"
    assert "no join tree" not in text(begin, a=50, b=50, c=50)


@pytest.mark.parametrize("by_key", [True, False])
def test_twenty_four_inputs(by_key: bool) -> None:
    names = [f"a{at}" for at in range(24)]
    sources = ", ".join(f"a [RANGE 9 SEC] AS {name}" for name in names)
    other = "k" if by_key else "t"
    where = " AND ".join(f"{one}.k = {two}.{other}" for one, two in pairwise(names))
    query = f"SELECT a0.x FROM {sources} WHERE {where}"
    roomy = text(f"SET cpu_limit = 1; SET memory_limit = '1 MB'; EXPLAIN {query};", a=2)
    assert f"({'clique' if by_key else 'linear'})" in roomy and "mjoin, by mjoin" in roomy
    tight = text(f"SET cpu_limit = 1; SET memory_limit = '1 KB'; EXPLAIN {query};", a=2)
    assert "no join tree fits" in tight and "a join tree fits with memory_limit = " in tight


def test_figures_can_be_read() -> None:
    tiny = text(f"SET cpu_limit = 1e-300; EXPLAIN {JOIN};")
    assert "within cpu_limit = 1e-300 (given)" in tiny and "cpu is more than a million times the limit" in tiny
    names = [f"s{at}" for at in range(12)]
    sources = ", ".join(f"a [RANGE 9 SEC] AS {name}" for name in names)
    where = " AND ".join(f"{one}.t + {two}.k = {two}.t" for one, two in combinations(names, 2))
    few = text(f"EXPLAIN SELECT s0.x FROM {sources} WHERE {where};", a=100)
    assert "⋈ s0 s1 s2 s3 … s11 (12)" in few and "≈0" in few
    many = text(f"EXPLAIN SELECT s0.x FROM {sources};", a=100)
    for found in (tiny, few, many):
        assert not re.search(r"\de-[1-9]\d", found.replace("= 1e-300", "")), "less than anybody could notice"
        assert not re.search(r"[\d,]{20}| {60}", found)


@pytest.mark.parametrize("mode", ["ALGEBRA", "ANALYZE"])
def test_only_explain_itself_tells_join_trees(mode: str) -> None:
    assert text(f"EXPLAIN {mode} {JOIN};") == "the plan"


def test_two_inputs_have_one_tree_only() -> None:
    assert text("EXPLAIN SELECT a.x FROM a [NOW], b [NOW] WHERE a.k = b.k;") == "the plan"
    assert explained(Question(shown(f"EXPLAIN {JOIN};").plan)) != ""


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SET cpu_limit = 0", "a number of processors above 0, not 0"),
        ("SET cpu_limit = -1", "not -1"),
        ("SET cpu_limit = '2'", "not '2'"),
        ("SET memory_limit = 'much'", "an amount of memory above 0, not 'much'"),
        ("SET memory_limit = '-1 GB'", "not '-1 GB'"),
        ("SET memory_limit = 0", "not 0"),
        ("SET disk_limit = 1", "expected TICK"),
        ("SET cpu_limit", "expected a value for cpu_limit"),
        ("CREATE QUERY q WITH (cpu_limit = 'x') AS SELECT k FROM a", "not 'x'"),
        (
            "CREATE QUERY q WITH (cpu_limit = 1) AS SELECT k FROM a",
            "only a join of three inputs or more has a cpu_limit",
        ),
        ("CREATE QUERY q WITH (memory_limit = 1) AS SELECT k FROM a", "three inputs or more has a memory_limit"),
        (f"CREATE QUERY q WITH (join_tree = '') AS {JOIN}", "the join tree is empty"),
        ("CREATE QUERY q WITH (cpu_limt = 1) AS SELECT k FROM a", "no setting cpu_limt"),
    ],
)
def test_limits_that_are_none_are_refused(statement: str, message: str) -> None:
    binder = StatementBinder()
    with pytest.raises(EddylineError, match=re.escape(message)):
        for each in parse_script(f"{STREAMS} {statement};"):
            binder.bind(each.tree)


@pytest.mark.parametrize("sql", ["SET cpu_limit TO 2", "RESET cpu_limit", "RESET memory_limit"])
def test_other_ways_to_set_a_limit_are_told_the_right_one(sql: str) -> None:
    hint = error(sql).hint
    assert hint is not None and f"SET {sql.split()[1]} = DEFAULT" in hint


def test_an_error_shows_the_place() -> None:
    sql = "SET memory_limit = 'much'"
    assert marked(sql, error(sql)) == "'much'"


def test_rates_come_from_logs() -> None:
    segments = [Segment("p", 60, 0, (1, 60), (1, 60), (0, 9)), Segment("q", 45, 0, (1, 45), (1, 45), (10, 19), tags=5)]
    logs = {"s": Log("s", None, (), segments), "still": Log("still", None, (), segments[:0])}  # type: ignore[arg-type]
    assert observed_rates(logs, 1_000_000) == {"s": 5.0}
    assert observed_rates(logs, 1_000) == {"s": 5_000.0}
    replaced = Segment("r", 40, 0, (1, 40), (1, 20), (0, 19), minus=20)  # each by one of the same tick
    revised = {"s": Log("s", None, (), [*segments, replaced])}  # type: ignore[arg-type]
    assert observed_rates(revised, 1_000_000) == {"s": 5.0}, "as when the log is folded"


def test_a_database_keeps_limits(tmp_path: Path, spark: object) -> None:
    import eddyline

    with eddyline.connect(str(tmp_path / "db"), master="local[2]") as db:
        db.sql(STREAMS)
        db.sql("SET cpu_limit = 0.5")
        db.sql("SET memory_limit = '3 MB'")
        db.sql("SET memory_limit = '2 MB'")
        with pytest.raises(EddylineError):
            db.sql("SET cpu_limit = 0")
    with eddyline.connect(str(tmp_path / "db"), master="local[2]") as db:
        for name in "abc":
            db.stream(name).push([(at % 7, 1.0, at) for at in range(100)])
        db.flush()
        found = str(db.sql(f"EXPLAIN {JOIN}"))
        assert "within cpu_limit = 0.5 (given) and memory_limit = '2 MiB' (given)" in found
        assert "brings" not in found, "the logs tell the rates"
        assert re.search(r"├─ a +1 +10 ", found)


def test_a_picture_of_what_does_not_fit_says_so_first() -> None:
    step = shown(f"SET cpu_limit = 0.001; EXPLAIN {JOIN};")
    (join,) = drawings(Question(step.plan, step.cpu_limit, step.memory_limit, step.tick_micros))
    assert join.notes[0].startswith("no join tree fits; this one is nearest (mjoin): ")


def test_what_was_measured_on_the_machine_is_not_assumed() -> None:
    step = shown(f"EXPLAIN {JOIN};")
    measured = Costs(2e-7, 1e-7, 3e-8, 1e-9, 0.01, 0.002, 1e-8, 1.0, 1e-7)
    assert "assumed: 1 µs to insert a tuple" in with_join_trees("", step, {})
    told = with_join_trees("", step, {}, costs=measured)
    assert "measured: 0.2 µs to insert a tuple, 0.1 µs to purge one, 0.03 µs for a joined one" in told
