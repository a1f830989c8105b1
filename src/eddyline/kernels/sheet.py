"""The work of a stage as one SQL statement, put together step by step.

A frame has the methods of Spark's DataFrame that the evaluation uses, under the same names, so that one evaluation
serves both. Each step is a named part of the statement; a part that several others use is computed once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import pyarrow as pa

from eddyline.algebra.user_function import UserFunction
from eddyline.kernels.costly import Costly
from eddyline.kernels.dialect import kernel_sql
from eddyline.kernels.direct import Reading
from eddyline.kernels.late import LateCall, by_name
from eddyline.kernels.matching import Asked, Filter, Match
from eddyline.kernels.selecting import Selection
from eddyline.kernels.together import LEAF, SLICES, TICKS, Cuts, Grouping, Pattern
from eddyline.log.segment import TICK

#: texts that only name, cast or repeat: a column, `CAST(_diff AS TINYINT) AS _diff`, `5L AS _batch`
_COLUMN = re.compile(r"[`\"]?(\w+)[`\"]?(?: AS \w+)?")
_CAST = re.compile(r"CAST\((_\w+) AS \w+\) AS _\w+")
_CONSTANT = re.compile(r"(\d+)L AS \w+")
#: what the columns of a frame are: columns of a leaf, by name, or constants
Sources = tuple[str | int, ...]
#: where a tuple stands, under the name of a column
_PLACE = re.compile(r"(?:_tick|_index) AS c\d+")
_LEAF = re.compile(r"\bleaf\d+\b")
_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}
_CHOOSING = {"left_semi": "SEMI JOIN", "left_anti": "ANTI JOIN"}


@dataclass
class Sheet:
    """What a statement is made of. `files` and `tables` are what the task binds its leaves to."""

    files: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by leaf, the segments to open
    tables: dict[str, pa.Table] = field(default_factory=dict)  # by leaf, rows that come with the work
    found: list[Match | Selection] = field(default_factory=list)  # leaves that are found before the statement runs
    slices: list[_Slices] = field(default_factory=list)  # groupings that others may have too
    _parts: int = 0
    _leaves: int = 0

    def read(self, paths: Sequence[str], fields: Mapping[str, str], columns: Sequence[str]) -> Frame:
        """Rows of segments: the columns they have with their types in Spark, and what is made of them."""
        if not paths:
            return self.empty(fields).selectExpr(*columns)
        leaf = self._new_leaf()
        self.files[leaf] = tuple(paths)
        return self._rows_of(leaf, list(fields)).selectExpr(*columns)

    def range(self, low: int, end: int, step: int = 1) -> Frame:
        """low, low + step, … below end, as `id`."""
        return Frame(self, f"SELECT UNNEST(RANGE({low}, {end}, {step})) AS id", ["id"], ())

    def empty(self, fields: Mapping[str, str]) -> Frame:
        columns = [kernel_sql(f"CAST(NULL AS {type_}) AS {_quoted(name)}")[0] for name, type_ in fields.items()]
        return Frame(self, f"SELECT {', '.join(columns)} WHERE false", list(fields), ())

    def table(self, rows: pa.Table) -> Frame:
        leaf = self._new_leaf()
        self.tables[leaf] = rows
        return self._rows_of(leaf, rows.column_names)

    def matched(
        self, frame: Frame, asked: Sequence[Matched], costly: Mapping[str, Costly], kept: Sequence[str], number: str
    ) -> list[Frame]:
        """The rows of a frame that members want, and of them the columns that are kept; `number` tells which."""
        leaves = [Asked(self._new_leaf(), each.name, each.filter, each.columns) for each in asked]
        reading = self._reading(frame)
        self.found.append(Match(frame.statement(), tuple(leaves), tuple(kept), number, costly, reading))
        columns = [*kept, number]
        return [self._rows_of(a.leaf, columns, {a.leaf: tuple(columns)}) for a in leaves]

    def selected(self, frame: Frame, name: str, conditions: Mapping[str, Costly], kept: Sequence[str]) -> Frame:
        """The rows that satisfy all conditions, each of which costs much, and of them the columns that are kept."""
        leaf = self._new_leaf()
        self.found.append(Selection(leaf, name, frame.statement(), conditions, tuple(kept)))
        return self._rows_of(leaf, list(kept), {leaf: tuple(kept)})

    def _rows_of(self, leaf: str, columns: list[str], plain: Mapping[str, Sources] | None = None) -> Frame:
        return Frame(self, _Choice(leaf, columns, whole=True), columns, (), plain)

    def grouping(self, last: Frame) -> Grouping | None:
        """What of a statement others may have too; None if there is nothing, or if it was found for this one alone."""
        if len(self.slices) != 1 or self.found:
            return None
        (slices,) = self.slices
        rows = slices.rows.statement()
        leaves = dict.fromkeys(_LEAF.findall(rows))
        if not all(leaf in self.files for leaf in leaves):
            return None
        texts = [sql.removesuffix(f" AS {name}") for sql, name in slices.aggregates]
        keys = tuple(map(_quoted_column, slices.keys))
        pattern = self._pattern(rows, list(leaves), slices.cuts)
        made = Grouping.of(rows, [self.files[leaf] for leaf in leaves], keys, texts, pattern)
        columns = [
            f"{made.aggregates[text]} AS {name}" for text, (_, name) in zip(texts, slices.aggregates, strict=True)
        ]
        over = f"SELECT {', '.join([*keys, *columns])} FROM {made.table}"
        return replace(made, statement=last.statement({slices.groups: over}))

    def _pattern(self, rows: str, leaves: Sequence[str], cuts: Cuts | None) -> Pattern | None:
        """A statement whose slices and ticks could be others; None if it has none, or has them in a way of its own."""
        if cuts is None or len(leaves) != 1:
            return None
        (leaf,) = leaves
        slice_, ticks = kernel_sql(cuts.slice(TICK))[0], kernel_sql(cuts.ticks)[0]
        if rows.count(slice_) != 1 or rows.count(ticks) != 1:
            return None
        text = _LEAF.sub(LEAF, rows.replace(slice_, SLICES).replace(ticks, TICKS))
        return Pattern(text, leaf, self.files[leaf], Cuts(cuts.at, ticks))

    def _reading(self, frame: Frame) -> Reading | None:
        """A frame as expressions over rows of segments of which some are left out; None if it is more than that."""
        if not isinstance(frame._sql, _Step) or not frame._sql.is_by_row:
            return None
        columns = dict(zip(frame.columns, frame._sql.items, strict=True))
        conditions: list[str] = []
        added: list[str] = []
        while frame._inputs:
            (frame, *more), step = frame._inputs, frame._sql
            rows = frame._sql
            if isinstance(rows, _Choice) and isinstance(step, _Step) and rows.source in self.files:
                condition = " AND ".join(reversed(conditions)) or "true"
                return Reading(rows.source, self.files[rows.source], step.items, tuple(added), columns, condition)
            if more or not isinstance(rows, _Step):
                return None
            if rows.chosen is not None:
                conditions += [] if rows.condition is None else [f"({rows.condition})"]
            elif not rows.is_by_row:
                return None
            elif not isinstance(frame._inputs[0]._sql, _Choice):  # above the names of the columns
                named = [item for item, name in zip(rows.items, frame.columns, strict=True) if item != name]
                if not all(map(_PLACE.fullmatch, named)):
                    return None
                added += named
        return None

    def _new_leaf(self) -> str:
        self._leaves += 1
        return f"leaf{self._leaves - 1}"

    def new_name(self) -> str:
        self._parts += 1
        return f"f{self._parts}"


@dataclass(frozen=True)
class _Slices:
    """Rows that are grouped, and the groups."""

    rows: Frame
    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, str], ...]  # texts and names
    groups: Frame
    cuts: Cuts | None


@dataclass(frozen=True)
class Matched:
    """What the members of one form are found by: a filter, and the columns that its attributes are."""

    name: str
    filter: Filter
    columns: Mapping[str, str]


@dataclass(frozen=True)
class _Choice:
    """Some columns and rows of a named part, as they are there."""

    source: str
    columns: Sequence[str]
    conditions: tuple[str, ...] = ()
    whole: bool = False  # whether it has all columns


@dataclass(frozen=True)
class _Step:
    """A SELECT over one other part. Steps that only choose are taken into the next one.

    Reading, binding and optimizing a statement takes longer with every part, and longer than to compute it on few rows.
    """

    items: tuple[str, ...]
    chosen: tuple[str, ...] | None  # the columns, if that is all it says of them; `*` for all
    head: str = "SELECT"
    condition: str | None = None
    behind: str = ""

    @property
    def is_by_row(self) -> bool:
        """Whether it says what the columns are, and nothing else."""
        return self.head == "SELECT" and self.condition is None and not self.behind and "*" not in self.items

    def all_items(self, below: Sequence[str]) -> list[str]:
        """What each column is."""
        return [each for item in self.items for each in (map(_quoted_column, below) if item == "*" else (item,))]

    def sql(self, below: _Choice) -> str:
        items = ", ".join(_list(below.columns) if item == "*" and not below.whole else item for item in self.items)
        conditions = self._conditions(below)
        where = f" WHERE {' AND '.join(f'({each})' for each in conditions)}" if conditions else ""
        return f"{self.head} {items} FROM {below.source}{where}{self.behind}"

    def choice(self, below: _Choice) -> _Choice | None:
        """What it chooses; None if it does more than that."""
        if self.chosen is None:
            return None
        columns = [c for name in self.chosen for c in (below.columns if name == "*" else (name,))]
        return _Choice(below.source, columns, self._conditions(below), below.whole and self.chosen == ("*",))

    def _conditions(self, below: _Choice) -> tuple[str, ...]:
        return below.conditions if self.condition is None else (*below.conditions, self.condition)


class Frame:
    """A part of the statement: rows with known columns."""

    def __init__(
        self,
        sheet: Sheet,
        sql: str | _Step | _Choice,
        columns: list[str],
        inputs: tuple[Frame, ...],
        plain: Mapping[str, Sources] | None = None,
        by_name: bool = False,
    ) -> None:
        self._sheet, self._sql, self._inputs = sheet, sql, inputs
        self._by_name = by_name  # whether it has the rows of its inputs, with the columns of the same names
        self.columns = columns
        #: by leaf that the rows come from, what the columns are; None if rows are not those of leaves as they are
        self.plain = plain
        self._name = sheet.new_name()

    def with_late(self, column: int, functions: Iterable[UserFunction]) -> tuple[str, LateCall] | None:
        """The statement without a call of one of these functions, and the call, if what it gives is a column of this
        frame and nothing else."""
        called, uses = by_name(functions), dict[Frame, int]()
        _in_order(self, uses, ())
        frame: Frame | None = self
        name = self.columns[column]
        while frame is not None and (frame is self or uses[frame] == 1):
            if not isinstance(frame._sql, _Step):
                having = [below for below in frame._inputs if name in below.columns] if frame._by_name else []
                frame = having[0] if len(having) == 1 else None
                continue
            step, (below,) = frame._sql, frame._inputs
            if step.head != "SELECT" or step.behind:
                return None
            items = step.all_items(below.columns)
            place = frame.columns.index(name)
            late = LateCall.of(items[place], called)
            if late is not None:
                call, items[place] = late
                return self._statement({}, {frame: replace(step, items=tuple(items))}), replace(call, column=column)
            source = _COLUMN.fullmatch(items.pop(place))
            if source is None or any(re.search(rf"\b{source[1]}\b", text) for text in (*items, step.condition or "")):
                return None
            frame, name = below, source[1]
        return None

    def statement(self, given: Mapping[Frame, str] = MappingProxyType({})) -> str:
        """The whole statement that gives the rows of this frame; of some frames it is `given` where they come from."""
        return self._statement(given, {})

    def _statement(self, given: Mapping[Frame, str], instead: Mapping[Frame, _Step]) -> str:
        uses: dict[Frame, int] = {}
        # what is used twice is computed once; what is used once melts into its user, down to what is read from files
        written: dict[Frame, str] = {}
        choices: dict[Frame, _Choice] = {}  # by frame, what is left of one that a single user may take into its own
        for frame in _in_order(self, uses, given):
            step = given.get(frame) or instead.get(frame) or frame._sql
            if isinstance(step, str):
                written[frame] = step
                continue
            if isinstance(step, _Choice):
                written[frame], choices[frame] = f"SELECT * FROM {step.source}", step
                continue
            (below,) = frame._inputs
            choice = choices.get(below) if uses[below] == 1 else None
            if choice is None:
                choice = _Choice(below._name, below.columns, whole=True)
            else:
                del written[below]
            written[frame] = step.sql(choice)
            taken = step.choice(choice)
            if taken is not None:
                choices[frame] = taken
        last = written.pop(self)
        parts = [f"{f._name} AS {'' if uses[f] > 1 else 'NOT '}MATERIALIZED ({sql})" for f, sql in written.items()]
        return f"WITH {', '.join(parts)} {last}" if parts else last

    # -- as a DataFrame has them --------------------------------------------------------------------------------------

    def selectExpr(self, *texts: str) -> Frame:
        written, names = [], []
        for text in texts:
            if text == "*":
                written.append("*")
                names += self.columns
            else:
                sql, name = kernel_sql(text)
                written.append(sql)
                names.append(name)
        plain = None if self.plain is None else {leaf: self._named(texts, leaf) for leaf in self.plain}
        made = self._made(_Step(tuple(written), self._as_they_are(texts)), names)
        if plain is not None and all(sources is not None for sources in plain.values()):
            made.plain = {leaf: sources for leaf, sources in plain.items() if sources is not None}
        return made

    def _as_they_are(self, texts: Sequence[str]) -> tuple[str, ...] | None:
        """The columns that texts name, if they do nothing else."""
        names = tuple(text.strip("`") for text in texts)
        return names if all(name == "*" or name in self.columns for name in names) else None

    def _named(self, texts: Sequence[str], leaf: str) -> Sources | None:
        """What texts are of a leaf, if they compute nothing."""
        assert self.plain is not None
        known = dict(zip(self.columns, self.plain[leaf], strict=True))
        found: list[str | int] = []
        for text in texts:
            constant, column = _CONSTANT.fullmatch(text), _COLUMN.fullmatch(text) or _CAST.fullmatch(text)
            if constant is not None:
                found.append(int(constant[1]))
            elif column is not None and column[1] in known:
                found.append(known[column[1]])
            else:
                return None
        return tuple(found)

    def select(self, *columns: str) -> Frame:
        return self._made(_Step(tuple(map(_quoted_column, columns)), tuple(columns)), list(columns))

    def where(self, condition: str) -> Frame:
        return self._made(_Step(("*",), ("*",), condition=kernel_sql(condition)[0]), self.columns)

    def drop(self, *columns: str) -> Frame:
        return self.select(*(column for column in self.columns if column not in columns))

    def distinct(self) -> Frame:
        return self._made(_Step(("*",), None, "SELECT DISTINCT"), self.columns)

    def unionAll(self, other: Frame) -> Frame:
        sql = f"SELECT * FROM {self._name} UNION ALL SELECT * FROM {other._name}"
        apart = self.plain is not None and other.plain is not None and not self.plain.keys() & other.plain.keys()
        plain = {**(self.plain or {}), **(other.plain or {})} if apart else None
        return Frame(self._sheet, sql, self.columns, (self, other), plain)

    def unionByName(self, other: Frame, allowMissingColumns: bool = False) -> Frame:
        columns = [*self.columns, *(column for column in other.columns if column not in self.columns)]
        sides = []
        for side in (self, other):
            assert allowMissingColumns or len(side.columns) == len(columns)
            chosen = [_quoted_column(c) if c in side.columns else f"NULL AS {_quoted_column(c)}" for c in columns]
            sides.append(f"SELECT {', '.join(chosen)} FROM {side._name}")
        return Frame(self._sheet, " UNION ALL ".join(sides), columns, (self, other), by_name=True)

    def join(self, other: Frame, on: str | Sequence[str], how: str = "inner") -> Frame:
        keys = [on] if isinstance(on, str) else list(on)
        using = f"USING ({_list(keys)})"
        if how in _CHOOSING:
            sql = f"SELECT * FROM {self._name} {_CHOOSING[how]} {other._name} {using}"
            return Frame(self._sheet, sql, self.columns, (self, other))
        columns = [*keys, *(c for c in (*self.columns, *other.columns) if c not in keys)]
        sql = f"SELECT {_list(columns)} FROM {self._name} {_JOINS[how]} {other._name} {using}"
        return Frame(self._sheet, sql, columns, (self, other))

    def crossJoin(self, other: Frame) -> Frame:
        sql = f"SELECT * FROM {self._name} CROSS JOIN {other._name}"
        return Frame(self._sheet, sql, [*self.columns, *other.columns], (self, other))

    # -- what a DataFrame has in other words --------------------------------------------------------------------------

    def grouped(self, keys: Sequence[str], aggregates: Sequence[str]) -> Frame:
        made = [kernel_sql(text) for text in aggregates]
        head = [_quoted_column(key) for key in keys]
        group = f" GROUP BY {', '.join(head)}" if head else ""
        step = _Step((*head, *(sql for sql, _ in made)), None, behind=group)
        return self._made(step, [*keys, *(name for _, name in made)])

    def sliced(self, keys: Sequence[str], aggregates: Sequence[str], cuts: Cuts | None = None) -> Frame:
        """The same, of slices that other works may need too; `cuts`: where slices of time begin."""
        groups = self.grouped(keys, aggregates)
        texts = tuple(kernel_sql(text) for text in aggregates)
        self._sheet.slices.append(_Slices(self, tuple(keys), texts, groups, cuts))
        return groups

    def joined(self, other: Frame, condition: str, how: str = "inner") -> Frame:
        sql = f"SELECT * FROM {self._name} {_JOINS[how]} {other._name} ON {kernel_sql(condition)[0]}"
        return Frame(self._sheet, sql, [*self.columns, *other.columns], (self, other))

    def matched(
        self, asked: Sequence[Matched], costly: Mapping[str, Costly], kept: Sequence[str], number: str
    ) -> list[Frame]:
        return self._sheet.matched(self, asked, costly, kept, number)

    def selected(self, name: str, conditions: Mapping[str, Costly], kept: Sequence[str]) -> Frame:
        return self._sheet.selected(self, name, conditions, kept)

    def _made(self, step: _Step, columns: list[str]) -> Frame:
        return Frame(self._sheet, step, columns, (self,))


def _in_order(last: Frame, uses: dict[Frame, int], given: Collection[Frame]) -> list[Frame]:
    """All frames that one is made of, each after its inputs; counts how often each is used."""
    order: list[Frame] = []
    waiting = [(last, False)]
    while waiting:
        frame, done = waiting.pop()
        if done:
            order.append(frame)
        elif frame not in uses:
            uses[frame] = 0
            waiting.append((frame, True))
            waiting += [(source, False) for source in reversed(frame._inputs) if frame not in given]
    for frame in order:
        for source in () if frame in given else frame._inputs:
            uses[source] += 1
    return order


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _quoted_column(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(_quoted_column, names))
