"""Who makes and who reads the states of joins, batch by batch; and which of them must be one and the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any
from unittest.mock import patch

from eddyline.planner.graph import members
from eddyline.spark.evaluate import joining
from eddyline.spark.evaluate.joining import state_changes
from eddyline.spark.executor import Executor
from eddyline.spark.shared_states import SharedStates
from eddyline.spark.standing import Standing

_INPUT = re.compile(r"(\w+(?: \[[^]]*\])?) AS (x\d+)")


@dataclass
class Watched:
    """By batch and state, how often it was made, and by which queries it was read."""

    batch: int = 0
    made: Counter[tuple[int, str]] = field(default_factory=Counter)
    readers: dict[tuple[int, str], set[str]] = field(default_factory=dict)

    def read_by_several(self) -> list[tuple[int, str]]:
        return [where for where, names in self.readers.items() if len(names) > 1]


@contextmanager
def watched_states(several: Sequence[str]) -> Iterator[Watched]:
    """Of the queries q1, q2, …; none is made twice, and two that are the same are one."""
    seen = Watched()
    process, arrange, stored = Executor.process, SharedStates.arrange, joining._stored

    def processed(self: Executor, *given: Any) -> None:
        seen.batch += 1
        process(self, *given)

    def arranged(self: SharedStates, queries: Sequence[Standing], known: Any) -> None:
        arrange(self, queries, known)
        _check_names(queries, several)

    def made(node: Any, batch: Any) -> Any:
        seen.made[seen.batch, node.name(node.tree)] += 1
        return state_changes(node, batch)

    def read(node: Any, child: Any, *given: Any) -> Any:
        query = node.stage.partition("/")[0]
        if re.fullmatch(r"q\d+", query):
            seen.readers.setdefault((seen.batch, node.name(child)), set()).add(query)
        return stored(node, child, *given)

    with (
        patch.object(Executor, "process", processed),
        patch.object(SharedStates, "arrange", arranged),
        patch("eddyline.spark.work.state_changes", made),
        patch.object(joining, "_stored", read),
    ):
        yield seen
    assert set(seen.made.values()) <= {1}, "a state is made once in a batch"


def _check_names(queries: Sequence[Standing], several: Sequence[str]) -> None:
    """What two queries ask for that is the same by their texts has one name, and nothing else has that."""
    names: dict[Any, set[str]] = {}
    for query in queries:
        if query.join is None:
            continue
        text, stored = several[int(query.name.removeprefix("q")) - 1], query.join.tree.states()
        for mask, log in query.join.shared:
            if mask in stored:
                names.setdefault(_joined_set(text, [f"x{at + 1}" for at in members(mask)]), set()).add(log.name)
    assert all(len(some) == 1 for some in names.values()), names
    assert len({name for some in names.values() for name in some}) == len(names), names


def _joined_set(query: str, inputs: Sequence[str]) -> Any:
    """What some inputs of a query are and what is asked of them, whatever they are called: the least of all orders."""
    what = {name: source for source, name in _INPUT.findall(query)}
    where = re.search(r"WHERE (.*?)(?: GROUP BY .*)?\)?$", query)
    asked = [] if where is None else where[1].split(" AND ")
    inside = [one for one in asked if set(re.findall(r"x\d+", one)) <= set(inputs)]

    def told(order: Sequence[str]) -> Any:
        called = {name: f"y{at}" for at, name in enumerate(order)}
        texts = (re.sub(r"x\d+", lambda found: called[found[0]], one) for one in inside)
        sides = {" = ".join(sorted(text.split(" = "))) for text in texts}  # which side comes first is all the same
        return tuple(what[name] for name in order), tuple(sorted(sides))

    return min(map(told, permutations(inputs)))
