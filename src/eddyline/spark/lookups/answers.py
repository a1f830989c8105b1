"""What has been found at a table that is asked by key: the cache SteM, as immutable pieces and a list of them.

A batch sees one list. Pieces come with answers, and go as a whole when they are too old or too many.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from eddyline.algebra.schema import Schema
from eddyline.columnar.looked_up import FOUND
from eddyline.spark.evaluate.frames import Frame, Frames
from eddyline.spark.literal import spark_type


@dataclass(frozen=True)
class Piece:
    """A file of answers that came together."""

    path: str
    rows: int
    asked: float  # when, in seconds since 1970: they are as old as the first of the calls for them
    version: int  # of the list that had it first
    brief: bool = False  # says that there is nothing, because nobody could be asked: holds for those who waited only


@dataclass(frozen=True)
class Answers:
    """All that is known of a table. If it is `whole`, a key that is not there has no rows."""

    version: int = 0
    pieces: tuple[Piece, ...] = ()
    whole: bool = False

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)

    @property
    def paths(self) -> list[str]:
        return [piece.path for piece in self.pieces]

    def with_piece(self, path: str, rows: int, asked: float, brief: bool = False) -> Answers:
        piece = Piece(path, rows, asked, self.version + 1, brief)
        return replace(self, version=self.version + 1, pieces=(*self.pieces, piece))

    def of_scan(self, path: str, rows: int, asked: float) -> Answers:
        """What a scan has brought takes the place of all else."""
        return Answers(self.version + 1, (Piece(path, rows, asked, self.version + 1),), whole=True)

    def without_old(self, now: float, fresh: float, size: int, seen: int) -> Answers:
        """What is not too old, and no more than `size` rows; pieces that not all have seen who wait stay in any case.

        >>> known = Answers().with_piece("a", 2, 10.0).with_piece("b", 2, 11.0)
        >>> known.without_old(20.5, 10.0, 100, seen=2).paths, known.without_old(20.5, 10.0, 100, seen=0).paths
        (['b'], ['a', 'b'])
        >>> known.without_old(12.0, 10.0, 3, seen=2).paths
        ['b']
        >>> known.with_piece("asked earliest, answered last", 2, 9.0).without_old(12.0, 10.0, 4, seen=3).paths
        ['a', 'b']
        """
        due = [p for p in self.pieces if p.version <= seen and (p.brief or now - p.asked >= fresh)]
        rows = self.rows - sum(piece.rows for piece in due)
        for piece in () if self.whole else sorted(self.pieces, key=lambda piece: piece.asked):
            if rows > size and piece not in due and piece.version <= seen:
                due.append(piece)
                rows -= piece.rows
        if not due:
            return self
        return Answers(self.version + 1, tuple(piece for piece in self.pieces if piece not in due))

    def frame(self, schema: Schema, frames: Frames) -> Frame:
        """c0, c1, … and `_found`."""
        fields = {f"c{i}": spark_type(field.type) for i, field in enumerate(schema.fields)}
        return frames.read(self.paths, {**fields, FOUND: "BOOLEAN"}, [*fields, FOUND])

    def to_json(self) -> dict[str, Any]:
        pieces = [[p.path, p.rows, p.asked, p.version, p.brief] for p in self.pieces]
        return {"version": self.version, "pieces": pieces, "whole": self.whole}

    @classmethod
    def from_json(cls, value: dict[str, Any] | None) -> Answers:
        if value is None:
            return cls()
        return cls(value["version"], tuple(Piece(*piece) for piece in value["pieces"]), value["whole"])


def paths_of(some: Iterable[Answers]) -> set[str]:
    return {path for answers in some for path in answers.paths}
