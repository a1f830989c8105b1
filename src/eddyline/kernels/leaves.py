"""What the names of leaves stand for in a kernel, kept from one work of a task to the next.

Works of one task mostly read the same few segments under the same names: they are opened once for all of them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import duckdb
import pyarrow as pa

from eddyline.algebra.marks import KIND, MARKS
from eddyline.kernels.matching import Match
from eddyline.kernels.one_filter import Place, Shared, found_together
from eddyline.kernels.together import Together
from eddyline.log.linked import TUPLE, Linked, linked
from eddyline.log.referred import MOMENT, NUMBER, InPlace, Referred, referred
from eddyline.log.segment import BATCH, DIFF, INDEX, OP, REF, SEQ, TAG, TICK
from eddyline.log.storage import Storage, is_own

#: what the kernel would take for a pattern in a path
_PATTERN = re.compile(r"[*?\[]")
#: how the kernel calls the number of a row in its file, from 0
_NUMBER = "file_row_number"
_FLOATING = {pa.float32(): "FLOAT", pa.float64(): "DOUBLE"}
#: behind the name of a leaf: those of its segments that are files of ours, if that needs a name
_OWN = "_own"


class Leaves:
    """The segments that a kernel knows by name."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self._opened: dict[str, tuple[str, bool, tuple[str, ...]]] = {}  # by name: the root, whether read, the files
        self._read: dict[tuple[str, tuple[str, ...]], pa.Table] = {}
        self._parted: set[str] = set()  # names whose segments of ours have a name of their own
        self._tables: dict[str, bool] = {}  # that are shared, and whether they could be made
        self._matched: dict[str, Shared | None] = {}  # by shared filter, what it has found
        self._cost = 0.0  # seconds that this took, for each of those who share it
        self._for_others = 0.0  # seconds that the work at hand has spent for others, less what these have spent for it

    def open(self, name: str, files: Sequence[str], storage: Storage, few: bool) -> None:
        """Let a name stand for the rows of segments; `few`: they are read at once, for all works that want them."""
        wanted = storage.root, few, tuple(files)
        if self._opened.get(name) == wanted:
            return
        self.make_room([name])
        if few:
            self.connection.register(name, self._rows(tuple(files), storage))
        else:
            self._view(name, files, storage)
        self._opened[name] = wanted

    def has(self, shared: Together, storage: Storage) -> bool:
        """Whether there is a table that works share; it is made for the first. What fails there may be another's."""
        if shared.table not in self._tables:
            try:
                if shared.files:
                    self.open(shared.leaf, shared.files, storage, False)
                self.connection.execute(shared.creation)
                self._tables[shared.table] = shared.most is None or self._rows_of(shared.table) <= shared.most
            except duckdb.Error:
                self._tables[shared.table] = False
        return self._tables[shared.table]

    def _rows_of(self, table: str) -> int:
        ((count,),) = self.connection.execute(f"SELECT count(*) FROM {table}").fetchall()
        return int(count)

    def matched(self, place: Place, match: Match, storage: Storage) -> Iterator[tuple[str, pa.Table]] | None:
        """What a filter that works share has found for one of them; it is asked for the first. None: not this time."""
        shared = place.shared
        if shared.name not in self._matched:
            assert match.reading is not None
            self._matched.clear()  # works that share follow each other
            began = time.process_time()
            self._matched[shared.name] = found_together(shared, match.reading, self.connection, storage)
            seconds = time.process_time() - began
            self._cost = seconds / len(shared.matches)
            self._for_others += seconds
        self._for_others -= self._cost
        found = self._matched[shared.name]
        return None if found is None else found.tables(place.number, match)

    def spent_for_others(self) -> float:
        """Seconds of the work that has just been done which are theirs; less than 0: they have spent some for it."""
        seconds, self._for_others = self._for_others, 0.0
        return seconds

    def make_room(self, names: Iterable[str]) -> None:
        """Names that are going to stand for something else: the kernel does not replace all kinds of views."""
        self.drop([name for name in names if name in self._opened])

    def drop(self, names: Iterable[str]) -> None:
        """Names that stand for nothing any more."""
        for name in names:
            self._opened.pop(name, None)
            self.connection.execute(f"DROP VIEW IF EXISTS {name}")
            if name in self._parted:
                self._parted.remove(name)
                self.connection.execute(f"DROP VIEW IF EXISTS {name}{_OWN}")

    def close(self) -> None:
        self.drop(list(self._opened))
        self._read.clear()
        self._matched.clear()
        for table in self._tables:
            self.connection.execute(f"DROP TABLE IF EXISTS {table}")
        self._tables.clear()

    def _rows(self, files: tuple[str, ...], storage: Storage) -> pa.Table:
        key = storage.root, files
        if key not in self._read:
            self._read[key] = storage.read_tables(files)
        return self._read[key]

    def _view(self, name: str, files: Sequence[str], storage: Storage) -> None:
        """The kernel reads local files itself, twice as fast as Arrow's dataset; others it could not reach without."""
        others = [rows for file in files if (rows := _rows_of(file, storage)) is not None]
        own = [storage.path(file) for file in files if is_own(file)]
        if own and not (storage.local and not any(_PATTERN.search(path) for path in own)):
            dataset = f"{name}{_OWN}" if others else name
            self._parted.update([name] if others else [])
            self.connection.register(dataset, storage.dataset(own))
            parts = [dataset]
        else:
            parts = [f"read_parquet([{', '.join(map(_quoted, own))}])"] if own else []
        parts += [f"({rows})" for rows in others]
        if parts != [name]:
            together = " UNION ALL BY NAME ".join(f"FROM {part}" for part in parts)
            self.connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {together}")


