"""One script over its finite inputs, whatever engine runs it: statements in their order, files when they are due."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eddyline.algebra.answer import Answer, TextAnswer, TupleAnswer, WindowAnswer
from eddyline.algebra.node import StreamOp
from eddyline.algebra.notation import notation
from eddyline.algebra.revision_report import Rows
from eddyline.algebra.user_function import UserFunction
from eddyline.algebra.window import Scan
from eddyline.binder.connection import Connect, Disconnect, ShowPoints
from eddyline.binder.detach import DetachOnce, ShowTags
from eddyline.binder.explain import ALGEBRA, ANALYZE, Show
from eddyline.binder.function import Declaration
from eddyline.binder.revisions import ShowRevisions
from eddyline.binder.statement import (
    AttachOnce,
    Define,
    FlushRevisions,
    Insert,
    Register,
    Revise,
    ShowFunctions,
    ShowQueries,
    StatementBinder,
    Step,
    Withdraw,
    WithdrawLike,
)
from eddyline.binder.words import DefineWords, DropWords
from eddyline.catalog.catalog import BoundQuery
from eddyline.catalog.connection import ConnectionPoint
from eddyline.errors import EddylineError, NotSupported, Position
from eddyline.language import parse_script
from eddyline.rules import check_rule_names
from eddyline.sources import Reject, needs_spark

#: how many tags that never applied are named
_SHOWN_TAGS = 3


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    rows: int
    bytes_read: int
    total_bytes: int | None
    clock: int | None
    answers: int
    queries: int = 0
    revisions: int = 0


def _ignore(_: object) -> None:
    return None


@contextmanager
def placed(position: Position) -> Iterator[None]:
    """An error that does not say where it is, is at this statement."""
    try:
        yield
    except EddylineError as error:
        error.position = error.position or position
        raise


class ScriptRun(ABC):
    """One script over finite inputs. Building it parses and binds everything; `answers` runs it to its end."""

    def __init__(
        self,
        text: str,
        base: Path,
        batch_rows: int = 1,
        on_reject: Callable[[Reject], None] = _ignore,
        on_warning: Callable[[str], None] = _ignore,
        on_progress: Callable[[Progress], None] | None = None,
        on_query: Callable[[str, tuple[str, ...]], None] = lambda name, columns: None,
        without_rules: frozenset[str] = frozenset(),
    ) -> None:
        self._batch_rows = batch_rows
        self._base = base
        self._on_reject, self._on_warning, self._on_progress = on_reject, on_warning, on_progress
        self._on_query = on_query
        self._without_rules = without_rules
        check_rule_names(without_rules)
        binder = StatementBinder(without_rules=without_rules, load=self._function)
        self._steps: list[tuple[Position, Step]] = []  # with the place of the statement in the text
        for statement in parse_script(text):
            with placed(statement.position):
                self._steps += [(statement.position, step) for step in binder.bind(statement.tree)]
        self._catalog = binder.catalog
        self.queries: Mapping[str, tuple[str, ...]] = {
            step.name: step.query.columns if isinstance(step, Register) else step.columns
            for _, step in self._steps
            if isinstance(step, Register | ShowQueries | ShowFunctions | ShowRevisions | ShowPoints | ShowTags)
        }
        self._rows = self._answers = self._revisions = 0

    # -- running ------------------------------------------------------------------------------------------------------

    def answers(self) -> Iterator[Answer]:
        for position, step in self._steps:
            if isinstance(step, Define):
                with placed(position):
                    self._open(step)
        for position, step in self._steps:
            if isinstance(step, Define) and needs_spark(step.extent):
                with placed(position):
                    self._open_on_spark(step)
        for position, step in self._steps:
            with placed(position):
                yield from self._counted(self._run(step))
        yield from self._counted(self._flow())
        yield from self._counted(self._end())
        self._report_progress()

    def _counted(self, answers: Iterator[Answer]) -> Iterator[Answer]:
        for answer in answers:
            self._answers += 1
            self._revisions += isinstance(answer, TupleAnswer | WindowAnswer) and answer.op != "+"
            yield answer

    def _run(self, step: Step) -> Iterator[Answer]:
        if isinstance(step, Register):
            self._on_query(step.name, step.query.columns)
            if is_one_off(step.query):
                yield from self._answered_once(step.name, step.query)
            else:
                yield from self._register(step)
        elif isinstance(step, Withdraw):
            self._withdraw(step.name)
        elif isinstance(step, WithdrawLike):
            for name in step.names:
                self._withdraw(name)
        elif isinstance(step, Connect):
            self._connect(step.point)
        elif isinstance(step, Disconnect):
            self._disconnect(step.point)
        elif isinstance(step, ShowQueries | ShowFunctions | ShowPoints):
            self._on_query(step.name, step.columns)
            yield WindowAnswer(step.name, 0, 1, "+", step.known)
        elif isinstance(step, ShowRevisions):
            yield from self._flow()
            self._on_query(step.name, step.columns)
            yield WindowAnswer(step.name, 0, 1, "+", self._revisions_of(step))
        elif isinstance(step, Show):
            if step.what == ANALYZE:
                yield from self._flow()
            yield TextAnswer(step.name, notation(step.plan) if step.what == ALGEBRA else self._explained(step))
        elif isinstance(step, ShowTags):
            yield from self._flow()
            self._on_query(step.name, step.columns)
            yield WindowAnswer(step.name, 0, 1, "+", self._tags_of(step))
        elif isinstance(step, DetachOnce):
            yield from self._flow()
            yield from self._detach(step)
        elif isinstance(step, DefineWords | DropWords):
            self._learn(step)
        elif isinstance(step, AttachOnce):
            self._attach(step)
        elif isinstance(step, Insert) and not step.extent.is_stream:
            self._insert_into_table(step)
        elif isinstance(step, Insert):
            yield from self._flow()
            yield from self._insert(step)
        elif isinstance(step, Revise):
            yield from self._flow()
            yield from self._revise(step)
        elif isinstance(step, FlushRevisions):
            yield from self._flow()
            yield from self._flush_revisions(step.query)

    # -- what the engines do ------------------------------------------------------------------------------------------

    @abstractmethod
    def _function(self, declaration: Declaration) -> UserFunction:
        """Load a user's function; while the script is bound, so that a mistake is told before anything runs."""

    @abstractmethod
    def _open(self, step: Define) -> None:
        """Open the input of an extent."""

    @abstractmethod
    def _open_on_spark(self, step: Define) -> None:
        """Open the input of an extent that only Spark can read; when all others are open, for Spark starts slowly."""

    @abstractmethod
    def _answered_once(self, name: str, query: BoundQuery) -> Iterator[Answer]:
        """Answer a query over tables alone, as they are."""

    @abstractmethod
    def _register(self, step: Register) -> Iterator[Answer]:
        """Let a query stand from here on; if data has flowed, it begins at once with all that has passed."""

    @abstractmethod
    def _withdraw(self, name: str) -> None: ...

    @abstractmethod
    def _connect(self, point: ConnectionPoint) -> None:
        """Keep a stream or a query as far back as a connection point wants it, from here on."""

    @abstractmethod
    def _disconnect(self, point: ConnectionPoint) -> None: ...

    @abstractmethod
    def _explained(self, step: Show) -> str:
        """The plan as this engine runs it, or what running it over all that has passed costs."""

    @abstractmethod
    def _revisions_of(self, step: ShowRevisions) -> Rows:
        """What has been corrected so far."""

    @abstractmethod
    def _attach(self, step: AttachOnce) -> None: ...

    @abstractmethod
    def _detach(self, step: DetachOnce) -> Iterator[Answer]:
        """Take tags back, and give what that changes."""

    @abstractmethod
    def _tags_of(self, step: ShowTags) -> Rows:
        """The tags that there are."""

    def _learn(self, step: DefineWords | DropWords) -> None:  # noqa: B027 (statements are bound with their words)
        """The dictionary changes for the tags of sources that come from here on."""

    @abstractmethod
    def _insert_into_table(self, step: Insert) -> None: ...

    @abstractmethod
    def _insert(self, step: Insert) -> Iterator[Answer]: ...

    @abstractmethod
    def _revise(self, step: Revise) -> Iterator[Answer]: ...

    @abstractmethod
    def _flush_revisions(self, query: str | None) -> Iterator[Answer]:
        """Show what is withheld of a query's answer, or of all."""

    @abstractmethod
    def _flow(self) -> Iterator[Answer]:
        """Let the files flow, all of them, merged; once."""

    @abstractmethod
    def _end(self) -> Iterator[Answer]:
        """The input has ended: the last tick is closed."""

    @abstractmethod
    def _report_progress(self) -> None: ...


