"""From the segments that a batch wrote to the answers that a client reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from functools import reduce
from itertools import groupby
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra import marks
from eddyline.algebra.answer import Answer, RelationAnswer, StixAnswer, TagAnswer, TagView, TupleAnswer, WindowAnswer
from eddyline.algebra.marks import KIND, MARKS, STIX
from eddyline.log.dealt import is_dealt
from eddyline.log.segment import BATCH, DIFF, INDEX, TICK, Segment
from eddyline.log.storage import Storage

#: of windows: a row that says that a window is there (or no longer), also if it is empty; the number of the window; and
#: the place of a row in one that is sorted. Of a query class: whose row it is
HEADER, NUMBER, RANK, QUERY = "_header", "_window", "_rank", "_query"
#: the index or iteration that a window is at, or the index of the tuple that a looked-up row was made for
PLACE = "_k0"
#: how the logs that a query class shares are named; those of queries are named after them
CLASS = "~class"
Values = tuple[Any, ...]


def is_shared(log: str) -> bool:
    """Whether members of a query class read a result log, each its own rows; that of an inner stage they do not."""
    return log.startswith(CLASS) and not is_inner(log)


def is_inner(log: str) -> bool:
    """Whether a result log is the stream of an inner stage, which further stages of the same query read."""
    return "/" in log


@dataclass(frozen=True)
class Seat:
    """A query's place in a query class: its number in the log that the members of the class share.

    It is answered from the window at tick `begin` on. Windows of the class are numbered by the ticks since it began;
    those at `at` and every `slide` ticks from there are the member's own, counted from its `start` on, or from where
    the class began. Where members began together, the windows of the class, with their numbers, are those of every one.
    """

    log: str
    number: int
    begin: int | None = None
    start: int | None = None
    slide: int | None = None  # None: its answers are no windows, or those of all members
    at: int = 0


@dataclass(frozen=True)
class Reading:
    """How to read the log of a query: what its rows are."""

    query: str
    kind: str  # windows, relation, or else a stream
    columns: tuple[str, ...]
    seat: Seat | None = None  # where it shares a log with others
    with_tags: bool = False  # whether marks stand behind the columns, and rows show them
    joins: bool = False  # whether a stix says which columns each tag is on

    @classmethod
    def of(cls, query: str, kind: str, columns: tuple[str, ...], seat: Seat | None, joins: bool) -> Reading:
        """How to read a log with these columns: what stands behind those of the query tells of tags."""
        if columns[-1:] == (KIND,):
            return cls(query, kind, columns[:-2], seat)
        if columns[-1:] == (MARKS,):
            return cls(query, kind, columns[:-1], seat, True, joins)
        return cls(query, kind, columns, seat)


def read_segments(
    storage: Storage, segments: Sequence[Segment], since: int = -1, seat: Seat | None = None, before: int | None = None
) -> pa.Table | None:
    """The rows of segments as one table, without those of batches up to a cursor; None if there are none.

    With a `seat`, those of one member of a query class: the log is in the order of members, so that little is read.
    With `before`, those of all members from it on that have numbers before that one.
    """
    tables = []
    for segment in segments:
        table = _as_of(_read(storage, segment.path, seat, before), segment)
        if segment.seq[0] <= since:  # merged from segments of several batches
            table = table.filter(pc.greater(table.column(BATCH), since))
        tables.append(table)
    table = pa.concat_tables(tables, promote_options="default") if tables else None
    if table is None or seat is None:
        return table
    return _of_member(table, seat) if before is None else _of_members(table, seat)


def read_batches(
    storage: Storage,
    segments: Sequence[Segment],
    batches: tuple[int, int],
    seat: Seat | None = None,
    rows: pc.Expression | None = None,
    columns: Sequence[str] | None = None,
) -> pa.Table | None:
    """The rows of a stretch of batches, both ends included, and of these only some; None if there are no segments.

    What is not asked for is not read, as far as the files can tell where it is. A `seat` is that of a member.
    """
    first, last = batches
    tables = []
    for segment in segments:
        if not (segment.seq[0] <= last and first <= segment.seq[1]):
            continue
        wanted = [] if rows is None else [rows]
        if not (first <= segment.seq[0] and segment.seq[1] <= last):  # merged from segments of several batches
            wanted.append((pc.field(BATCH) >= first) & (pc.field(BATCH) <= last))
        names = None if columns is None else [BATCH, *columns]
        condition = reduce(and_, wanted) if wanted else None
        tables.append(_as_of(_read(storage, segment.path, seat, None, names, condition), segment))
    table = pa.concat_tables(tables, promote_options="default") if tables else None
    return table if table is None or seat is None else _of_member(table, seat)


def _read(
    storage: Storage,
    path: str,
    seat: Seat | None,
    before: int | None,
    columns: list[str] | None = None,
    rows: pc.Expression | None = None,
) -> pa.Table:
    """The rows of a segment, or of these only some, and those of some members alone."""
    if is_dealt(path) and seat is not None:
        end = seat.number + 1 if before is None else before
        table = storage.read_dealt(path).table(None if rows is not None else columns, seat.number, end)
        return table if rows is None else table.filter(rows).select(columns or table.column_names)
    if seat is not None:
        own = _wanted(seat, before)
        rows = own if rows is None else rows & own
    return storage.read_table(path, columns, rows)


def _as_of(table: pa.Table, segment: Segment) -> pa.Table:
    """A segment of one batch counts as of that batch: a lane has written it, not knowing which one would commit it."""
    batch = committed_late(segment)
    return table if batch is None else with_batch(table, batch)


def committed_late(segment: Segment) -> int | None:
    """The batch that has committed a segment, if that is not the one its rows name, which is also in its name."""
    number = segment.path.rpartition("/")[2].partition("-")[0]
    return segment.seq[0] if number.isdigit() and int(number) != segment.seq[0] else None


def with_batch(table: pa.Table, batch: int) -> pa.Table:
    """The rows as those of one batch."""
    number = pa.repeat(pa.scalar(batch, pa.int64()), table.num_rows)
    return table.set_column(table.column_names.index(BATCH), BATCH, number)


def _wanted(seat: Seat, before: int | None) -> pc.Expression:
    number = pc.field(QUERY)
    if before is not None:
        return (number >= seat.number) & (number < before)
    return (number == seat.number) | number.is_null()


def _of_members(table: pa.Table, seat: Seat) -> pa.Table:
    """Members that began together: their rows without the windows that came before."""
    if HEADER not in table.column_names or seat.slide is None:
        return table
    tick = table.column(TICK).to_numpy()
    own = (tick - seat.at) % seat.slide == 0
    if seat.begin is not None:
        own &= tick >= seat.begin
    table = table.filter(pa.array(own))
    tick = table.column(TICK).to_numpy()
    start = tick - table.column(NUMBER).to_numpy() if seat.start is None else seat.start
    # the first window stands at the start rounded up
    numbers = (tick - seat.at) // seat.slide + ((seat.at - start) // seat.slide) + 1
    return table.set_column(table.column_names.index(NUMBER), NUMBER, pa.array(numbers, pa.int64()))


def _of_member(table: pa.Table, seat: Seat) -> pa.Table | None:
    """What a log of its own would have: the windows of the class that are also the member's, counted from its first."""
    table = _of_members(table, seat)
    if HEADER in table.column_names:
        table = pa.concat_tables([table, _headers_again(table)], promote_options="default")
    return table.drop_columns([QUERY]) if table.num_rows else None


