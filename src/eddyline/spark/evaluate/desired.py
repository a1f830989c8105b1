"""What the log of a stage should say now, as far as a batch can have changed it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from eddyline.algebra.marks import is_marks
from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.relational import RelationChanges, WindowSort
from eddyline.algebra.schema import Schema
from eddyline.algebra.sharing import QUERY, MemberWindow
from eddyline.algebra.stream import DStream, IStream, RStream
from eddyline.algebra.tag_groups import Everything, RunningGroups
from eddyline.algebra.window import HopWindow, LoopWindow, RowWindow, Scan
from eddyline.log.answers import PLACE
from eddyline.spark.evaluate import looped
from eddyline.spark.evaluate.alike import net_of_alike
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.changed_rows import MORE, Changed, changed_windows, nothing_like
from eddyline.spark.evaluate.changed_rows import changed_relation as changed_in_relation
from eddyline.spark.evaluate.counted import standing_before
from eddyline.spark.evaluate.evaluate import INDEXES, ITERATIONS, TICKS, domain, windows
from eddyline.spark.evaluate.frames import Frame, grouped
from eddyline.spark.evaluate.joining import edges_of
from eddyline.spark.evaluate.members import BEGIN, SLIDE
from eddyline.spark.evaluate.reach import changed, changed_relation, holds, lookback
from eddyline.spark.evaluate.relation import Asked, at_every_tick, net_changes, of_members, relation
from eddyline.spark.evaluate.relational import order_of
from eddyline.spark.evaluate.tuples import log_of
from eddyline.spark.evaluate.windows import T, Windows
from eddyline.spark.spans import EVERYTHING, HIGH, LOW, NOTHING, Spans

#: counts running groups as they were founded
FOUNDED = "_founded"


@dataclass(frozen=True)
class Scope:
    """The windows to look at: where they are, and those among them that were answered in an earlier batch."""

    by: str
    places: Spans
    again: Spans


@dataclass(frozen=True)
class Desired:
    """Rows by window (keys, `_t`, c0, …), and of window queries the list of windows."""

    rows: Frame
    keys: tuple[str, ...]
    width: int
    again: Spans  # where something may have been said before, in terms of `place`
    place: str  # the column that `again` is about
    listed: Frame | None = None
    grid: tuple[int, int] | None = None
    among: Frame | None = None  # the keys in question, where `again` alone says too much
    order: tuple[str, ...] = ()  # of the tuples of one window as they enter a stream; then their values decide
    created: tuple[str, ...] = ()  # the order in which windows are numbered that come in one batch
    changed: Changed | None = None  # what is told by differences, of windows that are not among the rows

    @property
    def head(self) -> list[str]:
        return list(self.keys) if T in self.keys else [*self.keys, T]


def scope_of(plan: Operator, batch: Batch, with_next: bool, numbered: bool = False) -> Scope:
    """`with_next`: windows whose predecessor changed are to be looked at too, as ISTREAM and DSTREAM need it.

    `numbered`: what was said of a window must be found wherever it was.
    """
    by = domain(plan)
    if by == INDEXES:
        return _rows_scope(_leaf(plan), batch)
    if by == ITERATIONS:
        leaf = _leaf(plan)
        assert isinstance(leaf, LoopWindow)
        known = looped.iterations(leaf, batch)
        before, count = looped.visible_before(leaf, batch), known.visible(batch.now.closed)
        hit = looped.touched(leaf, batch, log_of(leaf.input, batch).touched)
        numbers = (hit.grown(after=int(with_next)) | Spans.of([(before, count - 1)])).within(0, count - 1)
        numbers |= batch.asked_again.within(0, before - 1)
        return Scope(by, numbers, numbers.within(0, before - 1))
    reached = isinstance(_leaf(plan), HopWindow)
    now, before = (batch.now.reached, batch.before.reached) if reached else (batch.now.closed, batch.before.closed)
    ticks = changed(plan, batch)
    if with_next:
        ticks = ticks.mapped(lambda low, high: (low, holds(plan, batch, high) + 1))
    if numbered and ticks and _may_come_again(plan, batch):
        ticks = EVERYTHING
    ticks = (ticks | batch.asked_again).within(LOW, now).within(*batch.stretch)
    return Scope(by, ticks, ticks.within(LOW, before))


def _may_come_again(plan: Operator, batch: Batch) -> bool:
    """Whether a window of rows, beside what was always there, may have been said and gone at any other tick: wherever
    it comes again, it is the same one."""
    timed = [operator for operator in plan.walk() if isinstance(operator, WindowOp) and _has_ticks(operator)]
    if len(timed) != 1 or not isinstance(timed[0], RowWindow):
        return False
    log = log_of(timed[0].input, batch)
    # without new tuples only those come whose ticks are closed now
    comes = log.fresh or any(segment.tick[1] > batch.before.closed for segment in log.segments)
    return bool(comes) and any(segment.minus for segment in log.segments)


def _has_ticks(leaf: WindowOp) -> bool:
    """Whether it is where windows come from, and was not always there."""
    if isinstance(leaf, Scan):
        return leaf.interval is not None
    return any(isinstance(operator, StreamOp) for operator in leaf.inputs)


def _rows_scope(leaf: Operator, batch: Batch) -> Scope:
    assert isinstance(leaf, RowWindow)
    log = log_of(leaf.input, batch)
    if not log.fresh and not batch.asked_again:
        return Scope(INDEXES, NOTHING, NOTHING)
    fresh = {segment.path for segment in log.fresh}
    had = max((s.index[1] for s in log.segments if s.path not in fresh), default=0)
    # windows in the gap behind the last tuple come with the next one
    asked = [low for low, _ in batch.asked_again]
    lowest = min(had + 1, *asked, *(segment.index[0] for segment in log.fresh))
    if any(segment.minus for segment in log.segments):
        # the tuple before may be gone, then windows in the gap come only now; and if it goes now, so do the windows
        # behind the last one that is left
        lowest = standing_before(log, lowest - 1)
    places = Spans.of([(max(1, lowest, batch.since.get(log.name, 0) + 1), HIGH)])
    return Scope(INDEXES, places, places.within(1, had))


def marks_in(schema: Schema) -> str | None:
    """The column of a frame that holds marks, if one does."""
    return next((f"c{place}" for place, name in enumerate(schema.names) if is_marks(name)), None)


def _leaf(plan: Operator) -> Operator:
    while len(plan.inputs) == 1 and not isinstance(plan, RowWindow | LoopWindow | HopWindow):
        plan = plan.inputs[0]
    return plan


def desired_windows(plan: Operator, batch: Batch) -> Desired | None:
    """For a query whose answer is windows; None if the batch changes nothing."""
    scope = scope_of(plan, batch, with_next=False, numbered=True)
    if not scope.places:
        return None
    made = windows(plan, batch, scope.places, scope.by)
    created = _order_of_creation(plan, made.keys) if scope.by == TICKS else made.keys
    place = _place(scope.by)
    return Desired(made.rows, made.keys, made.width, scope.again, place, made.listed, made.grid, created=created)


def _order_of_creation(plan: Operator, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Windows at ticks come as their ticks are closed, and those of one tick by what tells them apart.

    Backward loops are answered from their first step on, which is the latest tick.
    """
    loops = [operator.loop for operator in plan.walk() if isinstance(operator, LoopWindow)]
    backward = bool(loops) and all(loop.backward for loop in loops)
    return (f"{T} DESC" if backward else T, *(key for key in keys if key != T))


