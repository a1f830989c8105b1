"""WITH (priority = n): the weight of a query's share, kept over restarts and shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline import testing
from eddyline.errors import DuplicateName, EddylineError, InvalidDefinition, UnknownName

STREAM = "CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t"


def priorities(db: eddyline.Database) -> dict[str, int]:
    return {row["name"]: row["priority"] for row in db.sql("SHOW QUERIES").to_arrow().to_pylist()}


def at_work(db: eddyline.Database) -> dict[str, int]:
    return {query.name: query.priority for query in db._core.engine.executor.queries()}


def test_it_is_shown_and_outlasts_a_restart(spark: object, tmp_path: Path) -> None:
    with eddyline.connect(tmp_path, heartbeat=None) as db:
        db.sql(STREAM)
        db.sql("CREATE QUERY a WITH (priority = 3) AS SELECT x FROM s WHERE x > 1")
        db.sql("CREATE QUERY b AS SELECT MAX(x) AS m FROM s [FROM NOW-1 TO NOW SLIDE 1 SEC]")
        db.queries("SELECT x + 1 AS y FROM s WHERE x > :low", {"low": [1, 2]}, name="m", priority=7)
        wanted = {"a": 3, "b": 1, "m.1": 7, "m.2": 7}
        assert priorities(db) == wanted
    with eddyline.connect(tmp_path, heartbeat=None) as db:
        assert priorities(db) == wanted
        assert at_work(db) == {"a": 3, "b": 1, "~class1": 7}
        assert [query.priority for query in db.status().queries] == [3, 1]


def test_a_class_is_as_urgent_as_its_most_urgent_member(spark: object) -> None:
    with testing.database() as db:
        db.sql(STREAM)
        for number, priority in enumerate((1, 2, 9, 4)):
            db.sql(f"CREATE QUERY q{number} WITH (priority = {priority}) AS SELECT x FROM s WHERE x > {number}")
        assert at_work(db) == {"q0": 1, "~class1": 9}
        db.sql("DROP QUERY q2")
        assert at_work(db) == {"q0": 1, "~class1": 4}
        db.sql("DROP QUERY q3")
        assert at_work(db) == {"q0": 1, "~class1": 2}


@pytest.mark.parametrize(
    ("settings", "kind", "said", "where"),
    [
        ("priority = 0", InvalidDefinition, "a priority is a whole number from 1 to 10, not 0", "0"),
        ("priority = 11", InvalidDefinition, "from 1 to 10, not 11", "11"),
        ("priority = -1", InvalidDefinition, "from 1 to 10, not -1", "-1"),
        ("priority = 1.5", InvalidDefinition, "from 1 to 10, not 1.5", "1.5"),
        ("priority = 'high'", InvalidDefinition, "from 1 to 10, not 'high'", "'high'"),
        ("urgency = 3", UnknownName, "there is no setting urgency", "urgency"),
        ("prioriti = 3", UnknownName, "there is no setting prioriti", "prioriti"),
        ("priority = 1, PRIORITY = 2", DuplicateName, "priority is given twice", "PRIORITY = 2"),
        ("priority 3", EddylineError, "expected = behind priority, found '3'", "3"),
        ("priority = x", EddylineError, "expected a value for priority: a number, or a text in quotes", "x"),
    ],
)
def test_mistakes_are_told_with_their_place(
    spark: object, settings: str, kind: type[EddylineError], said: str, where: str
) -> None:
    with testing.database() as db:
        db.sql(STREAM)
        text = f"CREATE QUERY q WITH ({settings}) AS SELECT x FROM s"
        with pytest.raises(kind) as raised:
            db.sql(text)
        assert said in raised.value.message
        position: Any = raised.value.position
        assert text[position.start : position.end] == where
        assert len(db.queries) == 0


def test_the_priority_of_many_is_checked_too(spark: object) -> None:
    with testing.database() as db:
        db.sql(STREAM)
        with pytest.raises(InvalidDefinition, match="from 1 to 10, not 0"):
            db.queries("SELECT x FROM s WHERE x > :low", {"low": [1]}, priority=0)