def nothing_to_take_back(step: DetachOnce) -> str:
    """A warning: a DETACH has found nothing that it could mean."""
    what = f"no tag {step.withdrawal.content!r} of yours is there on {step.extent.name}, as DETACH TAG says"
    return f"nothing is taken back: {what}"


def of_idle_tags(stream: str, contents: Iterable[str]) -> str | None:
    """A warning: tags that never applied to anything are likely to be mistakes. None if there are none."""
    idle = list(dict.fromkeys(contents))
    if not idle:
        return None
    shown = ", ".join(map(repr, idle[:_SHOWN_TAGS])) + (", …" if len(idle) > _SHOWN_TAGS else "")
    many = f"{len(idle)} tags never apply" if len(idle) > 1 else "a tag never applies"
    return f"{many} to any row of {stream}: {shown}"


def needs_reference(text: str) -> str | None:
    """What of a script the reference engine alone can do with tags; None if nothing is, or if it has errors."""
    from eddyline.session.tags import is_tagged, on_spark  # takes a moment to load

    binder = StatementBinder()
    try:
        steps = [step for statement in parse_script(text) for step in binder.bind(statement.tree)]
    except EddylineError:
        return None  # running it will tell
    for step in steps:
        if isinstance(step, Register) and is_tagged(step.query):
            try:
                on_spark(step.query)
            except NotSupported as problem:
                return problem.message
    return None


def is_one_off(query: BoundQuery) -> bool:
    """Whether a query reads tables alone, as they are: it is answered where it stands in the script, once."""
    return not any(isinstance(op, StreamOp) or (isinstance(op, Scan) and op.interval) for op in query.plan.walk())
