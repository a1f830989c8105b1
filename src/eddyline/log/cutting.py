"""Which segments nobody can need any more."""

from __future__ import annotations

from collections.abc import Sequence

from eddyline.log.segment import Exchange, Segment


def beyond(segments: Sequence[Segment], cut: int) -> Exchange:
    """The segments that hold nothing but ticks before `cut`, as far as they can go without changing what stands.

    What a revision took away would be there again if the revision went and the tuple did not. So a segment with
    deletions goes only together with everything before it that it may speak of.
    """
    kept: list[Segment] = []
    gone: set[str] = set()
    for segment in sorted(segments, key=lambda s: s.seq):
        old = segment.tick[1] < cut
        if old and segment.minus:
            old = not any(_meet(segment.index, k.index) and _meet(segment.tick, k.tick) for k in kept)
        if old:
            gone.add(segment.path)
        else:
            kept.append(segment)
    return Exchange(frozenset(gone))


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