def desired_stream(plan: RStream | IStream | DStream, batch: Batch) -> Desired | None:
    """For RSTREAM, ISTREAM and DSTREAM of windows; None if the batch changes nothing."""
    compares = not isinstance(plan, RStream)
    scope = scope_of(plan.input, batch, with_next=compares)
    if not scope.places:
        return None
    if not compares:
        changed = changed_windows(plan.input, batch, scope.again)
        places = scope.places - changed.at
        if not places:
            return _only_changed(plan, changed, scope.again)
        made = _begun(windows(plan.input, batch, places, scope.by), batch)
        found = Desired(made.rows, made.keys, made.width, scope.again, _place(scope.by), order=_order(plan))
        if changed.rows is None:  # then nothing was said there that matters
            return replace(found, again=scope.again - changed.at)
        return replace(found, changed=changed)
    earlier = scope.places.mapped(lambda low, high: (_one_before(plan.input, batch, low, scope.by), high))
    made = _begun(windows(plan.input, batch, earlier, scope.by), batch)
    if any(isinstance(operator, MemberWindow) for operator in plan.walk()):
        made = _with_own_slides(made, batch)
    rows = _differences(made, isinstance(plan, DStream), scope, marks_in(plan.schema))
    return Desired(rows, made.keys, made.width, scope.again, _place(scope.by), order=_order(plan))


def desired_groups(plan: RunningGroups, batch: Batch) -> Desired | None:
    """For running groups, each of which has a place of its own for ever; None if the batch changes nothing."""
    below = next(operator for operator in plan.walk() if isinstance(operator, Everything))
    if not log_of(below.input, batch).fresh:
        return None
    made = windows(plan.input, batch, EVERYTHING)
    width = made.width - 3
    columns = [f"c{i + 3} AS c{i}" for i in range(width)]
    rows = made.rows.selectExpr(f"c0 AS {PLACE}", f"c1 AS {T}", f"c2 AS {FOUNDED}", *columns)
    return Desired(rows, (PLACE,), width, EVERYTHING, PLACE)


def _begun(made: Windows, batch: Batch) -> Windows:
    """The windows of the members of a class, whose numbers are the last column: each from its own beginning on."""
    if batch.members is None or batch.members.begin <= batch.start:
        return made
    numbered = made.rows.selectExpr("*", f"{made.columns[-1]} AS {QUERY}")
    begun = numbered.join(batch.members.begins(batch.frames), QUERY).where(f"{T} >= {BEGIN}")
    return made.with_rows(begun.select(*made.head, *made.columns))


