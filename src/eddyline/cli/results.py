"""`eddyline results`: what a standing query of a database has answered, read without Spark, also while it runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from eddyline.cli.messages import say, say_warning
from eddyline.cli.run import Format
from eddyline.errors import SourceMissing, UnknownName, nearest
from eddyline.output import JsonLines, Painter, Tables

if TYPE_CHECKING:
    from eddyline.database.statements import Definition

#: how often a database is looked at for new answers
_EVERY = 0.2
#: of a million names, so many are compared with one that is unknown, and so many told
_GUESSED, _NAMED = 10_000, 20


def definitions_at(path: str) -> Sequence[Definition]:
    """Of a database, which has some as soon as it is one."""
    from eddyline.database.statements import StatementLog
    from eddyline.log.storage import Storage

    definitions = StatementLog(Storage(path)).read()
    if not definitions:
        raise SourceMissing(f"there is no database at {path}", hint="--db takes the path given to eddyline.connect")
    return definitions


def show_results(name: str, path: str, since: int, format_: Format, follow: bool, causes: bool = False) -> None:
    """Prints the answers after a cursor as `run` does, with their causes if that is asked; what else there is to say
    goes to stderr.

    That is the cursor to go on from, at the end, and why the query has stopped, if it has.
    """
    from eddyline.database.reader import ResultReader  # takes a moment to load, which --help must not
    from eddyline.database.sets import StandingByRecord
    from eddyline.database.statements import QueryRecord
    from eddyline.log.storage import Storage

    def found() -> QueryRecord:
        definitions = definitions_at(path)
        standing = StandingByRecord(definitions, storage)
        query = standing.find(name)
        if query is None:
            names = standing.names
            guess = nearest(name, names[:_GUESSED])
            some = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
            hint = f"did you mean {guess}?" if guess else f"its queries are {some}" if names else None
            raise UnknownName(f"{path} has no query {name}", hint=hint)
        return query

    storage = Storage(path)
    query = found()
    printer = (
        JsonLines(sys.stdout.write)
        if format_ is Format.jsonl
        else Tables(sys.stdout.write, Painter(sys.stdout), watched=follow)
    )
    printer.begin(query.name, query.columns)
    reader = ResultReader(storage)
    why_corrected = None
    if causes:
        from eddyline.database.looking_on import Causes

        why_corrected = Causes(storage, query)
    cursor, told = since, False
    try:
        while True:
            last = reader.refresh()
            for batch, answers in reader.batches(query.log, query.reading, cursor, upto=last):
                causes_of = None if why_corrected is None else why_corrected.of_batch(batch)
                for answer in answers:
                    printer.show(answer, None if causes_of is None else causes_of(answer))
            cursor = max(cursor, last)
            why = reader.stopped(query.log)
            if why is not None and not told:
                told = True
                printer.pause()
                sys.stdout.flush()
                say_warning(f"the query {query.name} has stopped: {why}")
            if not follow:
                break
            time.sleep(_EVERY)
            printer.pause()
            sys.stdout.flush()
    finally:
        printer.close()
        sys.stdout.flush()
        say(f"cursor {cursor}: --since {cursor} goes on from here")
