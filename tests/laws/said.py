"""What a run says batch by batch, and whether it says no more than it must."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from eddyline.algebra.answer import RelationAnswer, TupleAnswer, WindowAnswer
from eddyline.session import Session
from eddyline.session.spark_run import SparkRun

END_OF_BATCH = object()


class SessionByBatch(Session):
    """The reference engine; its answers have marks between them where batches end."""

    def _batch(self, ended: bool = False) -> Iterator[Any]:
        yield from super()._batch(ended)
        yield END_OF_BATCH


class SparkByBatch(SparkRun):
    def _answered(self) -> Iterator[Any]:
        yield from super()._answered()
        yield END_OF_BATCH


def batches(answers: Iterable[Any], query: str) -> Iterator[list[Any]]:
    said: list[Any] = []
    for answer in answers:
        if answer is END_OF_BATCH:
            yield said
            said = []
        elif answer.query == query:
            said.append(answer)
    yield said


def check_minimal(answers: Iterable[Any], query: str, one_window_a_tick: bool) -> None:
    """Of each thing a batch speaks once, and only if it is different now.

    With `one_window_a_tick`, a window is the only one of its tick, and so are the tuples made of it: what went and what
    came there are paired.
    """
    standing: dict[int, Any] = {}
    for said in batches(answers, query):
        for answers_of, place in ((TupleAnswer, "index"), (WindowAnswer, "window")):
            mine = [answer for answer in said if isinstance(answer, answers_of)]
            repeated = [p for p, n in Counter(getattr(answer, place) for answer in mine).items() if n > 1]
            assert not repeated, f"{place} {repeated} twice in a batch: {mine}"
            for answer in mine:
                _differs(standing, getattr(answer, place), answer)
        weights: defaultdict[Any, set[str]] = defaultdict(set)
        for answer in said:
            if isinstance(answer, RelationAnswer):
                weights[answer.tick, answer.row].add(answer.op)
            elif isinstance(answer, TupleAnswer | WindowAnswer) and one_window_a_tick:
                weights[answer.tick].add(answer.op)
        both = [what for what, ops in weights.items() if {"+", "-"} <= ops]
        assert not both, f"taken away and put there in one batch: {both} of {said}"


def _differs(standing: dict[int, Any], place: int, answer: Any) -> None:
    if answer.op == "-":
        del standing[place]
        return
    if isinstance(answer, TupleAnswer):
        now: Any = (answer.tick, answer.row, answer.tags)
    else:
        now = (answer.tick, Counter(zip(answer.rows, answer.tags or [()] * len(answer.rows), strict=True)))
    assert (answer.op == "=") == (place in standing), answer
    assert standing.get(place) != now, f"nothing is different: {answer}"
    standing[place] = now
