"""What the benchmark of corrections makes of its figures: which aims are reached, and what it ends with."""

from __future__ import annotations

from typing import Any

import duckdb
import pandas as pd
from bench.revisions.aims import ANSWERS, aims, certain, uncertainty
from bench.revisions.run import outcome
from bench.revisions.workload import KINDS, OVERLAP, SLIDING, Workload, plain_query, same, slide


def cell(share: float, auto: float, right: bool = True) -> dict[str, Any]:
    """Batches of which the second cost all ways three times as much as the others."""
    costs = (("upstream", 1.0), ("downstream", 2.0), ("auto", auto))
    ways = {way: {"cpu": cpu, "batches": [cpu, 3 * cpu, cpu], "same": right} for way, cpu in costs}
    return {"kind": "sum", "size": 10, "share": share, "ways": ways}


def results(auto: float = 1.05, idle: float = 1.0, plain: float = 200.0, right: bool = True) -> dict[str, Any]:
    taken = {"plain": {"cpu": plain}, "auto": {"cpu": 1.0}}
    beside = {"kind": "sum", "history": 1_000_000, "1": taken, "1000": taken, "same": True, "plain_same": right}
    return {"cells": [cell(0.5, 1.0), cell(0.5, auto), cell(0.0, idle)], "plain": [beside]}


def test_it_ends_with_1_where_an_aim_is_missed_and_one_has_asked_for_it() -> None:
    assert outcome(results(), strict=True) == 0
    alone = results()
    alone["plain"][0]["1"] = {"plain": {"cpu": 5.0}, "auto": {"cpu": 1.0}}
    assert outcome(alone, strict=True) == 0, "of one correction alone nothing is asked"
    for missed in (results(auto=1.2), results(idle=1.04), results(plain=99.0)):
        assert outcome(missed, strict=True) == 1
        assert outcome(missed, strict=False) == 0
    assert outcome(results(right=False), strict=False) == 1, "plain Spark's answers count too"


def test_a_cell_is_measured_until_it_is_clear_which_side_of_its_aim_it_is_on() -> None:
    def measured(*auto: float) -> dict[str, Any]:
        found = cell(0.5, 1.0)
        for way, cpu in (("upstream", 1.0), ("downstream", 2.0)):
            found["ways"][way]["batches"] = [cpu] * len(auto)
        found["ways"]["auto"]["batches"] = list(auto)
        return found

    assert certain(measured(*[0.98, 1.0, 1.02] * 4)) and certain(measured(*[1.28, 1.3, 1.32] * 4))
    assert not certain(measured(*[0.8, 1.08, 1.4] * 4)), "it may be above"
    assert certain(measured(*[0.8, 1.0, 1.2] * 40)), "often enough"
    assert uncertainty([1.0, 1.1, 0.9, 50.0]) < 0.2, "one that was disturbed says nothing"


def test_the_worst_cell_is_told_and_what_was_not_measured() -> None:
    told = {aim.text: aim for aim in aims(results(auto=1.2))}
    worst = told["auto ÷ the better way, everywhere"]
    assert worst.reached is False and worst.shown == "1 of 2; worst 1.20× (sum, windows of 10, 50%)"
    assert told[ANSWERS].reached is True
    assert {aim.reached for aim in aims({"cells": [], "plain": []})} == {None}


def test_what_is_right_is_what_the_plain_query_says() -> None:
    """In a database that speaks the same SQL, but for how an array becomes rows."""
    workload = Workload.of_length(1_003)
    workload.batch(1, 40, 0.5)
    for kind in KINDS:
        text = plain_query(kind, 50).replace("EXPLODE(SEQUENCE(", "UNNEST(GENERATE_SERIES(")
        with duckdb.connect() as database:
            database.register("s", workload.table(0, workload.t.size))
            found = database.execute(text).df().rename(columns={"w": "window"})
        found = found[found["window"] <= workload.over(kind, 50)]
        assert same(found, workload.right(kind, 50)), kind
        assert found["window"].max() == 1_022 // slide(kind, 50)
    wrong = workload.right(SLIDING, 50)
    assert not same(wrong.assign(a=wrong["a"] + 1), workload.right(SLIDING, 50))
    assert isinstance(wrong, pd.DataFrame) and slide(SLIDING, 50) == 50 // OVERLAP
