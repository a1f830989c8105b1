"""How a streaming tag index is written (Stream Tag Framework section 4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def stix_text(references: Sequence[tuple[Iterable[int], Iterable[int] | None]]) -> str:
    """One reference for each tag after the stix: its tuples and, after a tag-aware join, its attributes, from 1.

    The last tag comes first, because a stix is read from right to left (footnote 12). Figures 5(b) and 6:

    >>> stix_text([((1, 2, 3), None), ((4,), None)])
    '(4)2|(1-3)1'
    >>> stix_text([((1,), (1, 2, 3)), ((1,), (1, 4, 5))])
    '(1:1,4-5)2|(1:1-3)1'
    """
    parts = [
        f"({_ranges(tuples)}{'' if attributes is None else ':' + _ranges(attributes)}){number}"
        for number, (tuples, attributes) in enumerate(references, start=1)
    ]
    return "|".join(reversed(parts))


def _ranges(numbers: Iterable[int]) -> str:
    """
    >>> _ranges([5, 1, 4, 6])
    '1,4-6'
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
