"""How works are dealt out among tasks: each once, and no more tasks than cores where all are busy equally long."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from eddyline.kernels.matching import Match
from eddyline.kernels.task import Work
from eddyline.spark.kernel_job import _dealt

FOUND = (Match("", (), (), ""),)


def work(reads: int, stage: str = "q", few: bool = False, found: bool = False) -> Work:
    return Work(stage, 1, "", reads=reads, few=few, found=FOUND if found else ())


def rows(tasks: list[list[list[Work]]]) -> list[int]:
    return sorted(sum(work.reads for bundle in task for work in bundle) for task in tasks)


works = st.builds(work, st.integers(0, 50), st.sampled_from(["q", "r"]), st.booleans(), st.booleans())


@given(st.lists(st.lists(works, min_size=1, max_size=3), min_size=1, max_size=40), st.integers(1, 5))
def test_each_is_done_once_and_nobody_has_nothing_to_do(bundles: list[list[Work]], cores: int) -> None:
    tasks = _dealt(bundles, cores)
    assert Counter(id(bundle) for task in tasks for bundle in task) == Counter(map(id, bundles))
    assert all(tasks) and len(tasks) <= 4 * cores


def test_equal_parts_of_a_stage_are_a_task_for_each_core() -> None:
    assert rows(_dealt([[work(10)] for _ in range(4)], 2)) == [20, 20]
    assert rows(_dealt([[work(n)] for n in (10, 9, 10, 9, 10, 10)], 2)) == [29, 29]
    assert len(_dealt([[work(0)] for _ in range(6)], 2)) == 2
    assert len(_dealt([[work(10)]], 2)) == 1


def test_what_may_take_longer_is_dealt_in_more_parts() -> None:
    assert len(_dealt([[work(n)] for n in (100, 1, 1, 1)], 2)) == 4  # who has the large one would be the last
    assert len(_dealt([[work(10, stage)] for stage in "qrqr"], 2)) == 4
    assert len(_dealt([[work(10, found=found)] for found in (True, False, True, False)], 2)) == 4
    assert len(_dealt([[work(n, few=True)] for n in (9, 1, 1, 1, 1, 1)], 2)) == 4  # small ones are done soon
