"""Tag joins and tag aggregates over revised input end where they end over the corrected input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from tag_streams import aggregate, animals, fold, insert, patients, stamped, tag

from eddyline.algebra.tag import TagAggregation, TagFunction, TagJoin
from eddyline.reference.element import Change, Clock, Row
from eddyline.reference.tag_aggregation import tag_aggregation
from eddyline.reference.tag_join import tag_join

CONTENTS = ["Joyful", "Excited", "Sad", "accident", "Accident"]
TAGS = [tag(content, lifespan=99, by=str(number)) for number, content in enumerate(CONTENTS)]
FUNCTIONS = st.sampled_from(
    [TagFunction("equality"), TagFunction("dictionary"), TagFunction("cooccurrence", 2), TagFunction("jaccard", 0.5)]
)
TUPLES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 3), st.lists(st.sampled_from(TAGS), max_size=2, unique=True)),
    max_size=8,
)


@st.composite
def revised(draw: st.DrawFn, in_order: bool = False) -> tuple[list[Change], list[Change], list[Change]]:
    """A stream, revisions of it, and the corrected stream; revisions keep tags and, `in_order`, ticks."""
    tuples = draw(TUPLES)
    stream, revisions, corrected = [], [], []
    for index, (tick, measure, tags) in enumerate(sorted(tuples, key=lambda t: t[0]) if in_order else tuples, 1):
        stream.append(insert(index, tick, index, measure, "x", tags=tags))
        revision = draw(st.sampled_from(["keep", "keep", "delete", "replace"]))
        new_tick = tick if in_order else draw(st.integers(0, 9))
        final = stream[-1].new
        if revision != "keep":
            final = None if revision == "delete" else stamped(new_tick, index, measure + 10, "x", tags=tags)
            revisions.append(Change(index, stream[-1].new, final))
        if final is not None:
            corrected.append(Change(index, None, final))
    return stream, draw(st.permutations(revisions)), corrected


def standing(elements: Iterable[object]) -> Counter[tuple[int, Row]]:
    return Counter(fold(elements).values())


@given(revised(), FUNCTIONS, st.booleans())
def test_tag_aggregation(
    streams: tuple[list[Change], list[Change], list[Change]], function: TagFunction, untagged: bool
) -> None:
    stream, revisions, corrected = streams
    node = TagAggregation(function, (aggregate("count"), aggregate("sum", "measure")), untagged, patients)
    clock = Clock(99, 99)
    after = tag_aggregation(node, [*stream, clock, *revisions, clock])
    assert standing(after) == standing(tag_aggregation(node, [*corrected, clock]))


@given(revised(in_order=True), revised(in_order=True), FUNCTIONS, st.integers(0, 4), st.integers(0, 4))
def test_tag_join(
    left: tuple[list[Change], list[Change], list[Change]],
    right: tuple[list[Change], list[Change], list[Change]],
    function: TagFunction,
    left_range: int,
    right_range: int,
) -> None:
    node = TagJoin(function, left_range, right_range, patients, animals)
    clock = Clock(99, 99)
    sides = ([*stream, clock, *revisions, clock] for stream, revisions, _ in (left, right))
    after = tag_join(node, *map(iter, sides))
    assert standing(after) == standing(tag_join(node, *(iter([*corrected, clock]) for *_, corrected in (left, right))))


@given(TUPLES, TUPLES, FUNCTIONS, st.lists(st.booleans(), max_size=20))
def test_the_cut_into_batches_does_not_change_a_tag_join(
    left: list[tuple[int, int, list]], right: list[tuple[int, int, list]], function: TagFunction, cuts: list[bool]
) -> None:
    """Inputs are merged by the tick that each has reached; after each arrival a batch may end."""
    merged = []
    for side, tuples in enumerate((left, right)):
        reached = 0
        for index, (tick, measure, tags) in enumerate(tuples, 1):
            reached = max(reached, tick)
            merged.append((reached, side, insert(index, tick, index, measure, "x", tags=tags)))
    # the right extent may have been created first
    merged.sort(key=lambda arrival: (arrival[0], -arrival[1]))
    node = TagJoin(function, 3, 5, patients, animals)

    def result(ends: list[bool]) -> list[object]:
        sides: tuple[list[Change | Clock], list[Change | Clock]] = ([], [])
        for (reached, side, change), ends_here in zip(merged, ends, strict=True):
            sides[side].append(change)
            if ends_here:
                for each in sides:
                    each.append(Clock(reached, reached - 1))
        for each in sides:
            each.append(Clock(99, 99))
        return [element for element in tag_join(node, *map(iter, sides)) if not isinstance(element, Clock)]

    assert result((cuts + [True] * len(merged))[: len(merged)]) == result([False] * len(merged))