def _headers_again(table: pa.Table) -> pa.Table:
    """The class says once that a window is there; where a member's rows were revised, it is there as before."""
    keys = [BATCH, NUMBER, TICK]
    groups = table.group_by(keys).aggregate([(HEADER, "max")])
    silent = groups.filter(pc.invert(groups.column(f"{HEADER}_max"))).select(keys)
    sides = [pa.array([sign] * silent.num_rows, pa.int8()) for sign in (-1, 1)]
    yes = pa.array([True] * silent.num_rows)
    return pa.concat_tables([silent.append_column(DIFF, side).append_column(HEADER, yes) for side in sides])


def batch_by_batch(
    storage: Storage, segments: Sequence[Segment], since: int = -1, seat: Seat | None = None
) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each batch after a cursor, as a table; what overlaps is read together, the rest when it is due."""
    for together in _overlapping(segments):
        table = read_segments(storage, together, since, seat)
        if table is None:
            continue
        if all(segment.seq == together[0].seq for segment in together) and together[0].seq[0] == together[0].seq[1]:
            yield together[0].seq[0], table
            continue
        for batch in pc.unique(table.column(BATCH)).sort().to_pylist():
            yield batch, table.filter(pc.equal(table.column(BATCH), batch))


def _overlapping(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Segments whose stretches of batches overlap, in the order of batches."""
    together: list[Segment] = []
    for segment in sorted(segments, key=lambda segment: segment.seq):
        if together and segment.seq[0] > max(other.seq[1] for other in together):
            yield together
            together = []
        together.append(segment)
    if together:
        yield together


