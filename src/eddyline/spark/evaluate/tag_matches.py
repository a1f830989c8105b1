"""The tag join: for each tagged tuple the matches of its tags in both windows, and how they differ from what was sent.

Nothing is kept from batch to batch. What a batch may change (ticks that were closed by it, and those that the windows
carry a late or revised tuple to) is computed anew from the stretch of both logs that these windows reach.
"""

from __future__ import annotations

from eddyline.algebra.expression import Column
from eddyline.algebra.marks import STIX
from eddyline.algebra.tag_matches import (
    ALL_OF_ONE,
    ALL_OF_OTHER,
    BOTH,
    ONE,
    ONE_KEY,
    OTHER,
    OTHER_KEY,
    TAGS,
    TagMatches,
)
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.spark.evaluate.batch import Batch, columns_of
from eddyline.spark.evaluate.desired import Desired
from eddyline.spark.evaluate.difference import Said
from eddyline.spark.evaluate.frames import Frame, grouped, joined
from eddyline.spark.evaluate.tuples import NET, log_of, tuples
from eddyline.spark.evaluate.windows import T
from eddyline.spark.expression import spark_sql
from eddyline.spark.spans import LOW, Spans

#: who is joined: the side and the index of the tuple; its match, told by a hash; and the object: side and index
_WHO, _MATCH, _OBJECT = ["_k0", "_k1"], "_k2", ["_k3", "_k4"]
_BLOCK = [*_WHO, _MATCH]
KEYS = (*_BLOCK, *_OBJECT)
#: how objects are told from the row in front of their match, which is sorted before them
OBJECT = "+"
_TOLD = "_told"
#: the place of an object in the order of all, which of its match is the first, and what stands in front of that
_PLACED = ["_place", "_front", _TOLD, "_stix"]


def desired_matches(node: TagMatches, batch: Batch) -> Desired | None:
    """The objects to be sent for the tuples in question, each with what stands in front of its match."""
    touched = log_of(node.left, batch).touched | log_of(node.right, batch).touched
    due = Spans.of([(batch.before.closed + 1, batch.now.closed)])
    ticks = (touched.grown(after=node.reach) | due).within(LOW, batch.now.closed)
    if not ticks:
        return None
    sides = [_tuples(side, batch, ticks.grown(before=node.reach)) for side in (node.left, node.right)]
    widths = [len(side.schema) - 1 for side in (node.left, node.right)]
    tags = _tags(node, sides, widths)
    objects = _objects(node, _matching(node, sides, widths, tags, ticks), tags)
    rows = _with_values(objects, sides, widths)
    return Desired(rows, KEYS, sum(widths) + 2, ticks.within(LOW, batch.before.closed), T)


def _tuples(side: object, batch: Batch, ticks: Spans) -> Frame:
    """The tuples of a side whose ticks are closed; who came before the query was created is none of its business."""
    rows = tuples(side, batch, ticks).where(f"{TICK} <= {batch.now.closed}L")  # type: ignore[arg-type]
    since = batch.since.get(log_of(side, batch).name)  # type: ignore[arg-type]
    return rows.where(f"{INDEX} > {since}") if since else rows


def _as_named(column: Column) -> str:
    return column.name


def _field(number: int) -> str:
    return f"split_part(_line, chr(9), {number})"


def _tags(node: TagMatches, sides: list[Frame], widths: list[int]) -> Frame:
    """Each tag on each tuple: `_s`, `_i`, `_x` (side, index, tick), its place, key, content, word, and its text."""
    found = []
    for number, (side, width) in enumerate(zip(sides, widths, strict=True)):
        marked = side.where(f"c{width} IS NOT NULL").selectExpr(
            f"{number}L AS _s", f"{INDEX} AS _i", f"{TICK} AS _x", f"c{width} AS {TAGS}"
        )
        listed = f"explode(split({spark_sql(node.listed[number], _as_named)}, chr(10))) AS _line"
        found.append(marked.selectExpr("_s", "_i", "_x", listed))
    return (
        found[0]
        .unionAll(found[1])
        .selectExpr(
            "_s",
            "_i",
            "_x",
            f"CAST({_field(1)} AS BIGINT) AS _o",
            f"CAST({_field(2)} AS BIGINT) AS _k",
            f"{_field(3)} AS _c",
            f"{_field(4)} AS _w",
            f"{_field(5)} AS _t",
        )
    )


