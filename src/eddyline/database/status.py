"""How a database is."""

from __future__ import annotations

from dataclasses import dataclass, field

LIVE, BEHIND, BACKFILL, STOPPED = "live", "behind", "backfill", "stopped"


@dataclass(frozen=True)
class QueryStatus:
    """`state`: live; behind, because a lane of its own is catching up; backfill, with how much of it; or stopped.

    `start` is the tick at which it began, None while it waits for its first data.

    Rows of a query that is answered together with others are counted for all of them, in `shared`.
    """

    name: str
    kind: str
    start: int | None
    added: int  # rows that came
    removed: int  # rows that went, by corrections
    problem: str | None = None  # why it has stopped, if so
    shared: str | None = None  # the query class it is a member of
    state: str = LIVE
    priority: int = 1

    def __str__(self) -> str:
        counts = f"+{self.added} -{self.removed}"
        if self.shared is not None:
            counts = f"a member of {self.shared} ({counts})"
        state = "" if self.state in (LIVE, STOPPED) else f", {self.state}"
        return f"{self.name}: {self.kind} from {_shown(self.start)}, {counts}{state}"


@dataclass(frozen=True)
class Status:
    """`waiting` are appends that no batch has answered yet; `problem` is why nothing is answered, if so."""

    path: str
    running: bool
    clock: int | None
    rows: dict[str, int]  # tuples that have come, by stream
    queries: list[QueryStatus]
    batches: int
    waiting: int
    rejects: dict[str, int]
    problem: str | None = None
    warnings: list[str] = field(default_factory=list)
    sets: list[tuple[str, int]] = field(default_factory=list)  # classes of queries made many at a time, and how many

    def __str__(self) -> str:
        lines = [f"{self.path}: {'running' if self.running else 'idle'}, clock {_shown(self.clock)}"]
        lines.append(f"  {self.batches} batches, {self.waiting} appends waiting")
        lines += [f"  stream {name}: {count} rows" for name, count in self.rows.items()]
        lines += [f"  query {query}" for query in self.queries]
        lines += [f"  {count:,} queries of a template, members of {log}" for log, count in self.sets]
        lines += [f"  query {q.name} has stopped: {q.problem}" for q in self.queries if q.problem is not None]
        lines += [f"  rejects of {name}: {count}" for name, count in self.rejects.items()]
        lines += [f"  warning: {text}" for text in self.warnings]
        if self.problem is not None:
            lines.append(f"  problem: {self.problem}")
        return "\n".join(lines)


def _shown(tick: int | None) -> str:
    return "not started" if tick is None else str(tick)
