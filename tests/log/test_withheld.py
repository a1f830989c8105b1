"""Where corrections are withheld, batch after batch."""

from __future__ import annotations

from eddyline.log.withheld import MOST, fewer, without


def test_to_look_at_one_stretch_again_and_again_does_not_make_more_of_it() -> None:
    stretches = tuple((100 * n, 100 * n + 50, 10) for n in range(MOST))
    for _ in range(100):
        stretches = fewer((*without(stretches, [(20, 21)]), (20, 20, 1)))
        assert sum(number for _, _, number in stretches) <= 10 * MOST + 2
        assert any(low <= 20 <= high for low, high, _ in stretches)
    assert len(stretches) == MOST