def _seen(node: TagMatches, side: str = "_s", index: str = "_i", tick: str = "_x") -> str:
    """Whether a tuple is in the windows of `_ps`, `_pi`, `_px` when that is joined: by tick, left first, by index."""
    length = f"CASE WHEN {side} = 0 THEN {node.left_range}L ELSE {node.right_range}L END"
    before = f"{tick} < _px OR ({side} < _ps OR ({side} = _ps AND {index} <= _pi))"
    return f"{tick} >= _px - {length} AND {tick} <= _px AND ({before})"


def _meeting(node: TagMatches, own: Frame, others: Frame, condition: str = "TRUE") -> Frame:
    """Tuples with those that are in their windows, and satisfy a condition.

    Windows are no longer than a stretch of ticks, so the stretch of a tuple and the one before it have all that they
    can have: others are looked up by their stretches, instead of comparing each with each.
    """
    stretch, earliest = node.reach + 1, f"(_px - {node.reach}L)"
    near = f"sequence({earliest} - pmod({earliest}, {stretch}L), _px - pmod(_px, {stretch}L), {stretch}L)"
    reaching = own.selectExpr("*", f"explode({near}) AS _near")
    placed = others.selectExpr("*", f"_x - pmod(_x, {stretch}L) AS _at")
    return joined(reaching, placed, f"_near = _at AND {condition} AND {_seen(node)}")


def _matching(node: TagMatches, sides: list[Frame], widths: list[int], tags: Frame, ticks: Spans) -> Frame:
    """The pairs of matching tags for each tuple in question: `_ps`, `_pi`, `_px`, and the keys of both tags."""
    own = tags.where(ticks.condition("_x")).selectExpr(
        "_s AS _ps", "_i AS _pi", "_x AS _px", "_k AS _own", "_c AS _own_c", "_w AS _own_w"
    )
    others = tags.select("_s", "_i", "_x", "_k", "_c", "_w")
    met = _meeting(node, own, others, "_s = 1 - _ps")
    first, second = (f"CASE WHEN _ps = {side} THEN _own{{0}} ELSE _{{1}} END" for side in (0, 1))
    pairs = met.selectExpr(
        "_ps",
        "_pi",
        "_px",
        f"{first.format('', 'k')} AS {ONE_KEY}",
        f"{second.format('', 'k')} AS {OTHER_KEY}",
        f"{first.format('_c', 'c')} AS {ONE}",
        f"{second.format('_c', 'c')} AS {OTHER}",
        f"{first.format('_w', 'w')} AS _wa",
        f"{second.format('_w', 'w')} AS _wb",
    ).distinct()
    if node.counted is None:
        contents = pairs.select(ONE, OTHER).distinct()
        close = contents.selectExpr(ONE, OTHER, f"{spark_sql(node.compared, _as_named)} AS _close").where("_close")
        return pairs.join(close, [ONE, OTHER]).select("_ps", "_pi", "_px", ONE_KEY, OTHER_KEY)
    return _by_objects(node, sides, widths, pairs)


