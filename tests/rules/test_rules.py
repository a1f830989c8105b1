"""What each rule does to a plan, and what it leaves alone. That answers stay the same is shown in tests/laws."""

from __future__ import annotations

import re
from typing import Any

import pytest

from eddyline.algebra.notation import notation
from eddyline.algebra.stream import StreamReceive
from eddyline.algebra.tagging import taggers_for
from eddyline.binder.statement import StatementBinder
from eddyline.catalog.catalog import Catalog
from eddyline.errors import InvalidAlgebra
from eddyline.language import parse_script
from eddyline.rules import RULES, Rule, optimize, rule_names

SCHEMA = """
CREATE STREAM s (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t;
CREATE STREAM r (a INTEGER, c STRING, t INTEGER) TIMESTAMP BY t;
CREATE TABLE d (a INTEGER, name STRING);
"""


def plans(sql: str, *rules: str) -> tuple[str, tuple[str, ...]]:
    """The plan after these rules (all if none is named), on one line, and the rules that changed it."""
    best, _ = optimized(sql, *rules)
    return re.sub(r"\s+", " ", notation(best.plan)), best.applied


def tags_made(sql: str, *rules: str) -> set[str]:
    """What the continuous taggers say whose tags the plan of the last query asks for."""
    best, catalog = optimized(sql, *rules)
    leaves = [operator for operator in best.plan.walk() if isinstance(operator, StreamReceive)]
    standing = {name: [tagger for _, tagger in taggers] for name, taggers in catalog.taggers.items()}
    return {tagger.tag.content for leaf in leaves for tagger in taggers_for(leaf, standing.get(leaf.name, []))}


def optimized(sql: str, *rules: str) -> tuple[Any, Catalog]:
    binder = StatementBinder()
    for statement in parse_script(SCHEMA + sql):
        binder.bind(statement.tree)
    query = list(binder.catalog.queries.values())[-1]
    without = [name for name in rule_names() if rules and name not in rules]
    return optimize(query.plan, without), binder.catalog


def test_a_selection_moves_below_a_window_that_follows_the_clock() -> None:
    plan, applied = plans("SELECT a FROM s [FROM NOW-5 TO NOW SLIDE 1 SEC] WHERE a > 1", "push-selections")
    assert applied == ("push-selections",)
    assert 'TimeWindow (TimeScope (Tick (-5)) (Tick 0)) (Tick 1) ( StreamSelect (Predicate "s.a>1")' in plan
    assert "WindowSelect" not in plan


@pytest.mark.parametrize(
    "window", ["[RANGE BY '5 seconds']", "for (t = ST; t < ST + 5; t++) { WindowIs(s, t - 4, t); }"]
)
def test_also_below_the_windows_of_telegraphcq(window: str) -> None:
    where = " WHERE a > 1"
    source = f"s {window}{where}" if window.startswith("[") else f"s{where} {window}"
    plan, _ = plans(f"SELECT a FROM {source}", "push-selections")
    assert "StreamSelect" in plan and "WindowSelect" not in plan


@pytest.mark.parametrize("window", ["[FROM NOW-2 TO NOW SLIDE 1 ROWS]", "[ROWS 3]", "[PARTITION BY a ROWS 1]"])
def test_a_selection_stays_above_a_window_that_counts_tuples(window: str) -> None:
    plan, applied = plans(f"SELECT a FROM s {window} WHERE a > 1", "push-selections")
    assert applied == () and "StreamSelect" not in plan


def test_below_a_cql_range_only_where_no_one_counts_its_windows() -> None:
    alone, _ = plans("SELECT a FROM s [RANGE 5 SEC] WHERE a > 1", "push-selections")
    assert 'RangeWindow (Range 5) ( StreamSelect (Predicate "s.a>1")' in alone
    mixed = "SELECT s.a FROM s [RANGE 5 SEC], r [FROM NOW-5 TO NOW SLIDE 2 SEC] WHERE s.a > 1"
    plan, _ = plans(mixed, "push-selections")
    assert "StreamSelect" not in plan
    assert 'WindowSelect (Predicate "s.a>1") ( RangeWindow (Range 5) ( StreamReceive "s"))' in plan
    # several windows of r may stand at one tick, and ISTREAM compares one with the other each time s has a window
    assert "StreamSelect" not in plans(f"ISTREAM({mixed})", "push-selections")[0]


def test_each_part_moves_to_the_side_it_reads() -> None:
    windows = "s [FROM NOW-5 TO NOW SLIDE 1 SEC], r [FROM NOW-5 TO NOW SLIDE 1 SEC]"
    plan, applied = plans(f"SELECT s.a FROM {windows} WHERE s.a = r.a AND b > 1 AND c = 'x y' AND s.t < r.t")
    assert applied == ("push-selections", "select-into-join", "push-projections")
    assert 'WindowJoin (Predicate "s.a=r.a and s.t<r.t")' in plan
    assert 'StreamSelect (Predicate "s.b>1") ( StreamReceive "s")' in plan
    assert 'StreamSelect (Predicate "r.c=\'x y\'") ( StreamReceive "r")' in plan
    assert "WindowSelect" not in plan and "WindowCrossProduct" not in plan


@pytest.mark.parametrize(
    ("join", "where", "pushed"),
    [("LEFT", "b > 1", True), ("LEFT", "c = 'x'", False), ("RIGHT", "c = 'x'", True), ("FULL", "b > 1", False)],
)
def test_an_outer_join_lets_only_its_preserved_side_be_filtered(join: str, where: str, pushed: bool) -> None:
    windows = f"s [NOW] {join} JOIN r [NOW] ON s.a = r.a"
    plan, _ = plans(f"SELECT s.a FROM {windows} WHERE {where}", "push-selections")
    assert ("StreamSelect" in plan) == pushed
    assert ("WindowSelect" in plan) != pushed


