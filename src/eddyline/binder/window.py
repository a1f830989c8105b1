"""Windows on the inputs of FROM."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlglot import exp

from eddyline.algebra.expression import Column
from eddyline.algebra.node import StreamOp, WindowOp
from eddyline.algebra.window import (
    HopWindow,
    LatestRowsWindow,
    RangeWindow,
    RowScope,
    RowWindow,
    TimeScope,
    TimeWindow,
)
from eddyline.binder.duration import countable, duration_ticks, in_ticks, text_in_ticks
from eddyline.binder.expression import position_of
from eddyline.binder.scope import FromScope, Relation
from eddyline.errors import InvalidWindow, NotSupported, Position
from eddyline.language import syntax

#: windows that make a CQL relation out of a stream
CQL = (syntax.NowWindow, syntax.UnboundedWindow, syntax.RangeWindow, syntax.RowsWindow, syntax.RecentWindow)


def window_on_stream(clause: syntax.WindowClause, stream: StreamOp, tick_micros: int) -> WindowOp:
    """The window operator that a clause in brackets stands for."""
    position = position_of(clause)
    if isinstance(clause, syntax.SlideWindow):
        return _slide_window(clause, stream, tick_micros, position)
    if isinstance(clause, syntax.NowWindow):
        return RangeWindow(stream, 0)
    if isinstance(clause, syntax.UnboundedWindow):
        return RangeWindow(stream, None)
    if isinstance(clause, syntax.RangeWindow):
        return _range_window(clause, stream, tick_micros, position)
    if isinstance(clause, syntax.RecentWindow):
        if clause.this.args["unit"] == "ROWS":
            return LatestRowsWindow(stream, _positive(clause.this.args["this"], "a window's rows", position))
        return RangeWindow(stream, duration_ticks(clause.this, tick_micros, position))
    if isinstance(clause, syntax.RowsWindow):
        rows = _positive(clause.args["this"], "a window's rows", position)
        return LatestRowsWindow(stream, rows, _partition(clause, stream))
    if isinstance(clause, syntax.HopWindow):
        return _hop_window(clause, stream, tick_micros, position)
    if isinstance(clause, syntax.ScanWindow):
        alias = stream.schema.fields[0].relation
        raise InvalidWindow(
            f"SCAN is for tables, and {alias} is a stream",
            position,
            f"write e.g. {alias} [FROM NOW-10 TO NOW SLIDE 1 MIN]",
        )
    raise NotSupported(f"{type(clause).__name__} is not a window", position)


def scan_interval(clause: syntax.WindowClause | None, table: str, tick_micros: int) -> int | None:
    """How often a table is scanned; a table takes no other window."""
    if clause is None:
        return None
    position = position_of(clause)
    if not isinstance(clause, syntax.ScanWindow):
        raise InvalidWindow(
            f"{table} is a table, and a table has no window", position, f"write {table} [SCAN 10 MIN] or just {table}"
        )
    return _positive(duration_ticks(clause.this, tick_micros, position), "a scan's interval", position)


def _positive(number: int, what: str, position: Position | None) -> int:
    if number <= 0:
        raise InvalidWindow(f"{what} must be more than 0", position)
    return number


def _slide_window(
    clause: syntax.SlideWindow, stream: StreamOp, tick_micros: int, position: Position | None
) -> WindowOp:
    start, end, slide = clause.args["start"], clause.args["end"], clause.args["slide"]
    unit = clause.args["unit"]
    _positive(slide, "a window's slide", position)
    if start < end:
        raise InvalidWindow(
            f"a window from NOW-{start} to NOW-{end} is always empty", position, "FROM is the older end, TO the newer"
        )
    if unit == "ROWS":
        return RowWindow(stream, RowScope(-start, -end), slide)
    ticks = [in_ticks(number, unit, tick_micros, position) for number in (start, end, slide)]
    return TimeWindow(stream, TimeScope(-ticks[0], -ticks[1]), ticks[2])


def _range_window(
    clause: syntax.RangeWindow, stream: StreamOp, tick_micros: int, position: Position | None
) -> WindowOp:
    if clause.this.args["unit"] == "ROWS":
        raise InvalidWindow("a RANGE is a length of time", position, f"write [ROWS {clause.this.args['this']}]")
    size = duration_ticks(clause.this, tick_micros, position)
    slide = clause.args.get("slide")
    if slide is None:
        return RangeWindow(stream, size)
    return RangeWindow(stream, size, _positive(duration_ticks(slide, tick_micros, position), "a slide", position))


def _partition(clause: syntax.RowsWindow, stream: StreamOp) -> tuple[Column, ...]:
    names = clause.args.get("partition") or ()
    relation = stream.schema.fields[0].relation or ""
    scope = FromScope([Relation(relation, (), stream.schema)])
    columns = (scope.resolve(name.parts, position_of(name)) for name in names)
    return tuple(column for column in columns if isinstance(column, Column))


def _hop_window(clause: syntax.HopWindow, stream: StreamOp, tick_micros: int, position: Position | None) -> WindowOp:
    def length(key: str) -> int:
        node = clause.args[key]
        ticks = text_in_ticks(node.name, tick_micros, position_of(node) or position)
        return _positive(ticks, f"{key.upper()} BY", position_of(node) or position)

    size = length("range")
    slide = length("slide") if clause.args.get("slide") else size
    start = clause.args.get("start")
    return HopWindow(stream, size, slide, None if start is None else tick_of(start, tick_micros))


def tick_of(node: exp.Expr, tick_micros: int) -> int:
    """A point in time as it is written: a tick, or a time in quotes."""
    if isinstance(node, exp.Neg):
        return -tick_of(node.this, tick_micros)
    assert isinstance(node, exp.Literal)
    if not node.is_string or node.name.lstrip("-").isdigit():
        return countable(int(node.name), position_of(node))
    try:
        start = datetime.fromisoformat(node.name)
    except ValueError:
        raise InvalidWindow(
            f"'{node.name}' is not a time", position_of(node), "write a tick, or e.g. '2003-06-06 18:50:20'"
        ) from None
    if start.tzinfo is None:
        start = start.replace(tzinfo=UTC)
    since_epoch = start - datetime(1970, 1, 1, tzinfo=UTC)
    return (
        since_epoch.days * 86_400_000_000 + since_epoch.seconds * 1_000_000 + since_epoch.microseconds
    ) // tick_micros
