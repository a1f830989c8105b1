"""From what a program pushes to an entry of the journal: rows of one stream, or of several as one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eddyline.catalog.extent import SENSED, Extent
from eddyline.database.given import checked_text
from eddyline.database.stream import Pushed
from eddyline.errors import DuplicateName, InvalidDefinition, StorageUnusable
from eddyline.sources.chunk import Chunk
from eddyline.sources.pushed import chunk_of, taken_turns

if TYPE_CHECKING:
    from eddyline.database.core import Core

_SEVERAL = 'give them by the names of the streams: db.push({"a": rows, "b": rows})'


@dataclass(frozen=True)
class Given:
    """Rows for a stream, with the tags that come beside them."""

    extent: Extent
    rows: Any
    tags: Any = None

    @property
    def counts_turns(self) -> bool:
        """Whether the stream gets its ticks by how many rows have come: it is of a sensor without a clock."""
        return self.extent.kind == SENSED and self.extent.timestamp is None


def given_by_name(core: Core, rows: Any, tags: Any) -> dict[str, Given]:
    """What is pushed to several streams, by the names that it was given with."""
    tags = {} if tags is None else tags
    for what, value in (("rows", rows), ("tags", tags)):
        if not isinstance(value, Mapping):
            raise InvalidDefinition(f"{what} for several streams have no names: {value!r:.60}", hint=_SEVERAL)
    found: dict[str, Given] = {}
    names: set[str] = set()
    of_stream = {str(name).lower(): name for name in tags}
    if len(of_stream) < len(tags):
        raise DuplicateName("there are tags for one stream twice", hint="put them into one list")
    for name in rows:
        extent = core.definitions.stream(checked_text(name, "the name of a stream"))
        if extent.name in names:
            raise DuplicateName(f"rows are pushed to {extent.name} twice", hint="put them into one table or list")
        names.add(extent.name)
        said = of_stream.pop(name.lower(), None)
        found[name] = Given(extent, rows[name], None if said is None else tags[said])
    for name in of_stream.values():
        raise InvalidDefinition(f"there are tags for {name}, but no rows", hint="push an empty list of rows")
    return found


def push(core: Core, given: Sequence[Given]) -> list[Pushed]:
    """They are in the logs when this returns, all of them or, if it raises, none; nobody waits for Spark."""
    core.check()
    micros = core.definitions.catalog.tick_micros
    # who counts turns must know them until its rows are in; the others may be looked at while somebody else writes
    with core.engine.writing if any(one.counts_turns for one in given) else nullcontext():
        chunks, origin = [], {}
        for one in given:
            place = f"{one.extent.name}\n"
            turns = core.engine.journal.origin.get(place, 0) if one.counts_turns else 0
            chunk = chunk_of(one.extent, one.rows, micros, turns, one.tags)
            chunks.append(chunk)
            if one.counts_turns:
                origin[place] = turns + taken_turns(chunk)
        return append(core, chunks, origin)


def append(core: Core, chunks: Sequence[Chunk], origin: Mapping[str, int] | None = None) -> list[Pushed]:
    """Take in a chunk of each of some streams as one step."""
    with core.engine.writing:
        before = core.rejects.counts.copy()
        core.engine.append(chunks, origin=origin)
        rejected = [core.rejects.counts[chunk.extent] - before[chunk.extent] for chunk in chunks]
    save_rejects(core)
    return [Pushed(chunk.given - count, count) for chunk, count in zip(chunks, rejected, strict=True)]


def save_rejects(core: Core) -> None:
    """The rows themselves are in, so that the rejects cannot be written is no reason to have them sent again."""
    try:
        core.rejects.save()
    except (OSError, StorageUnusable) as problem:
        core.warnings.append(f"rows that were set aside could not be written down: {problem}")