def answers(shape: Reading, table: pa.Table, batch: int | None = None) -> Iterator[Answer]:
    """The answers of one batch, in the order of ticks and numbers; they know its number if it is given."""
    if shape.kind == "windows":
        yield from _windows(shape, table, batch)
    elif shape.kind == "relation":
        yield from _relation(shape, table, batch)
    elif shape.kind == "tags":
        yield from _told(shape, table, batch)
    else:
        yield from _tuples(shape, table, batch)


def _rows(shape: Reading, table: pa.Table) -> list[Values]:
    return python_rows(shape.columns, table)


def python_rows(names: Sequence[str], table: pa.Table) -> list[Values]:
    """Some columns of a table as tuples of Python values."""
    columns = [_python(table.column(name)) for name in names]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _python(column: pa.ChunkedArray) -> list[Any]:
    """Values as the reference engine holds them: times without a zone, lists as tuples, FLOAT with its own digits."""
    type_ = column.type
    if pa.types.is_timestamp(type_):
        return [None if v is None else v.astimezone(UTC).replace(tzinfo=None) for v in column.to_pylist()]
    if pa.types.is_float32(type_):
        shown = column.cast(pa.string()).to_pylist()
        return [None if text is None else float(text) for text in shown]
    if pa.types.is_list(type_):
        values = column.to_pylist()
        return [None if value is None else tuple(value) for value in values]
    return list(column.to_pylist())


class _Tags:
    """The tags that rows show, and their stixes; each different text is read once."""

    def __init__(self, shape: Reading, table: pa.Table) -> None:
        self._shown = shape.with_tags
        self._joins = shape.joins and shape.with_tags
        if not self._shown:
            return
        if MARKS not in table.column_names:  # of a class in which nobody showed any then
            table = table.append_column(MARKS, pa.nulls(table.num_rows, pa.string()))
        column = table.column(MARKS).combine_chunks().dictionary_encode()
        found = [marks.read(text) for text in column.dictionary.to_pylist()]
        self._views = [marks.views(each, shape.columns) for each in found]
        self._stixes = [marks.stix(each, len(shape.columns)) for each in found]
        self._places = column.indices.to_pylist()

    def of(self, place: int) -> tuple[TagView, ...] | None:
        if not self._shown:
            return None
        at = self._places[place]
        return () if at is None else self._views[at]

    def stix(self, place: int) -> str | None:
        at = self._places[place] if self._joins else None
        return None if at is None else self._stixes[at]

    def of_window(self, places: Sequence[int]) -> dict[str, Any]:
        """Those of the rows of a window, as its answer has them."""
        if not self._shown:
            return {}
        tags = tuple(self.of(place) or () for place in places)
        return {"tags": tags, "stix": tuple(map(self.stix, places)) if self._joins else None}


def _tuples(shape: Reading, table: pa.Table, batch: int | None) -> Iterator[Answer]:
    ordered = table.sort_by([(INDEX, "ascending"), (DIFF, "ascending")])
    rows, tags = _rows(shape, ordered), _Tags(shape, ordered)
    index, tick, diff = (ordered.column(name).to_pylist() for name in (INDEX, TICK, DIFF))
    said: list[TupleAnswer] = []

    def say(place: int, op: str, old: Values | None = None) -> None:
        about = tick[place], index[place], op, rows[place], old, tags.of(place), tags.stix(place), batch
        said.append(TupleAnswer(shape.query, *about))

    for _, places in groupby(range(len(rows)), key=lambda place: index[place]):
        gone, come = None, None
        for place in places:
            if diff[place] < 0:
                gone = place
            else:
                come = place
        if come is None:
            assert gone is not None
            say(gone, "-")
        elif gone is None:
            say(come, "+")
        else:
            say(come, "=", rows[gone])
    yield from sorted(said, key=lambda answer: answer.op == "+")  # corrections first, then what is new