def test_a_product_without_a_common_condition_stays_one() -> None:
    plan, applied = plans("SELECT s.a FROM s [NOW], r [NOW] WHERE s.a > 1", "select-into-join")
    assert applied == () and "WindowCrossProduct" in plan


def test_a_selection_moves_into_a_sub_query() -> None:
    plan, applied = plans("SELECT x FROM (SELECT a + b AS x, t FROM s) AS k WHERE x > 2", "push-selections")
    assert applied == ("push-selections",)
    assert 'StreamSelect (Predicate "s.a + s.b>2") ( StreamReceive "s")' in plan


def test_but_not_where_tags_are_carried() -> None:
    """Which tags a tuple carries is decided where the projection stands."""
    plan, applied = plans("SELECT x FROM (SELECT a + b AS x, t FROM s) AS k WHERE x > 2 WITH TAGS", "push-selections")
    assert applied == () and 'StreamSelect (Predicate "k.x>2")' in plan


def test_columns_that_nobody_reads_are_dropped_before_the_window() -> None:
    plan, applied = plans("SELECT SUM(b) FROM s [FROM NOW-5 TO NOW SLIDE 1 SEC]", "push-projections")
    assert applied == ("push-projections",)
    assert 'TimeWindow (TimeScope (Tick (-5)) (Tick 0)) (Tick 1) ( StreamProject [Attr "s.b"]' in plan


def test_columns_of_conditions_and_partitions_are_kept() -> None:
    plan, _ = plans("SELECT b FROM s [PARTITION BY a ROWS 1] WHERE t > 3", "push-projections")
    assert "StreamProject" not in plan  # a, b and t are all read
    plan, _ = plans("SELECT b FROM s [ROWS 1] WHERE t > 3", "push-projections")
    assert 'StreamProject [Attr "s.b", Attr "s.t"]' in plan


def test_order_needs_the_whole_tuple() -> None:
    """Ties under LIMIT are decided by all columns."""
    plan, applied = plans("SELECT b FROM s [NOW] ORDER BY a LIMIT 1", "push-projections")
    assert applied == () and "StreamProject" not in plan


def test_counting_needs_one_column() -> None:
    plan, _ = plans("SELECT COUNT(*) FROM s [ROWS 5]", "push-projections")
    assert 'StreamProject [Attr "s.a"]' in plan


def test_tag_aware_plans_keep_their_columns() -> None:
    plan, applied = plans("SELECT COUNT(*) FROM s [ROWS 5] WITH TAGS", "push-projections")
    assert applied == () and "StreamProject" not in plan


TAGGERS = """
ATTACH TAG 'hot' CONTINUOUSLY TO s.a WHERE a > 5 WITH TAG_SIGN = '+';
ATTACH TAG 'cold' CONTINUOUSLY TO s.b WITH TAG_SIGN = '-';
"""


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("TAG = 'hot'", {"hot"}),
        ("TAGSIGN = '-'", {"cold"}),
        ("TAG IN ('warm', 'lukewarm')", set()),
        ("NOT TAG = 'hot'", {"cold"}),
        ("TAG != 'hot' OR TAGGER = 'q1'", {"hot", "cold"}),
        ("TAG = 'hot' OR TAG = 'warm'", {"hot"}),
        ("TAG = 'hot' AND TAGSIGN = '-'", set()),
        ("OBJECT = s.a", {"hot"}),
        ("TAG_TIME > 3", {"hot", "cold"}),
        ("TAG LIKE 'h%'", {"hot", "cold"}),
        ("a > 1 AND TAG = 'cold'", {"cold"}),
    ],
)
def test_taggers_whose_tags_would_be_discarded_are_gone(where: str, left: set[str]) -> None:
    sql = f"{TAGGERS} SELECT TAGS FROM s WHERE {where}"
    assert tags_made(sql, "push-tag-predicates") == left
    assert tags_made(sql, "push-selections") == {"hot", "cold"}


def test_tagged_objects_with_their_tags_keep_all_taggers() -> None:
    objects = f"{TAGGERS} SELECT TAGGED OBJECTS FROM s WHERE TAG = 'hot'"
    assert tags_made(objects) == {"hot"}
    assert tags_made(objects + " WITH TAGS") == {"hot", "cold"}


def test_tags_that_are_counted_below_are_kept() -> None:
    counted = "SELECT a, TAG_COUNT('+') AS n FROM s [NOW] GROUP BY a"
    made = tags_made(f"{TAGGERS} SELECT TAGGED OBJECTS FROM (ISTREAM({counted})) AS k WHERE TAG = 'hot'")
    assert made == {"hot", "cold"}


def test_a_rule_that_is_switched_off_does_nothing() -> None:
    sql = "SELECT s.a FROM s [NOW], r [NOW] WHERE s.a = r.a AND b > 1"
    for name in rule_names():
        others = [other for other in rule_names() if other != name]
        assert name not in plans(sql, *others)[1]


def test_a_rule_that_changes_the_columns_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check after each rule: a broken rule is an error, not a wrong answer."""
    broken = Rule("broken", lambda plan: plan.inputs[0], "to be caught")
    monkeypatch.setattr("eddyline.rules.RULES", (*RULES, broken))
    with pytest.raises(InvalidAlgebra, match="broken"):
        plans("SELECT a FROM s WHERE a > 1")
