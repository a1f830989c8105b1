"""Joins that run by a tree: what a node has given is a log of weighted rows with lifetimes, and those above probe it.

What a batch changes in a state is a sum: for each child what the batch brings there, joined with what the children
before it have now and what those behind it had before. All of it is linear in the weights, so a tuple that is taken
back or replaced is nothing special. A state is never compared with what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eddyline.algebra.expression import Expr
from eddyline.algebra.node import Operator
from eddyline.algebra.relational import WindowAlias, WindowProject, WindowSelect
from eddyline.algebra.window import RangeWindow
from eddyline.log.segment import DIFF, TICK
from eddyline.planner.graph import members
from eddyline.planner.tree import JTree
from eddyline.spark.evaluate.batch import Batch, KeptState
from eddyline.spark.evaluate.frames import Frame, few, grouped, joined
from eddyline.spark.evaluate.lives import (
    ALL,
    FRESH,
    FROM,
    LIFE,
    OLD,
    UNTIL,
    WEIGHT,
    changed_life,
    longest_life,
    segments_of,
    standing_lives,
    together,
    weighted_lives,
)
from eddyline.spark.evaluate.probing import beginning, probes
from eddyline.spark.evaluate.timed import Grid, grid_of, window_list
from eddyline.spark.evaluate.windows import T, Windows
from eddyline.spark.expression import names_of, spark_sql
from eddyline.spark.join_inputs import BORN, JoinNode, window_of
from eddyline.spark.literal import back_quoted, spark_type
from eddyline.spark.spans import EVERYTHING, HIGH, LOW, NOTHING, Spans

#: as many parts may probe each other, if there are so many rows of each, as long as nobody knows what it costs
_MOST_PARTS, _MANY_ROWS = 6, 2_000
_COPIES = f"explode(sequence(1L, abs({WEIGHT}))) AS _copy"


@dataclass(frozen=True)
class Part:
    """What a child gives: rows with lives, perhaps weights, and the columns of its inputs."""

    inputs: int
    rows: Frame


# -- what is stored ---------------------------------------------------------------------------------------------------


def state_changes(node: JoinNode, batch: Batch) -> Frame | None:
    """What the batch changes in the state of a node: `_tick`, `_diff`, c0, …; None if nothing can change."""
    made = _begun(node, batch) if batch.begins else _changes(node, batch)
    if made is None:
        return None
    columns = node.of.columns_of(node.tree.mask)
    named = [f"{FROM} AS c0", *(f"{column} AS c{i}" for i, column in enumerate(columns, 1))]
    return made.where(f"{UNTIL} >= {batch.whole_from}").selectExpr(f"{UNTIL} AS {TICK}", DIFF, *named)


def _begun(node: JoinNode, batch: Batch) -> Frame:
    """All that lives from now on."""
    life = Spans.of([(batch.whole_from, HIGH)])
    parts = [Part(child.mask, _standing(node, child, batch, life)) for child in node.tree.children]
    return _joined(node, parts, batch, weighted=False).selectExpr("*", f"1 AS {DIFF}")


def _changes(node: JoinNode, batch: Batch) -> Frame | None:
    found = _weighted_changes(node, batch, EVERYTHING)
    if found is None:
        return None
    total, minus = found
    if not minus:  # then nothing has a weight but 1
        return total.selectExpr("*", f"1 AS {DIFF}")
    return _netted(total, node.of.columns_of(node.tree.mask))


def changed_lives(node: JoinNode, batch: Batch, asked: Spans) -> Frame | None:
    """What the batch changes in a join, of that what lives at some of the ticks: lives, weights and c0, c1, …

    None if nothing can change there. What comes and goes alike may be among it.
    """
    found = _weighted_changes(node, batch, asked)
    return None if found is None else _satisfying(node, found[0])


def _weighted_changes(node: JoinNode, batch: Batch, asked: Spans) -> tuple[Frame, bool] | None:
    """The changes as weighted rows, and whether some may take tuples away."""
    node = expanded(node, batch)
    children = node.tree.children
    terms: list[Frame] = []
    minus = False
    for at, child in enumerate(children):
        life = changed_life_of(node, child.mask, batch) & asked
        if not life:
            continue
        whose = [*[ALL] * at, FRESH, *[OLD] * (len(children) - at - 1)]
        found = [_weighted(node, one, batch, which, life) for one, which in zip(children, whose, strict=True)]
        minus = minus or any(takes for _, takes in found)
        parts = [Part(one.mask, rows) for one, (rows, _) in zip(children, found, strict=True)]
        terms.append(_joined(node, parts, batch, weighted=True, first=at))
    if not terms:
        return None
    total = terms[0]
    for term in terms[1:]:
        total = total.unionAll(term)
    return total, minus


def _netted(rows: Frame, columns: Sequence[str]) -> Frame:
    net = grouped(rows, [*LIFE, *columns], [f"CAST(sum({WEIGHT}) AS BIGINT) AS _net"]).where("_net <> 0")
    named = net.selectExpr(*LIFE, *columns, f"_net AS {WEIGHT}")
    return named.selectExpr(*LIFE, *columns, f"CAST(sign({WEIGHT}) AS INT) AS {DIFF}", _COPIES).drop("_copy")


def expanded(node: JoinNode, batch: Batch) -> JoinNode:
    """With what their children give in place of states that begin only now: those do not know what has changed."""
    while True:
        young = [c for c in node.tree.children if not c.is_leaf and not _tells_changes(node.name(c), batch)]
        if not young:
            return node
        node = node.without(young[0])


def _tells_changes(state: str, batch: Batch) -> bool:
    return state in batch.states and not batch.states[state].begun


def life_of_states(node: JoinNode, batch: Batch) -> int:
    """How long a joined tuple of a node can live, in ticks."""
    return max(longest_life(window_of(node.of.inputs[at]), batch) for at in members(node.tree.mask))


def changed_life_of(node: JoinNode, mask: int, batch: Batch) -> Spans:
    """The ticks at which what the batch brings to some inputs lives."""
    found = NOTHING
    for at in members(mask):
        found |= changed_life(node.of.inputs[at], batch)
    return found.within(batch.whole_from, HIGH).coarser()


# -- what children give -----------------------------------------------------------------------------------------------


def _weighted(node: JoinNode, child: JTree, batch: Batch, which: str, life: Spans) -> tuple[Frame, bool]:
    if child.is_leaf:
        at = child.mask.bit_length() - 1
        rows, takes = weighted_lives(node.of.inputs[at], batch, which, life)
        return _numbered(node, at, rows, [*LIFE, WEIGHT]), takes
    kept = batch.states[node.name(child)]
    return _stored(node, child, kept, batch, which, life)


def _standing(node: JoinNode, child: JTree, batch: Batch, life: Spans) -> Frame:
    if child.is_leaf:
        at = child.mask.bit_length() - 1
        return _numbered(node, at, standing_lives(node.of.inputs[at], batch, life), LIFE)
    columns = node.of.columns_of(child.mask)
    rows, takes = _stored(node, child, batch.states[node.name(child)], batch, ALL, life)
    if not takes:
        return rows.select(*LIFE, *columns)
    return _netted(rows, columns).select(*LIFE, *columns)


def _numbered(node: JoinNode, at: int, rows: Frame, head: Sequence[str]) -> Frame:
    """The columns of an input under the numbers that the join has for them, those left out that do not fit."""
    named = rows.selectExpr(*head, *(f"c{i} AS c{n}" for i, n in enumerate(node.of.columns(at))))
    texts = [_text(node, c.expr) for c in node.of.conditions if c.inputs == 1 << at]
    return named.where(" AND ".join(texts)) if texts else named


def _stored(node: JoinNode, child: JTree, kept: KeptState, batch: Batch, which: str, life: Spans) -> tuple[Frame, bool]:
    """Weighted rows of a state that live at some of the ticks, and whether some may take tuples away."""
    log = kept.log
    segments = [s for s in segments_of(log, which) if s.tick[1] >= life.low]
    own = {name: spark_type(f.type) for name, f in zip(log.columns, log.schema.fields, strict=True)}
    batch.on_read(sum(segment.rows for segment in segments))
    stored = node.stored_columns(child.mask, log.columns[1:])
    values = [f"{back_quoted(name)} AS {column}" for name, column in stored]
    head = [f"{BORN} AS {FROM}", f"{TICK} AS {UNTIL}", f"CAST({DIFF} AS BIGINT) AS {WEIGHT}"]
    paths = [segment.path for segment in segments]
    frame = batch.frames.read(paths, {TICK: "BIGINT", DIFF: "TINYINT", **own}, [*head, *values])
    alive = " OR ".join(f"({FROM} <= {high} AND {UNTIL} >= {low})" for low, high in life)
    return frame.where(alive), any(segment.minus for segment in segments)


def _rows_of(node: JoinNode, batch: Batch) -> int:
    """How many rows there are of what a join reads, at most."""
    logs = [*batch.logs.values(), *(batch.states[name].log for name in node.states)]
    return sum(segment.rows for log in logs for segment in log.segments)


# -- joining ----------------------------------------------------------------------------------------------------------


def _text(node: JoinNode, expr: Expr) -> str:
    names = names_of(node.of.schema, [f"c{i}" for i in range(len(node.of.schema))])
    return spark_sql(expr, names)


def _joined(node: JoinNode, parts: Sequence[Part], batch: Batch, weighted: bool, first: int | None = None) -> Frame:
    """The tuples of the parts that live together and satisfy what can be asked of them.

    The `first` one probes the others; None: the one with which least is to be done.
    """
    masks = tuple(part.inputs for part in parts)
    first = beginning(masks, batch.probing) if first is None else first
    order = probes(node.of, masks, first, batch.probing)
    inputs, rows = parts[first].inputs, parts[first].rows
    for at in order:
        other = parts[at]
        both = inputs | other.inputs
        asked = [
            c for c in node.of.conditions if c.inputs & inputs and c.inputs & other.inputs and not c.inputs & ~both
        ]
        lefts, rights = node.of.columns_of(inputs), node.of.columns_of(other.inputs)
        left = rows.selectExpr(f"{FROM} AS _lf", f"{UNTIL} AS _lu", *([f"{WEIGHT} AS _lw"] * weighted), *lefts)
        right = other.rows.selectExpr(f"{FROM} AS _rf", f"{UNTIL} AS _ru", *([f"{WEIGHT} AS _rw"] * weighted), *rights)
        made = joined(left, right, " AND ".join([*(_text(node, c.expr) for c in asked), together(asked)]))
        head = [f"greatest(_lf, _rf) AS {FROM}", f"least(_lu, _ru) AS {UNTIL}"]
        rows = made.selectExpr(*head, *([f"_lw * _rw AS {WEIGHT}"] * weighted), *lefts, *rights)
        inputs = both
    columns = node.of.columns_of(node.tree.mask)
    return rows.select(*LIFE, *([WEIGHT] * weighted), *columns)


# -- the answer of the join -------------------------------------------------------------------------------------------

#: an input as rows with lives, cut to some stretches of ticks
Lives = Callable[[Operator, Batch, Spans], Frame]
#: rows with lives, cut to stretches of ticks
Cut = Callable[[Frame], Frame]


def known_from(node: JoinNode, batch: Batch) -> int:
    """The tick from which on all states that the root reads are whole."""
    return max((batch.states[name].first for name in node.states), default=LOW)


def joined_lives(node: JoinNode, batch: Batch, life: Spans) -> Frame:
    """The joined tuples that live at some of the ticks: their lives and c0, c1, …"""
    parts = [Part(child.mask, _standing(node, child, batch, life)) for child in node.tree.children]
    return _satisfying(node, _joined(node, parts, batch, weighted=False))


def cut_lives(node: JoinNode, batch: Batch, life: Spans, lives: Lives, cut: Cut) -> Frame:
    """The same cut to the stretches of these ticks; of inputs that are not stored, `lives` are given.

    Where it matters only which lives begin or end at some ticks (`batch.edges`), the parts that do so probe the others:
    most of what is joined neither comes nor goes, and is not made again.
    """
    parts = []
    for child in node.tree.children:
        if child.is_leaf:
            at = child.mask.bit_length() - 1
            parts.append(Part(child.mask, _numbered(node, at, lives(node.of.inputs[at], batch, life), LIFE)))
        else:
            parts.append(Part(child.mask, cut(_standing(node, child, batch, life))))
    if batch.edges is None:
        return _satisfying(node, _joined(node, parts, batch, weighted=False))
    edge = f"({batch.edges.condition(FROM)} OR {batch.edges.condition(f'({UNTIL} + 1)')})"
    terms = []
    for first, part in enumerate(parts):
        others = [Part(p.inputs, p.rows.where(f"NOT {edge}")) if at < first else p for at, p in enumerate(parts)]
        others[first] = Part(part.inputs, part.rows.where(edge))
        terms.append(_joined(node, others, batch, weighted=False, first=first))
    total = terms[0]
    for term in terms[1:]:
        total = total.unionAll(term)
    return _satisfying(node, total)


def _satisfying(node: JoinNode, rows: Frame) -> Frame:
    constants = [_text(node, c.expr) for c in node.of.conditions if not c.inputs]
    return rows.where(" AND ".join(constants)) if constants else rows


def edges_of(plan: Operator, node: JoinNode, batch: Batch, ticks: Spans) -> Spans | None:
    """The ticks at which lives that begin or end are all that a plan over a join needs; None if it needs the rest.

    It is not worth it where most lives begin or end in these stretches, for few tuples, or for many parts: each of them
    probes all others, and to read and plan such a statement takes longer than to join what is there.
    """
    if _is_better_anew(node, batch):
        return None
    while plan is not node.of.node:
        if not isinstance(plan, WindowSelect | WindowProject | WindowAlias):
            return None
        plan = plan.input
    windows = (window_of(one) for one in node.of.inputs)
    lives = [longest_life(one, batch) for one in windows if isinstance(one, RangeWindow)]
    return ticks if sum(high - low + 1 for low, high in ticks) < max(lives, default=0) else None


def _is_better_anew(node: JoinNode, batch: Batch) -> bool:
    parts = node.tree.parts
    if batch.probing is not None:
        return batch.probing.is_anew(parts)
    return len(parts) > _MOST_PARTS or _rows_of(node, batch) < _MANY_ROWS * len(parts)


def joined_windows(
    node: JoinNode, batch: Batch, asked: Spans, from_tuples: Callable[[Batch, Spans], Windows]
) -> Windows:
    """The windows of a join at some ticks; those that are older than its states come from tuples."""
    first = known_from(node, batch)
    known, before = asked.within(first, HIGH), asked.within(LOW, first - 1)
    if not known:
        return from_tuples(batch, asked)
    width = len(node.of.schema)
    columns = [f"c{i}" for i in range(width)]
    rows, listed, grid = placed(node, batch, joined_lives(node, batch, known), known, asked, columns)
    if before:
        rows = rows.unionAll(from_tuples(batch, before).rows.select(T, *columns))
    return Windows(rows, listed, (T,), width, grid)


def placed(
    node: JoinNode, batch: Batch, rows: Frame, at: Spans, listed_at: Spans, columns: Sequence[str]
) -> tuple[Frame, Frame, tuple[int, int] | None]:
    """Rows with lives once for every window at some ticks that they live at, with its tick and these columns.

    Also the list of the windows at others, and their first tick and step if all stand at regular ones.
    """
    grids = list(dict.fromkeys(grid_of(w, batch) for w in map(window_of, node.of.inputs) if w.inputs))
    places = {(grid.first, grid.step) for grid in grids}
    if len(places) == 1:
        made = _on_grid(rows, grids[0], at).selectExpr(T, *columns)
        return made, window_list(grids[0], listed_at, batch), places.pop()
    listed = _on_any(grids, listed_at, batch)
    made = joined(rows, few(listed.where(at.condition(T))), f"{T} BETWEEN {FROM} AND {UNTIL}")
    return made.selectExpr(T, *columns), listed, None


def _on_grid(rows: Frame, grid: Grid, asked: Spans) -> Frame:
    """Each row once for every window at the ticks asked for that it lives at."""
    low, high = max(asked.low, grid.first), min(asked.high, grid.last)
    clipped = rows.where(f"{FROM} <= {high} AND {UNTIL} >= {low}")
    begins = f"greatest({FROM}, {low}L)"
    columns = [column for column in rows.columns if column not in LIFE]
    placed = clipped.selectExpr(
        f"({begins} + pmod({grid.first} - {begins}, {grid.step})) AS _soonest",
        f"least({UNTIL}, {high}L) AS _latest",
        *columns,
    ).where("_soonest <= _latest")
    made = placed.selectExpr(f"explode(sequence(_soonest, _latest, {grid.step}L)) AS {T}", *columns)
    return made.where(asked.condition(T))


def _on_any(grids: Sequence[Grid], asked: Spans, batch: Batch) -> Frame:
    """The ticks at which any of the inputs has a window, once all have had one."""
    listed = window_list(grids[0], asked, batch)
    for grid in grids[1:]:
        listed = listed.unionAll(window_list(grid, asked, batch))
    return listed.distinct().where(f"{T} >= {max(grid.first for grid in grids)}")