def _with_own_slides(made: Windows, batch: Batch) -> Windows:
    """Each row with the ticks to the next window of its member."""
    assert batch.members is not None
    numbered = made.rows.selectExpr("*", f"{made.columns[-1]} AS {QUERY}")
    return made.with_rows(numbered.join(batch.members.own_slides(batch.frames), QUERY))


def _order(plan: Operator) -> tuple[str, ...]:
    below = plan.inputs[0]
    return tuple(order_of(below)) if isinstance(below, WindowSort) else ()


def _one_before(plan: Operator, batch: Batch, place: int, by: str) -> int:
    if by == TICKS:
        return lookback(plan, batch, place - 1)
    leaf = _leaf(plan)
    return place - leaf.slide if isinstance(leaf, RowWindow) else place - 1


def _place(by: str) -> str:
    return T if by == TICKS else PLACE


def _differences(made: Windows, leaving: bool, scope: Scope, marks: str | None) -> Frame:
    """The rows of each window that were not in the one before it, or the other way round, as bags.

    What rows are the same, their `marks` do not say.
    """
    head = made.head
    here, before = (1, -1) if not leaving else (-1, 1)
    same = f"struct({', '.join(head)}, {here} AS _w)"
    if SLIDE in made.rows.columns:
        rows, following = made.rows, f"struct({T} + {SLIDE} AS {T}, {before} AS _w)"
    elif made.grid is not None and made.keys == (T,):
        rows, following = made.rows, f"struct({T} + {made.grid[1]} AS {T}, {before} AS _w)"
    else:
        assert made.listed is not None
        order = f"OVER (ORDER BY {', '.join(made.keys)})"
        successors = made.listed.selectExpr(*head, *(f"lead({key}) {order} AS n{key}" for key in head))
        rows = made.rows.join(successors, head)
        following = f"struct({', '.join(f'n{key} AS {key}' for key in head)}, {before} AS _w)"
    both = rows.selectExpr(*made.columns, f"explode(array({same}, {following})) AS _at")
    placed = both.selectExpr(*(f"_at.{key} AS {key}" for key in head), "_at._w AS _w", *made.columns)
    wanted = placed.where(f"{head[0]} IS NOT NULL AND {scope.places.condition(_place(scope.by))}")
    if marks is not None:
        net = net_of_alike(wanted, [*head, *(column for column in made.columns if column != marks)], marks)
    else:
        net = grouped(wanted, [*head, *made.columns], ["CAST(sum(_w) AS BIGINT) AS _n"])
    return net.where("_n > 0").selectExpr(*head, *made.columns, "explode(sequence(1L, _n)) AS _copy").drop("_copy")


def desired_relation(plan: Operator, batch: Batch) -> Desired | None:
    """For a CQL relation: its changes (with `_n`, how many enter or leave), or a stream made of them."""
    below = plan.inputs[0]
    touched = changed_relation(below, batch) | batch.asked_again
    told = changed_in_relation(plan, batch, touched.within(LOW, batch.before.closed))
    ticks = touched - told.at
    again = (touched if isinstance(plan, RStream) and told.rows is not None else ticks).within(LOW, batch.before.closed)
    if not ticks:
        return _only_changed(plan, told, again)
    asked = Asked(ticks.grown(before=1).within(batch.start, batch.now.closed))
    width = len(plan.schema)
    view = batch
    if batch.join is not None and not isinstance(plan, RStream):
        view = replace(batch, edges=edges_of(below, batch.join, batch, ticks))
    frame = of_members(relation(below, view, asked), batch, width)
    columns = [f"c{i}" for i in range(width)]
    if isinstance(plan, RStream):
        found = Desired(at_every_tick(frame, ticks, width), (T,), width, again, T, order=_order(plan))
        return found if told.rows is None else replace(found, changed=told)
    net = net_changes(frame, ticks, width, marks_in(plan.schema))
    if isinstance(plan, RelationChanges):
        if told.rows is not None:
            net = net.select(T, "_n", *columns).unionAll(told.rows.select(T, MORE, *columns))
        return Desired(net, (T,), width, again, T)
    wanted = net.where("_n > 0" if isinstance(plan, IStream) else "_n < 0")
    rows = wanted.selectExpr(T, *columns, "explode(sequence(1L, abs(_n))) AS _copy").drop("_copy")
    return Desired(rows, (T,), width, again, T, order=_order(plan))


def _only_changed(plan: Operator, told: Changed, again: Spans) -> Desired | None:
    """Where all that is to be looked at is told by differences; None if nothing can have changed."""
    width = len(plan.schema)
    if told.rows is None:
        return None
    if isinstance(plan, RelationChanges):
        return Desired(told.rows, (T,), width, again, T)
    return Desired(nothing_like(told.rows, width), (T,), width, again, T, order=_order(plan), changed=told)