def _rows_of(file: str, storage: Storage) -> str | None:
    """A statement that gives the rows of a segment which is no file with just these; None if it is one."""
    elsewhere, same = referred(file), linked(file)
    if elsewhere is not None:
        return rows_of(elsewhere)
    return None if same is None else _answers_of(same, storage)


def _answers_of(segment: Linked, storage: Storage) -> str:
    """Rows of a stream as answers, with the tags of those that have some."""
    ours = {BATCH: f"{segment.batch}::BIGINT", KIND: f"'{TUPLE}'", MARKS: "NULL::VARCHAR"}
    if segment.some:
        ours[MARKS] = f'tags."{MARKS}"'
    names = segment.names(storage.schema_of(segment.path).names)
    columns = [f"{ours[name]} AS {_name(name)}" if name in ours else f"answers.{_name(name)}" for name in names]
    from_ = f"{_read(storage.path(segment.path))} AS answers"
    if segment.some:
        from_ += f" LEFT JOIN {_read(storage.path(segment.tags))} AS tags USING ({INDEX})"
    return f"SELECT {', '.join(columns)} FROM {from_}"


def _read(path: str, options: str = "") -> str:
    """One file, although its path may look like a pattern."""
    return f"read_parquet({_quoted(_PATTERN.sub(lambda found: f'[{found[0]}]', path))}{options})"


def rows_of(rows: Referred) -> str:
    """A statement that gives rows of a file of the user's as those of any other segment."""
    rows.check()
    place, number = rows.rows, _NUMBER
    columns = [
        f"{number} + {rows.seq - place.start} AS {SEQ}",
        f"{number} + {rows.index - place.start} AS {INDEX}",
        f"{_tick(place)} AS {TICK}",
        f"1::TINYINT AS {DIFF}, '+' AS {OP}, NULL::BIGINT AS {REF}, NULL::VARCHAR AS {TAG}",
    ]
    where = f"{number} >= {place.start} AND {number} < {place.start + place.rows}"
    theirs = f"* EXCLUDE ({number}){_as_may_be_nan(place)}"
    return f"SELECT {', '.join(columns)}, {theirs} FROM {_read(place.file, f', {number} = true')} WHERE {where}"


@lru_cache(maxsize=1_000)
def _as_may_be_nan(place: InPlace) -> str:
    """Columns of floating numbers in a way that the kernel does not take the bounds in the file for theirs: these leave
    NaN out. It would not find one above all numbers, and not ask whether all are below what all numbers are below."""
    made = [
        f"CASE WHEN isnan({_name(f.name)}) THEN 'nan'::{_FLOATING[f.type]} ELSE {_name(f.name)} END AS {_name(f.name)}"
        for f in place.schema()
        if f.type in _FLOATING
    ]
    return f" REPLACE ({', '.join(made)})" if made else ""


def _tick(place: InPlace) -> str:
    time = _name(place.time)
    if place.kind == NUMBER:
        return f"{time}::BIGINT"
    micros = f"epoch_us({time})" if place.kind == MOMENT else f"epoch_us({time}::TIMESTAMP)"
    return f"({micros} - ({micros} % {place.micros} + {place.micros}) % {place.micros}) // {place.micros}"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"
