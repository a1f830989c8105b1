"""How a database is."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class QueryStatus:
    """`start` is the tick at which it began, None while it waits for its first data."""

    name: str
    kind: str
    start: int | None
    added: int  # rows that came
    removed: int  # rows that went, by corrections
    problem: str | None = None  # why it has stopped, if so


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

    def __str__(self) -> str:
        lines = [f"{self.path}: {'running' if self.running else 'idle'}, clock {_shown(self.clock)}"]
        lines.append(f"  {self.batches} batches, {self.waiting} appends waiting")
        lines += [f"  stream {name}: {count} rows" for name, count in self.rows.items()]
        lines += [f"  query {q.name}: {q.kind} from {_shown(q.start)}, +{q.added} -{q.removed}" for q in self.queries]
        lines += [f"  query {q.name} has stopped: {q.problem}" for q in self.queries if q.problem is not None]
        lines += [f"  rejects of {name}: {count}" for name, count in self.rejects.items()]
        lines += [f"  warning: {text}" for text in self.warnings]
        if self.problem is not None:
            lines.append(f"  problem: {self.problem}")
        return "\n".join(lines)


def _shown(tick: int | None) -> str:
    return "not started" if tick is None else str(tick)