def _by_objects(node: TagMatches, sides: list[Frame], widths: list[int], pairs: Frame) -> Frame:
    """Of the pairs those that enough objects carry, in both windows."""
    assert node.counted is not None
    found = []
    for number, (side, width) in enumerate(zip(sides, widths, strict=True)):
        marked = side.where(f"c{width} IS NOT NULL").selectExpr(
            f"{number}L AS _s", f"{INDEX} AS _i", f"{TICK} AS _x", f"c{width} AS {TAGS}"
        )
        lines = f"explode(split({spark_sql(node.counted, _as_named)}, chr(10))) AS _line"
        found.append(marked.selectExpr("_s", "_i", "_x", lines))
    words = found[0].unionAll(found[1])
    counts = words.selectExpr(
        "_s", "_i", "_x", f"{_field(1)} AS _one", f"{_field(2)} AS _two", f"CAST({_field(3)} AS BIGINT) AS _n"
    )
    who = pairs.select("_ps", "_pi", "_px").distinct()
    met = _meeting(node, who, counts)
    sums = grouped(met, ["_ps", "_pi", "_one", "_two"], ["CAST(sum(_n) AS BIGINT) AS _sum"])
    for one, two, name in (("_wa", "_wb", BOTH), ("_wa", "_wa", ALL_OF_ONE), ("_wb", "_wb", ALL_OF_OTHER)):
        known = sums if one != two else sums.where("_one = _two")
        named = known.selectExpr("_ps AS _qs", "_pi AS _qi", "_one AS _q1", "_two AS _q2", f"_sum AS _q{name}")
        columns = pairs.columns
        on = f"_ps = _qs AND _pi = _qi AND {one} = _q1 AND {two} = _q2"
        pairs = joined(pairs, named, on, "left").selectExpr(*columns, f"coalesce(_q{name}, 0L) AS {name}")
    close = pairs.selectExpr("*", f"{spark_sql(node.compared, _as_named)} AS _close")
    return close.where("_close").select("_ps", "_pi", "_px", ONE_KEY, OTHER_KEY)


def _objects(node: TagMatches, matches: Frame, tags: Frame) -> Frame:
    """The objects of both windows that carry the tags of each match, and what stands in front of them."""
    # a tuple carries a tag once, whatever of it the tag is on
    carried = grouped(tags, ["_s", "_i", "_x", "_k"], ["min(_o) AS _o", "max(_t) AS _t"])
    of_side = [
        joined(matches, carried.where(f"_s = {side}"), f"_k = {key} AND {_seen(node)}")
        for side, key in enumerate((ONE_KEY, OTHER_KEY))
    ]
    met = of_side[0].unionAll(of_side[1])
    match = ["_ps", "_pi", "_px", ONE_KEY, OTHER_KEY]
    of_match = grouped(
        met,
        match,
        [
            "count(CASE WHEN _s = 0 THEN 1 END) AS _lefts",
            "count(*) AS _all",
            "min(CASE WHEN _s = 0 THEN _i END) AS _front",  # there is one on either side
            *(f"min(CASE WHEN _s = {side} THEN _i * 4096 + _o END) AS _o{side}" for side in (0, 1)),
            *(f"max(CASE WHEN _s = {side} THEN _t END) AS _t{side}" for side in (0, 1)),
        ],
    )
    lefts = "CASE WHEN _lefts = 1 THEN '1' ELSE concat('1-', CAST(_lefts AS STRING)) END"
    last = "CAST(_all AS STRING)"
    rights = f"CASE WHEN _all = _lefts + 1 THEN {last} ELSE concat(CAST(_lefts + 1 AS STRING), '-', {last}) END"
    described = of_match.selectExpr(
        *match,
        f"{spark_sql(node.numbered, _as_named)} AS {_MATCH}",
        *("_front", "_o0", "_o1"),
        # both texts are lists of one
        f"concat(substr(_t0, 1, length(_t0) - 1), ',', substr(_t1, 2)) AS {_TOLD}",
        f"concat('{STIX}', '(', {rights}, ')2|(', {lefts}, ')1') AS _stix",
    )
    # tags in the order in which they appear; before the values of objects are there, which take long to sort
    order = ", ".join(["_px", "_ps", "_pi", "_o0", "_o1", _MATCH, "_s", "_i"])
    return (
        met.select(*match, "_s", "_i")
        .join(described, match)
        .selectExpr(
            "_ps AS _k0",
            "_pi AS _k1",
            _MATCH,
            f"_px AS {T}",
            "_s AS _k3",
            "_i AS _k4",
            f"row_number() OVER (ORDER BY {order}) AS _place",
            "_front",
            _TOLD,
            "_stix",
        )
    )


