"""Aggregates in signed parts on Spark: what comes and goes again in whatever order leaves what is left."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from eddyline.reference.aggregate import compile_aggregate
from eddyline.spark.parts import Signed
from eddyline.spark.signed import signed_or_reason
from spark.frames import close, to_frame
from spark.test_partials import NAMES, SCHEMA, aggregate, random_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = [
    "count(a)",
    "sum(a)",
    "sum(n)",
    "avg(n)",
    "avg(m)",
    "avg(e)",
    *(f"{function}(e)" for function in ("stddev", "stddev_pop", "variance", "var_pop", "skewness", "kurtosis")),
    "var_samp(a) filter (where p)",
    "corr(e, a)",
    "covar_pop(e, a)",
    "covar_samp(e, a) filter (where a > 3)",
]
DIFF = "_diff"


def test_what_is_left_is_what_the_tuples_give(spark: SparkSession) -> None:
    rng = random.Random(5)
    rows = [row for group in range(3) for row in random_rows(rng, group, 40)]
    gone = rng.sample(rows, 15)
    bound = [aggregate(text) for text in CASES]
    made = [signed_or_reason(each, NAMES, place) for place, each in enumerate(bound)]
    found = [signed for signed in made if isinstance(signed, Signed)]
    assert len(found) == len(CASES)
    names = [
        [part.name or f"{part.merge}{place}_{i}" for i, part in enumerate(signed.parts)]
        for place, signed in enumerate(found)
    ]
    frame = to_frame(spark, SCHEMA, rows).selectExpr("*", f"1 AS {DIFF}")
    frame = frame.unionAll(to_frame(spark, SCHEMA, gone).selectExpr("*", f"-1 AS {DIFF}"))
    centred = [signed.centred for signed in found if signed.centred is not None]
    frame = frame.selectExpr("*", *(number for each in centred for number in each.numbers))
    frame = frame.selectExpr("*", *(text for each in centred for text in each.around_tuples("g, slice")))
    state = _grouped(frame, "g, slice", [[part.made for part in signed.parts] for signed in found], names)
    state = state.selectExpr("*", *(text for each in centred for text in each.around_rows("g")))
    merged = [
        [part.merged(name) for part, name in zip(signed.parts, own, strict=True)]
        for signed, own in zip(found, names, strict=True)
    ]
    final = [f"{signed.final(own)} AS r{i}" for i, (signed, own) in enumerate(zip(found, names, strict=True))]
    sure = [f"{signed.sure(own)} AS s{i}" for i, (signed, own) in enumerate(zip(found, names, strict=True))]
    answers = {row["g"]: row for row in _grouped(state, "g", merged, names).selectExpr("g", *final, *sure).collect()}
    left = list(rows)
    for row in gone:
        left.remove(row)
    for group, answer in answers.items():
        standing = [row for row in left if row[0] == group]
        for i, (text, each) in enumerate(zip(CASES, bound, strict=True)):
            assert answer[f"s{i}"], text
            wanted = compile_aggregate(each, SCHEMA)(standing)
            assert close(answer[f"r{i}"], wanted) or answer[f"r{i}"] == pytest.approx(wanted, rel=1e-9), text


def _grouped(frame, keys, texts, names):  # type: ignore[no-untyped-def]
    named = [f"{t} AS {n}" for pair in zip(texts, names, strict=True) for t, n in zip(*pair, strict=True)]
    frame.createOrReplaceTempView("signed_input")
    return frame.sparkSession.sql(f"SELECT {keys}, {', '.join(named)} FROM signed_input GROUP BY {keys}")
