"""The grouped filter itself."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eddyline.kernels.grouped.access import Access
from eddyline.kernels.grouped.alternative import Alternative, Found
from eddyline.kernels.grouped.batch import Batch
from eddyline.kernels.grouped.boxes import Bounds, Constants, boxes_of, coders_of, merged, types_of
from eddyline.kernels.grouped.codes import Bools
from eddyline.kernels.grouped.form import Form
from eddyline.kernels.grouped.loops import Ints, ShortInts, drop_repeated, radix_sorted, unpack
from eddyline.kernels.grouped.possible import Possible

#: of a batch for which nothing is known, so many tuples are tried first
_FIRST_PIECE = 1 << 16


@dataclass(frozen=True)
class Matches:
    """Pairs of a tuple and a member whose predicate is true for it, each once, by member and then by row."""

    rows: Ints  # places of tuples in the table they were found in
    members: Ints  # ids

    def __len__(self) -> int:
        return int(self.rows.size)


@dataclass(frozen=True)
class Shares:
    """What members want, without the pairs: rows in an order in which those of each member stand beside each other."""

    rows: ShortInts  # places of tuples; those that nobody wants may be left out
    members: Ints  # ids, ascending, of those who want any
    starts: ShortInts  # where the rows of each begin …
    ends: ShortInts  # … and end

    def __len__(self) -> int:
        """The number of pairs."""
        return int((self.ends - self.starts).sum(dtype=np.int64))


@dataclass
class Statistics:
    """What a filter has done so far. Candidates are the members that a tuple was compared with one by one."""

    tuples: int = 0
    candidates: int = 0
    pairs: int = 0
    seconds: float = 0.0

    def add(self, tuples: int, candidates: int, pairs: int, seconds: float) -> None:
        self.tuples += tuples
        self.candidates += candidates
        self.pairs += pairs
        self.seconds += seconds


@dataclass(frozen=True)
class Advice:
    """Which attributes to find members by, judged by the tuples seen so far."""

    access: tuple[Access, ...]  # by alternative that can be true
    now: float  # candidates of a tuple
    then: float  # the same if the advice is followed


@dataclass(frozen=True)
class Part:
    """Members whose predicates have one form: a row of constants and an id for each."""

    form: Form
    members: pa.Table
    ids: pa.Array

    def __post_init__(self) -> None:
        if len(self.ids) != self.members.num_rows and self.members.num_columns:  # without columns there are no rows
            raise ValueError(f"{self.members.num_rows} members have {len(self.ids)} ids")


class GroupedFilter:
    """Finds all pairs of a tuple and a member for which a form's predicate, with the member's constants, is true."""

    def __init__(self, form: Form, members: pa.Table, ids: pa.Array, schema: pa.Schema | None = None) -> None:
        """The schema of the tuples is needed only to give Python constants of attributes without parameters a type.

        Members with the same id count as one: it is matched where any of them is (as for symbol IN (…)).
        """
        self._take([Part(form, members, ids)], schema)

    @classmethod
    def of_several(cls, parts: Sequence[Part], schema: pa.Schema | None = None) -> GroupedFilter:
        """One filter for members of several forms: a tuple is looked up once for all that ask for it alike."""
        made = cls.__new__(cls)
        made._take(parts, schema)
        return made

    def _take(self, parts: Sequence[Part], schema: pa.Schema | None) -> None:
        ids = [np.asarray(part.ids.to_numpy(zero_copy_only=False), np.int64) for part in parts]
        self._ids, ranks = np.unique(np.concatenate(ids), return_inverse=True)
        ends = np.cumsum([some.size for some in ids])
        constants = [Constants(p.members, len(p.ids), types_of(p.form, p.members, schema), p.form) for p in parts]
        self._coders = coders_of(constants)
        boxes = []
        for part, known, of_part in zip(parts, constants, np.split(ranks, ends[:-1]), strict=True):
            bounds = Bounds(known, self._coders)
            boxes += [boxes_of(alternative, bounds, of_part) for alternative in part.form.alternatives]
        self._alternatives = [Alternative(each) for each in merged(boxes)]
        several = any(len(part.form.alternatives) > 1 for part in parts)
        self._may_repeat = several or self._ids.size < ranks.size
        self._possible = [Possible(alternative.boxes) for alternative in self._alternatives]
        self.statistics = Statistics()

    @property
    def access(self) -> tuple[Access, ...]:
        """By alternative that can be true, what members are found by besides equality."""
        return tuple(alternative.access for alternative in self._alternatives)

    @property
    def bytes(self) -> int:
        """The size of the indexes."""
        return sum(alternative.bytes for alternative in self._alternatives)

    def matches(self, tuples: pa.Table) -> Matches:
        """All pairs at once: they must fit into memory, at 32 bytes each."""
        matches = self._matches(tuples, None)
        assert matches is not None
        return matches

    def matches_in_pieces(self, tuples: pa.Table, most_pairs: int) -> Iterator[Matches]:
        """The pairs of some tuples after those of others, at most so many in a piece unless it is of a single tuple.

        Rows are those of the whole table. Pieces without pairs are left out.
        """
        begin, rows = 0, self._rows_for(most_pairs)
        while begin < tuples.num_rows:
            rows = max(1, min(rows, tuples.num_rows - begin))
            piece = self._matches(tuples.slice(begin, rows), most_pairs if rows > 1 else None)
            if piece is None:  # how many it would have been is not known
                rows //= 4
                continue
            if len(piece):
                yield Matches(piece.rows + begin, piece.members)
            begin += rows
            rows = min(4 * rows, int(0.9 * rows * most_pairs / max(len(piece), 1)))

    @property
    def has_many(self) -> bool:
        """Whether tuples so far were wanted by one member or more, on average."""
        return 0 < self.statistics.tuples <= self.statistics.pairs

    def shares(self, tuples: pa.Table) -> Shares | None:
        """All that members want, in time that does not depend on how many want a tuple.

        None if that cannot be: it takes members of whom each wants one range of one attribute, and one value of others.
        """
        if len(self._alternatives) != 1 or self._may_repeat:
            return None
        began = time.perf_counter()
        (alternative,) = self._alternatives
        spans = alternative.spans(Batch(tuples, self._coders))
        if spans is None:
            return None
        order = np.argsort(alternative.boxes.members)
        order = order[(spans.starts < spans.ends)[order]]
        ids = self._ids[alternative.boxes.members[order]]
        found = Shares(spans.rows, ids, spans.starts[order], spans.ends[order])
        self.statistics.add(tuples.num_rows, len(found), len(found), time.perf_counter() - began)
        return found

    def _rows_for(self, most_pairs: int) -> int:
        seen = self.statistics
        return int(0.9 * most_pairs * seen.tuples / seen.pairs) if seen.pairs else _FIRST_PIECE

    def _matches(self, tuples: pa.Table, most: int | None) -> Matches | None:
        began = time.perf_counter()
        batch = Batch(tuples, self._coders)
        shift = max(1, batch.size.bit_length())
        found = Found(shift, self._room(batch.size), most)
        for number, alternative in enumerate(self._alternatives):
            if number and found.tally[0]:
                found.by_row = False
            if not alternative.find(batch, found):
                return None
        pairs, members = self._sorted(found)
        unpack(pairs, shift, self._ids, members)
        self.statistics.add(batch.size, int(found.tally[1]), pairs.size, time.perf_counter() - began)
        return Matches(pairs, members)

    def _room(self, tuples: int) -> int:
        """For so many pairs that it will be enough, most likely. Memory that is never written to costs nothing."""
        seen = self.statistics
        return 1024 + tuples * max(8, int(1.5 * seen.pairs / max(seen.tuples, 1)))

    def _sorted(self, found: Found) -> tuple[Ints, Ints]:
        """The keys by member and then by row, and as much memory that is free."""
        member_bits = int(max(self._ids.size - 1, 0)).bit_length()
        keys = found.keys[: found.tally[0]]
        keys, free = radix_sorted(keys, found.shift if found.by_row else 0, found.shift + member_bits)
        count = drop_repeated(keys) if self._may_repeat else keys.size
        return keys[:count], free[:count]

    # -- when not all attributes are known yet ------------------------------------------------------------------------

    @property
    def alternatives(self) -> int:
        """How many of the form's alternatives can be true."""
        return len(self._alternatives)

    def asks_for(self, attribute: str) -> Bools:
        """By alternative, whether it depends on an attribute."""
        return np.array([possible.asks_for(attribute) for possible in self._possible], np.bool_)

    def possible(self, tuples: pa.Table) -> Bools:
        """By tuple and alternative, whether it may be true for some member, judged by the attributes that are given."""
        batch = Batch(tuples, self._coders)
        names = frozenset(tuples.column_names)
        found = [possible.by(names, batch) for possible in self._possible]
        return np.stack(found, axis=1) if found else np.zeros((batch.size, 0), np.bool_)

    def advice(self) -> Advice:
        """What to find members by, from the tuples seen so far. Costs some milliseconds; following it, a rebuild."""
        ways = [alternative.ways() for alternative in self._alternatives]
        now = sum(
            next((way.candidates for way in known if way.is_like(alternative.access)), 0.0)
            for known, alternative in zip(ways, self._alternatives, strict=True)
        )
        access = tuple(known[0] for known in ways)
        return Advice(access, now, sum(way.candidates for way in access))

    def follow(self, advice: Advice) -> None:
        """Rebuilds what is to be found by another attribute. The matches stay the same."""
        for alternative, access in zip(self._alternatives, advice.access, strict=True):
            if not access.is_like(alternative.access):
                alternative.rebuild(access)
