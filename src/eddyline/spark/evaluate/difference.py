"""What should be said minus what was said: the weighted rows that a batch adds to the log of a stage.

If nothing was said yet about the windows in question, everything is simply new, and no old answer is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from eddyline.algebra.sharing import QUERY
from eddyline.log.answers import HEADER, NUMBER
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.spark.evaluate.batch import columns_of
from eddyline.spark.evaluate.changed_rows import rows_after, said_of_changed
from eddyline.spark.evaluate.desired import FOUNDED, Desired
from eddyline.spark.evaluate.frames import Frame, grouped
from eddyline.spark.evaluate.tuples import NET
from eddyline.spark.evaluate.windows import T

#: of a member of a query class, the last number that it was given
LAST = "_last"


@dataclass(frozen=True)
class Said:
    """What a stage has said in earlier batches: its rows (`_index` or `_window`, `_tick`, keys, c0, …) as weights."""

    rows: Frame | None  # None: nothing that matters here
    count: int  # tuples or windows numbered so far
    numbers: Frame | None = None  # of a query class whose members count for themselves: `_query` and `_last`


def beside_changed(desired: Desired, said: Said) -> tuple[Desired, Said]:
    """Where changes are told by differences: only those rows that have changed, as they were and as they should be."""
    changed = desired.changed
    if changed is None:
        return desired, said
    rows = None if said.rows is None else said_of_changed(said.rows, changed, desired.again, desired.width)
    after = rows_after(changed, rows, desired.width)
    return replace(desired, rows=desired.rows.select(*after.columns).unionAll(after)), replace(said, rows=rows)


def stream_difference(desired: Desired, said: Said, member: str | None = None) -> Frame:
    """For streams: `_index`, `_tick`, `_diff`, keys, c0, …; replaced tuples keep their index.

    In a query class each `member`, a column of the rows, has its own stream, and its own indexes.
    """
    columns, keys = columns_of(desired.width), [key for key in desired.keys if key != T]
    arrival = ", ".join([*desired.keys, *desired.order, *columns])
    if said.rows is None:
        rows = desired.rows.selectExpr(*desired.head, *columns, f"CAST(NULL AS BIGINT) AS {INDEX}", f"1 AS {DIFF}")
        return _numbered(rows, arrival, said, member).selectExpr(INDEX, f"{T} AS {TICK}", DIFF, *keys, *columns)
    head = desired.head
    old = grouped(said.rows, [INDEX, TICK, *keys, *columns], [NET]).where(f"{DIFF} > 0")
    both = desired.rows.selectExpr(*head, *columns, f"CAST(NULL AS BIGINT) AS {INDEX}").unionAll(
        old.selectExpr(*(f"{TICK} AS {T}" if key == T else key for key in head), *columns, INDEX)
    )
    # equal tuples stay as they are, copy by copy; of the rest, what was there goes and what was not comes
    alike = ", ".join([*head, *columns])
    copies = both.selectExpr(
        "*", f"row_number() OVER (PARTITION BY {alike}, {INDEX} IS NULL ORDER BY {INDEX}) AS _copy"
    )
    sides = [f"max({INDEX}) AS _was", f"max({INDEX} IS NULL) AS _is"]
    matched = grouped(copies, [*head, *columns, "_copy"], sides).where("(_was IS NULL) = _is")
    events = matched.selectExpr(*head, *columns, "_was", f"IF(_is, 1, -1) AS {DIFF}")
    # in each window, the first that comes takes the place of the first that goes, and so on
    window = ", ".join([*desired.keys, *_each(member)])
    order = ", ".join(["_was", *desired.order, *columns])
    placed = events.selectExpr(
        "*", f"row_number() OVER (PARTITION BY {window}, {DIFF} ORDER BY {order}) AS _place"
    ).selectExpr("*", f"max(_was) OVER (PARTITION BY {window}, _place) AS {INDEX}")
    return _numbered(placed, arrival, said, member).selectExpr(INDEX, f"{T} AS {TICK}", DIFF, *keys, *columns)


def _numbered(rows: Frame, arrival: str, said: Said, member: str | None) -> Frame:
    """Those without an index get the next ones."""
    others = [column for column in rows.columns if column != INDEX]
    last = f"{said.count}L" if member is None else "0L"
    if said.numbers is not None:
        assert member is not None
        rows = rows.selectExpr("*", f"{member} AS {QUERY}").join(said.numbers, QUERY, "left")
        last = f"coalesce({LAST}, 0L)"
    among = ", ".join([f"{INDEX} IS NULL", *_each(member)])
    fresh = f"row_number() OVER (PARTITION BY {among} ORDER BY {arrival})"
    return rows.selectExpr(f"coalesce({INDEX}, {last} + {fresh}) AS {INDEX}", *others)


def _each(member: str | None) -> list[str]:
    return [] if member is None else [member]


def groups_difference(desired: Desired, said: Said) -> Frame:
    """For running groups, which have one tuple each: `_index`, `_tick`, `_diff`, keys, c0, …

    A group keeps its index as long as it is there; new ones are numbered as they were founded.
    """
    keys = list(desired.keys)
    own = [*keys, *columns_of(desired.width)]
    named = desired.rows.selectExpr("*", f"CAST(NULL AS BIGINT) AS {INDEX}")
    if said.rows is not None:
        old = grouped(said.rows, [INDEX, TICK, *own], [NET]).where(f"{DIFF} > 0")
        named = desired.rows.join(old.select(INDEX, *keys), keys, "left")
    fresh = f"row_number() OVER (PARTITION BY {INDEX} IS NULL ORDER BY {FOUNDED})"
    index = f"CAST(coalesce({INDEX}, {said.count}L + {fresh}) AS BIGINT) AS {INDEX}"
    now = named.selectExpr(index, f"{T} AS {TICK}", *own, f"1 AS {DIFF}")
    if said.rows is None:
        return now
    both = now.unionAll(old.selectExpr(INDEX, TICK, *own, f"-1 AS {DIFF}"))
    return grouped(both, [INDEX, TICK, *own], [NET]).where(f"{DIFF} <> 0")


def relation_difference(desired: Desired, said: Said) -> Frame:
    """For changes of a relation: `_tick`, `_diff`, c0, …, one row for each single change."""
    columns = columns_of(desired.width)
    net = desired.rows.selectExpr(f"{T} AS {TICK}", "_n", *columns)
    if said.rows is not None:
        net = net.unionByName(said.rows.selectExpr(TICK, f"CAST(-{DIFF} AS BIGINT) AS _n", *columns))
        net = grouped(net, [TICK, *columns], ["CAST(sum(_n) AS BIGINT) AS _n"]).where("_n <> 0")
    copies = "explode(sequence(1L, abs(_n))) AS _copy"
    return net.selectExpr(TICK, f"CAST(sign(_n) AS TINYINT) AS {DIFF}", *columns, copies).drop("_copy")


def window_difference(desired: Desired, said: Said, member: str | None = None) -> Frame:
    """For windows: `_window`, `_tick`, `_diff`, `_header`, keys, c0, …; a revised window is said as a whole.

    In a query class whose members began together, all have the same windows: that one is there is said once, and what
    is revised is said anew for its `member` alone, a column of the rows, unless the window itself has come, moved or
    gone.
    """
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
    return _revised_windows(desired, said, keys, columns, member).selectExpr(*final)


def _revised_windows(desired: Desired, said: Said, keys: list[str], columns: list[str], member: str | None) -> Frame:
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
    counted = both.selectExpr("*", f"CASE WHEN {HEADER} THEN {T} END AS _head_tick")
    sums = ["CAST(sum(_new) AS INT) AS _new", "CAST(sum(_old) AS INT) AS _old", f"max({NUMBER}) AS {NUMBER}"]
    net = grouped(counted, [*keys, HEADER, "_head_tick", *columns], sums)
    stands, on_grid = "_new > 0 OR _old > 0", desired.grid is not None and desired.keys == (T,)
    if on_grid:
        net = net.where(stands)
    over = f"OVER (PARTITION BY {', '.join(keys)})"
    differs = f"max(_new <> _old) {over}"
    if member is not None:  # of the row that says that the window is there, it is NULL
        own = f"OVER (PARTITION BY {', '.join([*keys, member])})"
        differs = f"max(_new <> _old) {own} OR coalesce(max(CASE WHEN {HEADER} THEN _new <> _old END) {over}, false)"
    judged = net.selectExpr(
        *keys,
        HEADER,
        *columns,
        "_new",
        "_old",
        f"max({NUMBER}) {over} AS {NUMBER}",  # also if all that was said of the window was taken back
        f"max(CASE WHEN _new > 0 THEN _head_tick END) {over} AS _new_tick",
        f"max(CASE WHEN _old > 0 THEN _head_tick END) {over} AS _old_tick",
        f"{differs} AS _changed",
    ).where(f"_changed AND ({stands})")
    # all rows of a window are peers in this order, so they share the number that its header counts
    created = ", ".join(desired.created).replace(T, "_new_tick")
    fresh = f"sum(CASE WHEN {HEADER} AND {NUMBER} IS NULL THEN 1 END) OVER (ORDER BY {created})"
    number = f"coalesce({NUMBER}, {said.count}L + {fresh})"
    if desired.grid is not None and on_grid:
        number = _grid_number(desired.grid, "coalesce(_new_tick, _old_tick)")
    extra = [key for key in keys if key != T]
    return judged.selectExpr(
        *extra,
        "_new_tick",
        "_old_tick",
        f"{number} AS {NUMBER}",
        HEADER,
        *columns,
        "_old",
        "explode(sequence(1, _old + _new)) AS _copy",
    ).selectExpr(
        *extra,
        f"IF(_copy > _old, _new_tick, _old_tick) AS {T}",
        NUMBER,
        f"IF(_copy > _old, 1, -1) AS {DIFF}",
        HEADER,
        *columns,
    )


def member_difference(desired: Desired, said: Said, start: int) -> Frame:
    """The same for a query class, whose members share the list of windows: a row tells its member in its last column.

    The windows stand at regular ticks, so none ever goes; what is revised is said anew for its member alone. They are
    numbered by the ticks since the class began: each member has its own windows among them.
    """
    assert desired.listed is not None
    columns = columns_of(desired.width)
    final = [f"{T} - {start} AS {NUMBER}", f"{T} AS {TICK}", DIFF, HEADER, *columns]
    heads = desired.listed.where(f"NOT ({desired.again.condition(T)})") if said.rows is not None else desired.listed
    heads = heads.selectExpr(T, f"1 AS {DIFF}", f"true AS {HEADER}")
    if said.rows is None:
        rows = desired.rows.selectExpr(T, f"1 AS {DIFF}", f"false AS {HEADER}", *columns)
        return rows.unionByName(heads, allowMissingColumns=True).selectExpr(*final)
    old = said.rows.where(f"NOT {HEADER}").selectExpr(
        f"{TICK} AS {T}", *columns, "0 AS _new", f"CAST({DIFF} AS INT) AS _old"
    )
    both = desired.rows.selectExpr(T, *columns, "1 AS _new", "0 AS _old").unionAll(old)
    sums = ["CAST(sum(_new) AS INT) AS _new", "CAST(sum(_old) AS INT) AS _old"]
    net = grouped(both, [T, *columns], sums).where("_new > 0 OR _old > 0")
    judged = net.selectExpr("*", f"max(_new <> _old) OVER (PARTITION BY {T}, {columns[-1]}) AS _changed")
    copies = judged.where("_changed").selectExpr(T, *columns, "_old", "explode(sequence(1, _old + _new)) AS _copy")
    rows = copies.selectExpr(T, f"IF(_copy > _old, 1, -1) AS {DIFF}", f"false AS {HEADER}", *columns)
    return rows.unionByName(heads, allowMissingColumns=True).selectExpr(*final)


def _window_numbers(desired: Desired, listed: Frame, count: int) -> Frame:
    """Windows are numbered in order of creation; where they stand at regular ticks, the tick says the number."""
    if desired.grid is not None and desired.keys == (T,):
        return listed.selectExpr("*", f"{_grid_number(desired.grid, T)} AS {NUMBER}")
    created = ", ".join(desired.created)
    return listed.selectExpr("*", f"{count}L + row_number() OVER (ORDER BY {created}) AS {NUMBER}")


def _grid_number(grid: tuple[int, int], tick: str) -> str:
    first, step = grid
    return f"CAST(({tick} - {first}) DIV {step} + 1 AS BIGINT)"