def _with_values(objects: Frame, sides: list[Frame], widths: list[int]) -> Frame:
    """The objects as they are sent: NULL in the fields of the other side."""
    found = []
    for number, (side, width) in enumerate(zip(sides, widths, strict=True)):
        values = side.selectExpr(f"{INDEX} AS _k4", *(f"c{i} AS _v{i}" for i in range(width)))
        here = objects.where(f"_k3 = {number}").join(values, "_k4")
        own = [f"_v{i}" for i in range(width)]
        offset = 0 if number == 0 else widths[0]
        found.append(here.selectExpr(T, *KEYS, *_PLACED, *(f"{name} AS c{i + offset}" for i, name in enumerate(own))))
    both = found[0].unionByName(found[1], allowMissingColumns=True)
    columns = columns_of(sum(widths))
    width = sum(widths)
    return both.selectExpr(
        T, *KEYS, *_PLACED, *columns, f"CAST(NULL AS STRING) AS c{width}", f"'{OBJECT}' AS c{width + 1}"
    )


def matches_difference(desired: Desired, said: Said) -> Frame:
    """`_index`, `_tick`, `_diff`, keys, c0, …: what is sent and withdrawn.

    A match that only loses or changes objects keeps their indexes. One that has got another object is withdrawn, and
    sent again behind a new stix. Stixes and tags are never withdrawn.
    """
    columns, keys = columns_of(desired.width), list(KEYS)
    kind = columns[-1]
    if said.rows is None:
        return _sent(desired.rows, columns, f"{said.count}L + _place")
    old = grouped(said.rows.where(f"{kind} = '{OBJECT}'"), [INDEX, TICK, *keys, *columns], [NET]).where(f"{DIFF} > 0")
    known = old.selectExpr(*keys, f"{INDEX} AS _was")
    beside = desired.rows.join(known, keys, "left")
    judged = beside.selectExpr("*", f"max(_was IS NULL) OVER (PARTITION BY {', '.join(_BLOCK)}) AS _again")
    kept = judged.where("NOT _again").selectExpr(f"_was AS {INDEX}", f"{T} AS {TICK}", *keys, *columns, f"1 AS {DIFF}")
    gone = old.selectExpr(INDEX, TICK, *keys, *columns, f"-1 AS {DIFF}")
    changed = grouped(kept.unionAll(gone), [INDEX, TICK, *keys, *columns], [NET]).where(f"{DIFF} <> 0")
    ours = [INDEX, TICK, DIFF, *keys, *columns]
    next_ = f"{said.count}L + row_number() OVER (ORDER BY _place)"
    return changed.select(*ours).unionAll(_sent(judged.where("_again"), columns, next_).select(*ours))


def _sent(rows: Frame, columns: list[str], number: str) -> Frame:
    """Matches that are sent, with their indexes; the row of a stix and its tags has that of the first object."""
    numbered = rows.selectExpr("*", f"CAST({number} AS BIGINT) AS {INDEX}")
    objects = numbered.selectExpr(INDEX, f"{T} AS {TICK}", f"1 AS {DIFF}", *KEYS, *columns)
    marks, kind = columns[-2:]
    fronts = numbered.where("_k3 = 0 AND _k4 = _front").selectExpr(
        INDEX,
        f"{T} AS {TICK}",
        f"1 AS {DIFF}",
        *_BLOCK,
        "0L AS _k3",
        "0L AS _k4",
        f"{_TOLD} AS {marks}",
        f"_stix AS {kind}",
    )
    both = objects.unionByName(fronts, allowMissingColumns=True)
    return both.select(INDEX, TICK, DIFF, *KEYS, *columns)