def _told(shape: Reading, table: pa.Table, batch: int | None) -> Iterator[Answer]:
    """Tags where they stand in the stream, and the tuples behind them.

    What a query has made for a tuple is told once: a correction of the tuple that keeps it does not tell it again.
    """
    tuples = table.filter(pc.equal(table.column(KIND), "+"))
    by_index = {answer.index: answer for answer in _tuples(shape, tuples, batch) if isinstance(answer, TupleAnswer)}
    ordered = table.sort_by([(INDEX, "ascending"), (KIND, "descending"), (DIFF, "ascending")])
    known: set[tuple[int, str]] = set()
    said: list[tuple[int, Answer]] = []
    columns = (ordered.column(name).to_pylist() for name in (INDEX, TICK, DIFF, KIND, MARKS))
    for index, tick, diff, kind, text in zip(*columns, strict=True):
        if kind.startswith(STIX):
            said.append((index, StixAnswer(shape.query, tick, kind.removeprefix(STIX))))
        for mark in marks.read(text):
            made = mark.number, mark.tagger
            if diff < 0:
                known.add(made)
            elif not (mark.made and made in known):
                said.append((index, TagAnswer(shape.query, tick, mark.tick_tag)))
        if kind == "+" and index in by_index and (diff > 0 or by_index[index].op == "-"):
            said.append((index, by_index.pop(index)))
    yield from (answer for _, answer in said)


def _relation(shape: Reading, table: pa.Table, batch: int | None) -> Iterator[Answer]:
    ordered = table.sort_by([(TICK, "ascending"), (DIFF, "ascending")])
    tick, diff = (ordered.column(name).to_pylist() for name in (TICK, DIFF))
    tags = _Tags(shape, ordered)
    for place, (row, at, sign) in enumerate(zip(_rows(shape, ordered), tick, diff, strict=True)):
        yield RelationAnswer(shape.query, at, "+" if sign > 0 else "-", row, tags.of(place), batch)


def _windows(shape: Reading, table: pa.Table, batch: int | None) -> Iterator[Answer]:
    order = [(NUMBER, "ascending"), (DIFF, "ascending")]
    if RANK in table.column_names:
        order.append((RANK, "ascending"))
    ordered = table.sort_by(order)
    rows, tags = _rows(shape, ordered), _Tags(shape, ordered)
    number, tick, diff, header = (ordered.column(name).to_pylist() for name in (NUMBER, TICK, DIFF, HEADER))
    said: list[WindowAnswer] = []
    for window, places in groupby(range(len(rows)), key=lambda place: number[place]):
        here = list(places)
        sides = {sign: [p for p in here if diff[p] == sign] for sign in (-1, 1)}
        shown = {sign: tuple(rows[p] for p in side if not header[p]) for sign, side in sides.items()}
        heads = {sign: next((tick[p] for p in side if header[p]), None) for sign, side in sides.items()}
        answer = _window(shape.query, window, shown, heads)
        own = tags.of_window([p for p in sides[1] if not header[p]]) if answer.op != "-" else {}
        said.append(replace(answer, **own, batch=batch))
    yield from sorted(said, key=lambda answer: answer.op == "+")


def _window(query: str, number: int, rows: dict[int, tuple[Values, ...]], ticks: dict[int, int | None]) -> WindowAnswer:
    old, new = ticks[-1], ticks[1]
    if new is None:
        assert old is not None
        return WindowAnswer(query, old, number, "-", (), rows[-1])
    if old is None:
        return WindowAnswer(query, new, number, "+", rows[1])
    return WindowAnswer(query, new, number, "=", rows[1], rows[-1], None if old == new else old)
