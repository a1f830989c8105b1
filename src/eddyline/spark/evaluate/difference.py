"""What should be said minus what was said: the weighted rows that a batch adds to the log of a stage.

If nothing was said yet about the windows in question, everything is simply new, and no old answer is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.spark.evaluate.batch import columns_of
from eddyline.spark.evaluate.desired import Desired
from eddyline.spark.evaluate.windows import T

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: marks the row that says that a window is there (or no longer), also if it is empty
HEADER = "_header"
NUMBER = "_window"


@dataclass(frozen=True)
class Said:
    """What a stage has said in earlier batches: its rows (`_index` or `_window`, `_tick`, keys, c0, …) as weights."""

    rows: DataFrame | None  # None: nothing that matters here
    count: int  # tuples or windows numbered so far


def stream_difference(desired: Desired, said: Said) -> DataFrame:
    """For streams: `_index`, `_tick`, `_diff`, keys, c0, …; replaced tuples keep their index."""
    columns, keys = columns_of(desired.width), [key for key in desired.keys if key != T]
    if said.rows is None:
        rows = desired.rows.selectExpr(*desired.head, *columns)
        return _numbered(rows, desired, said.count).selectExpr(INDEX, f"{T} AS {TICK}", f"1 AS {DIFF}", *keys, *columns)
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    head = desired.head
    old = said.rows.groupBy(INDEX, TICK, *keys, *columns).agg(F.sum(DIFF).alias(DIFF)).where(f"{DIFF} > 0")
    both = desired.rows.selectExpr(*head, *columns, f"CAST(NULL AS BIGINT) AS {INDEX}").unionAll(
        old.selectExpr(*(f"{TICK} AS {T}" if key == T else key for key in head), *columns, INDEX)
    )
    # equal tuples stay as they are; of the rest, what was there goes and what was not comes
    matched = both.groupBy(*head, *columns).agg(
        F.expr(f"count_if({INDEX} IS NULL) AS _new"), F.expr(f"array_sort(collect_list({INDEX})) AS _old")
    )
    gone = matched.where("size(_old) > _new").selectExpr(
        *head, *columns, "explode(slice(_old, CAST(_new AS INT) + 1, size(_old))) AS _index"
    )
    come = matched.where("_new > size(_old)").selectExpr(
        *head, *columns, "explode(sequence(1L, _new - size(_old))) AS _copy"
    )
    window = list(desired.keys) or [T]
    place = F.row_number()
    gone = gone.withColumn("_place", place.over(Window.partitionBy(*window).orderBy(INDEX)))
    come = come.withColumn("_place", place.over(Window.partitionBy(*window).orderBy(*columns or [F.lit(1)])))
    heirs = gone.select(*window, "_place", INDEX)
    joined = come.drop("_copy").join(heirs, [*window, "_place"], "left")
    taken = joined.where(f"{INDEX} IS NOT NULL").selectExpr(INDEX, *head, *columns)
    fresh = _numbered(joined.where(f"{INDEX} IS NULL").selectExpr(*head, *columns), desired, said.count)
    plus = taken.unionByName(fresh).selectExpr(INDEX, f"{T} AS {TICK}", f"1 AS {DIFF}", *keys, *columns)
    minus = gone.selectExpr(INDEX, f"{T} AS {TICK}", f"-1 AS {DIFF}", *keys, *columns)
    return minus.unionAll(plus)


def _numbered(rows: DataFrame, desired: Desired, count: int) -> DataFrame:
    order = ", ".join([*desired.keys, *columns_of(desired.width)])
    return rows.selectExpr(f"{count}L + row_number() OVER (ORDER BY {order}) AS {INDEX}", "*")


def relation_difference(desired: Desired, said: Said) -> DataFrame:
    """For changes of a relation: `_tick`, `_diff`, c0, …, one row for each single change."""
    from pyspark.sql import functions as F

    columns = columns_of(desired.width)
    net = desired.rows.selectExpr(f"{T} AS {TICK}", "_n", *columns)
    if said.rows is not None:
        net = net.unionByName(said.rows.selectExpr(TICK, f"CAST(-{DIFF} AS BIGINT) AS _n", *columns))
        net = net.groupBy(TICK, *columns).agg(F.sum("_n").alias("_n")).where("_n <> 0")
    copies = "explode(sequence(1L, abs(_n))) AS _copy"
    return net.selectExpr(TICK, f"CAST(sign(_n) AS TINYINT) AS {DIFF}", *columns, copies).drop("_copy")


def window_difference(desired: Desired, said: Said) -> DataFrame:
    """For windows: `_window`, `_tick`, `_diff`, `_header`, keys, c0, …; a revised window is said as a whole."""
    assert desired.listed is not None
    columns, keys = columns_of(desired.width), list(desired.keys)
    extra = [key for key in keys if key != T]
    final = [NUMBER, f"{T} AS {TICK}", DIFF, HEADER, *extra, *columns]
    if said.rows is None:
        numbered = _window_numbers(desired, desired.listed.select(*desired.head), said.count)
        named = desired.rows
        if desired.grid is not None and desired.keys == (T,):
            named = _window_numbers(desired, named, said.count)
        else:
            named = named.join(numbered.select(*keys, NUMBER), keys)
        rows = named.selectExpr(NUMBER, T, f"1 AS {DIFF}", f"false AS {HEADER}", *extra, *columns)
        heads = numbered.selectExpr(NUMBER, T, f"1 AS {DIFF}", f"true AS {HEADER}", *extra)
        return rows.unionByName(heads, allowMissingColumns=True).selectExpr(*final)
    return _revised_windows(desired, said, keys, columns).selectExpr(*final)


def _revised_windows(desired: Desired, said: Said, keys: list[str], columns: list[str]) -> DataFrame:
    from pyspark.sql import functions as F

    assert said.rows is not None and desired.listed is not None
    old = said.rows.selectExpr(
        *(f"{TICK} AS {T}" if key == T else key for key in keys),
        *([] if T in keys else [f"{TICK} AS {T}"]),
        NUMBER,
        HEADER,
        *columns,
        "0 AS _new",
        f"CAST({DIFF} AS INT) AS _old",
    )
    blank = "CAST(NULL AS BIGINT)"
    new = desired.rows.selectExpr(
        *desired.head, f"{blank} AS {NUMBER}", f"false AS {HEADER}", *columns, "1 AS _new", "0 AS _old"
    )
    heads = desired.listed.selectExpr(
        *desired.head, f"{blank} AS {NUMBER}", f"true AS {HEADER}", "1 AS _new", "0 AS _old"
    )
    both = old.unionByName(new).unionByName(heads, allowMissingColumns=True)
    # a row of a window says its tick only through the header, so that a window can move
    counted = both.withColumn("_head_tick", F.expr(f"CASE WHEN {HEADER} THEN {T} END"))
    net = counted.groupBy(*keys, HEADER, "_head_tick", *columns).agg(
        F.sum("_new").alias("_new"), F.sum("_old").alias("_old"), F.max(NUMBER).alias(NUMBER)
    )
    over = f"OVER (PARTITION BY {', '.join(keys)})"
    judged = net.selectExpr(
        *keys,
        HEADER,
        *columns,
        "_new",
        "_old",
        f"max(CASE WHEN _old > 0 THEN {NUMBER} END) {over} AS {NUMBER}",
        f"max(CASE WHEN _new > 0 THEN _head_tick END) {over} AS _new_tick",
        f"max(CASE WHEN _old > 0 THEN _head_tick END) {over} AS _old_tick",
        f"max(_new <> _old) {over} AS _changed",
    ).where("_changed")
    come = _copies(judged, "_new", keys, columns, 1)
    gone = _copies(judged, "_old", keys, columns, -1)
    fresh = come.where(f"{NUMBER} IS NULL AND {HEADER}")
    numbers = _window_numbers(desired, fresh.select(*desired.head), said.count).selectExpr(*keys, f"{NUMBER} AS _fresh")
    come = come.join(numbers, keys, "left").withColumn(NUMBER, F.expr(f"coalesce({NUMBER}, _fresh)")).drop("_fresh")
    return gone.unionByName(come)


def _copies(judged: DataFrame, count: str, keys: list[str], columns: list[str], diff: int) -> DataFrame:
    tick = f"{count}_tick AS {T}"
    return (
        judged.where(f"{count} > 0")
        .selectExpr(
            *(key for key in keys if key != T),
            tick,
            NUMBER,
            f"{diff} AS {DIFF}",
            HEADER,
            *columns,
            f"explode(sequence(1L, {count})) AS _copy",
        )
        .drop("_copy")
    )


def _window_numbers(desired: Desired, listed: DataFrame, count: int) -> DataFrame:
    """Windows are numbered in order of creation; where they stand at regular ticks, the tick says the number."""
    if desired.grid is not None and desired.keys == (T,):
        first, step = desired.grid
        return listed.selectExpr("*", f"CAST(({T} - {first}) DIV {step} + 1 AS BIGINT) AS {NUMBER}")
    order = ", ".join(desired.keys)
    return listed.selectExpr("*", f"{count}L + row_number() OVER (ORDER BY {order}) AS {NUMBER}")
