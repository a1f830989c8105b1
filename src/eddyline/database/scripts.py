"""Running a text of one statement or ten thousand: queries that are alike are bound and written down together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eddyline.database.alike import LikeAnother
from eddyline.database.core import Core
from eddyline.database.definitions import StandingQuery
from eddyline.database.handle import QueryHandle
from eddyline.database.statements import QUERY, Definition
from eddyline.database.steps import Result, Steps
from eddyline.language import Piece, Statement, parse_piece, pieces
from eddyline.spark.moment import Moment
from eddyline.spark.shapes import shared_shape

#: so many queries are let in at once: while they are, nobody can push rows
_AT_ONCE = 1_000


@dataclass(frozen=True)
class _Item:
    """A statement, parsed if none like it has been before."""

    piece: Piece
    statement: Statement | None


class Scripts:
    """Runs scripts. All of a script can be parsed before its first statement is run."""

    def __init__(self, core: Core, steps: Steps) -> None:
        self._core, self._steps = core, steps

    def run(self, text: str) -> list[Result]:
        """What each statement gives. If one is wrong, those before it have happened."""
        items = self._read(text)
        results: list[Result] = []
        try:
            while len(results) < len(items):
                many = self._many(items[len(results) : len(results) + _AT_ONCE])
                results += many or [self._one(items[len(results)], text)]
        finally:
            self._steps.look_back()
        return results

    def _read(self, text: str) -> list[_Item]:
        items: list[_Item] = []
        for piece in pieces(text):
            if self._core.alike.is_read(piece):
                items.append(_Item(piece, None))
            else:
                items += [_Item(piece, statement) for statement in parse_piece(piece, text)]
                self._core.alike.was_read(piece)
        return items

    def _one(self, item: _Item, text: str) -> Result:
        core, piece = self._core, item.piece
        with core.defining:  # nobody may change what names mean before it is learnt
            result = self._steps.run(item.statement or parse_piece(piece, text)[0])
            standing = None if piece.name is None else core.definitions.queries.get(piece.name.lower())
            if standing is not None:
                core.alike.learn(piece, standing.query)
        return result

    def _many(self, items: Sequence[_Item]) -> list[Result]:
        """Let those of the first statements stand that are queries like others; none if the first is something else."""
        core = self._core
        if items[0].piece.name is None:
            return []
        with core.defining, core.engine.writing:  # nothing may come in between the moment written down and the last
            moment = core.engine.moment()
            queries = self._alike(items, moment)
            if not queries:
                return []
            core.check()
            first, base = core.statements.next_number, str(Path.cwd())
            taken: Counter[str] = Counter()
            standing, definitions = [], []
            for number, (piece, query) in enumerate(queries, first):
                seat = core.engine.seat(query, moment.beginning())
                assert seat is not None and piece.name is not None
                seat, taken[seat.log] = replace(seat, number=seat.number + taken[seat.log]), taken[seat.log] + 1
                record = core.definitions.record(piece.name, query, number, moment, seat)
                definitions.append(Definition(number, QUERY, piece.text, base, record))
                standing.append(StandingQuery(record, query))
            core.statements.append_all(definitions)
            for new in standing:
                core.definitions.catalog.add_query(new.record.name, new.query)
                core.add(new)
        core.engine.start()
        return [QueryHandle(core, core.definitions.standing(new.record.name)) for new in standing]

    def _alike(self, items: Sequence[_Item], moment: Moment) -> list[tuple[Piece, LikeAnother]]:
        """The first statements, up to one that is not like another, or has a name that is taken."""
        found: list[tuple[Piece, LikeAnother]] = []
        names: set[str] = set()
        catalog, classes = self._core.definitions.catalog, self._core.engine.classes
        for item in items:
            name = (item.piece.name or "").lower()
            query = self._core.alike.find(item.piece) if name and name not in names else None
            shape = None if query is None else shared_shape(query)
            if query is None or shape is None or classes.of(shape, moment.beginning()) is None:
                break
            if catalog.is_taken(name):
                break
            names.add(name)
            found.append((item.piece, query))
        return found
