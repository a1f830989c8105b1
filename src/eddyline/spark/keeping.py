"""Who keeps slices in a batch, since when they are whole, and who is answered from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from eddyline.catalog.catalog import UPSTREAM
from eddyline.catalog.connection import ConnectionPoint
from eddyline.log.results import StageResult
from eddyline.spark.correcting import DOWNSTREAM_ONLY, UPSTREAM_ONLY, Choice, Corrections, Outlook
from eddyline.spark.evaluate.batch import Batch, KeptSlices, Log
from eddyline.spark.evaluate.kept import correctable_or_reason
from eddyline.spark.evaluate.members import Members
from eddyline.spark.evaluate.outlook import outlook_of
from eddyline.spark.spans import LOW
from eddyline.spark.stages import LINEAR, LOOKUP, SLICES, Stage
from eddyline.spark.standing import Standing

_NOTHING = StageResult()


@dataclass
class Keeper:
    """The slices of one query in one batch: `stage` writes them, for `answering`."""

    query: Standing
    stage: Stage
    answering: Stage
    members: Members | None
    had: Mapping[str, StageResult]
    corrections: Corrections
    point: int | None  # how far back a connection point wants slices
    looks_back: bool = False  # whether what has passed is being answered, which slices have in them as a whole
    choice: Choice | None = None  # None: the query has not begun
    outlook: Outlook | None = None
    idle: int | None = None  # so many rows have come, and corrected nothing
    seconds: dict[str, float] = field(default_factory=dict)  # by stage

    @classmethod
    def of(
        cls,
        query: Standing,
        stages: Sequence[Stage],
        members: Members | None,
        had: Mapping[str, StageResult],
        corrections: Corrections,
        points: Mapping[str, int],
    ) -> Keeper | None:
        """None if the query keeps nothing and never will."""
        stage = next((one for one in stages if one.kind == SLICES), None)
        if stage is None:
            return None
        made = cls(query, stage, stages[-1], members, had, corrections, points.get(query.name))
        found = correctable_or_reason(made.answering.plan)
        if isinstance(found, str) or found.columns != stage.columns:
            made.choice = UPSTREAM_ONLY  # a class in which members show tags: slices are whole again when none does
        return made

    def view(self, stage: Stage, view: Batch) -> Batch | None:
        """What one of both stages sees, with slices as it was chosen; None if it has nothing to do."""
        if stage not in (self.stage, self.answering):
            return view
        kept = self._kept(view.logs)
        if self.choice is None:  # the stage that writes comes first
            self._choose(view, kept)
        assert self.choice is not None
        if stage is self.answering:
            return replace(view, slices=kept) if self.choice.from_slices and not self.looks_back else view
        if not self.choice.keeps:
            return None
        if self.choice.anew is None:
            return replace(view, slices=kept)
        whole = KeptSlices(self.choice.anew, self.stage.columns, self.stage.schema, ())
        return replace(view, slices=whole, logs={n: replace(log, fresh=log.segments) for n, log in view.logs.items()})

    def _choose(self, view: Batch, kept: KeptSlices | None) -> None:
        if not self.query.chooses:
            self.choice = DOWNSTREAM_ONLY
            return
        had = self.had.get(self.answering.name, _NOTHING)
        back = self.corrections.reach(self.query.name)
        self.outlook = outlook_of(self.answering, view, kept, had, self.point, back)
        if self.outlook is not None:
            self.choice = self.corrections.choose(self.query.name, self.outlook)
            return
        self.choice = UPSTREAM_ONLY
        if self.corrections.knows(self.query.name):
            fresh = sum(segment.rows for log in view.logs.values() for segment in log.fresh)
            self.idle = fresh

    def _kept(self, logs: Mapping[str, Log]) -> KeptSlices | None:
        """What earlier batches have kept; None if they have not, and nobody insists on it.

        Tuples that had come before slices were kept were not counted: they are whole from the tick behind the last of
        these on. A query that looks back counts them all. In a class, those of members who came later are whole behind
        the tick at which the last one began.
        """
        had = self.had.get(self.stage.name, _NOTHING)
        if had.start is None and self.query.chooses:
            return None
        if had.start is None and self.query.history:
            had = replace(had, start=LOW, segments=())
        elif had.start is None:
            (log,) = (logs[name] for name in self.stage.streams)
            fresh = {segment.path for segment in log.fresh}
            first = max((s.tick[1] + 1 for s in log.segments if s.path not in fresh), default=LOW)
            had = replace(had, start=first, segments=())
        return kept_by(self.stage, had, self.members)

    def result(self, stage: Stage, result: StageResult) -> StageResult:
        """What a stage has written, as the record of the batch is to say it."""
        if stage is not self.stage or self.choice is None or self.choice.anew is None:
            return result
        return replace(result, anew=True, count=0 if self.members is None else self.members.latest)

    def ended(self) -> dict[str, StageResult]:
        """What the record says if slices are kept no longer: what there was does not count any more."""
        kept = self.had.get(self.stage.name, _NOTHING).start is not None
        if self.choice is None or self.choice.keeps or not kept:
            return {}
        return {self.stage.name: StageResult(anew=True)}

    def learn(self) -> None:
        """The batch is done."""
        if self.idle is not None:
            self.corrections.idle(self.query.name, self.idle)
        if self.outlook is not None and self.choice is not None:
            answering, keeping = (self.seconds.get(stage.name, 0.0) for stage in (self.answering, self.stage))
            self.corrections.spent(self.query.name, self.outlook, self.choice, answering, keeping)


def why_no_slices(answering: Stage, revisions: str) -> str | None:
    """Why a query cannot keep slices, which a connection point on it wants; None if it can, or would not need any."""
    if answering.kind in (LINEAR, LOOKUP):  # corrected tuple by tuple
        return None
    found = correctable_or_reason(answering.plan)
    if isinstance(found, str):
        return found
    return "it was created WITH (revisions = 'upstream')" if revisions == UPSTREAM else None


def nothing_to_connect(point: ConnectionPoint, reason: str) -> str:
    """A warning: a connection point stands on a query and changes nothing."""
    kept = f"the connection point {point.name} has {point.on} keep no more than its answers, which it keeps anyway"
    return f"{kept}: {reason}"


def kept_by(stage: Stage, had: StageResult, members: Members | None) -> KeptSlices:
    """The slices that a stage has written, and from which tick on they are whole."""
    assert had.start is not None
    first = had.start
    if members is not None and members.latest != had.count:
        first = max(first, members.begin + 1)
    return KeptSlices(first, stage.columns, stage.schema, had.segments, had.remade)
