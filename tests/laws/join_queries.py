"""Random joins over many inputs: lines, stars, cliques and rings; equal keys, bands and others; any tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import Any

from hypothesis import strategies as st

from laws.streams import hop_windows

_narrow = st.builds(
    lambda a, b, slide: f"[FROM NOW-{max(a, b)} TO NOW-{min(a, b)} SLIDE {slide} SEC]".replace("NOW-0", "NOW"),
    st.integers(0, 4),
    st.integers(0, 2),
    st.integers(1, 4),
)
_ranges = st.one_of(
    st.builds("[RANGE {} SEC]".format, st.integers(0, 5)),
    st.builds("[RANGE {} SEC SLIDE {} SEC]".format, st.integers(0, 5), st.integers(1, 4)),
)
#: beside those that a tree can store, some that it cannot
_relations = st.one_of(_ranges, _ranges, _ranges, st.sampled_from(["[ROWS 2]", "[NOW]", "[UNBOUNDED]"]))
_sources = st.sampled_from(["s", "r", "s", "r", "s", "r", "d"])


def edges(shape: str, count: int) -> list[tuple[int, int]]:
    """Which inputs, counted from 1, a condition joins.

    >>> edges("ring", 3)
    [(1, 2), (2, 3), (1, 3)]
    """
    if shape == "star":
        return [(1, at) for at in range(2, count + 1)]
    if shape == "clique":
        return list(combinations(range(1, count + 1), 2))
    line = [(at, at + 1) for at in range(1, count)]
    return [*line, (1, count)] if shape == "ring" and count > 2 else line


def random_tree(count: int, dice: Random) -> str:
    """Any tree over x1, x2, …, as it is written."""
    parts = [f"x{at}" for at in range(1, count + 1)]
    dice.shuffle(parts)
    while len(parts) > 1:
        several = dice.randint(2, len(parts))
        parts = [*parts[several:], f"({' '.join(parts[:several])})"]
        dice.shuffle(parts)
    return parts[0]


_KINDS = ("windows", "windows", "relation", "istream", "dstream", "groups", "tuples")


@st.composite
def joins(
    draw: st.DrawFn, most: int = 6, counts: Sequence[int] = (3, 3, 3, 4, 4, 5, 6), kinds: Sequence[str] = _KINDS
) -> str:
    """A query over x1, x2, …"""
    count = draw(st.sampled_from([n for n in counts if n <= most]))
    kind = draw(st.sampled_from(kinds))
    relation = draw(st.booleans()) if kind != "windows" else False
    windows = _relations if relation or kind in ("relation", "dstream") else st.one_of(_narrow, _narrow, hop_windows)
    sources = draw(st.lists(_sources, min_size=count, max_size=count))
    if set(sources) == {"d"}:
        sources[0] = "s"
    inputs = [
        f"{source} AS x{at}" if source == "d" else f"{source} {draw(windows)} AS x{at}"
        for at, source in enumerate(sources, 1)
    ]
    conditions = [_condition(draw, sources, *edge) for edge in edges(draw(_shapes), count)]
    if draw(st.booleans()):
        one, other, third = (draw(st.integers(1, count)) for _ in range(3))
        conditions.append(f"x{one}.a + x{other}.a <= x{third}.a + 1")
    if draw(st.booleans()):
        conditions.append(f"x{draw(st.integers(1, count))}.a > 0")
    whole = f"FROM {', '.join(inputs)} WHERE {' AND '.join(conditions)}"
    columns = ", ".join(f"x{at}.{'a' if source == 'd' else 't'} AS p{at}" for at, source in enumerate(sources, 1))
    if kind == "groups":
        return f"SELECT x1.a AS g, COUNT(*) AS n {whole} GROUP BY x1.a"
    query = f"SELECT {columns} {whole}"
    return query if kind in ("windows", "relation") else f"{_STREAMS[kind]}({query})"


@st.composite
def linear_joins(draw: st.DrawFn) -> str:
    """One that looks at each pair by itself, from the windows to the answer; some show a pair more than once."""
    query = draw(joins(counts=(2, 2, 2, 3), kinds=("windows", "relation", "tuples", "tuples", "tuples")))
    if draw(st.booleans()):
        query = re.sub(r"SELECT .*? FROM", "SELECT x1.a AS p1, 1 AS p2 FROM", query)
    above = draw(st.sampled_from(["", "", "SELECT p1, p1 + p2 AS q FROM ({}) WHERE p1 > 0", "{} ORDER BY p1"]))
    if not above or (inside := re.fullmatch(r"(RSTREAM)\((.*)\)", query)) is None:
        return above.format(query) if above else query
    return f"RSTREAM({above.format(inside[2])})"


_STREAMS = {"istream": "ISTREAM", "dstream": "DSTREAM", "tuples": "RSTREAM"}
_shapes = st.sampled_from(["line", "line", "star", "clique", "ring"])


def _condition(draw: Any, sources: list[str], one: int, other: int) -> str:
    kinds = ["=", "=", "=", "<=", "<>", "<=>", "+ 1 ="]
    timed = "d" not in (sources[one - 1], sources[other - 1])
    kind = draw(st.sampled_from([*kinds, "near", "band"] if timed else kinds))
    if kind == "near":
        return f"abs(x{one}.t - x{other}.t) <= {draw(st.integers(0, 3))}"
    if kind == "band":  # as two conditions on the same inputs
        return f"x{one}.t >= x{other}.t AND x{one}.t <= x{other}.t + {draw(st.integers(0, 3))}"
    return f"x{one}.a {kind} x{other}.a"


@st.composite
def overlapping(draw: st.DrawFn, count: int = 3) -> list[str]:
    """Some queries that choose among the same inputs, in any order and under any names, and ask the same of them."""
    relation = draw(st.booleans())
    windows = st.sampled_from(draw(st.lists(_ranges if relation else _narrow, min_size=1, max_size=2)))
    sources = [*draw(st.lists(st.sampled_from(["s", "r"]), min_size=3, max_size=3)), draw(_sources)]
    inputs = [source if source == "d" else f"{source} {draw(windows)}" for source in sources]
    pool = {edge: _condition(draw, sources, *edge) for edge in edges(draw(_shapes), len(sources))}
    kinds = ["relation", "istream", "dstream", "groups"] if relation else ["windows", "groups", "istream"]
    return [_choosing(draw, inputs, sources, pool, draw(st.sampled_from(kinds))) for _ in range(count)]


def _choosing(draw: Any, inputs: list[str], sources: list[str], pool: dict[tuple[int, int], str], kind: str) -> str:
    chosen = draw(st.permutations(range(1, len(inputs) + 1)))[: draw(st.sampled_from([3, 3, 4]))]
    named = {at: f"x{place}" for place, at in enumerate(chosen, 1)}
    asked = [
        re.sub(r"x(\d+)", lambda found: named[int(found[1])], text)
        for (one, other), text in pool.items()
        if one in named and other in named
    ]
    if draw(st.integers(0, 4)) == 0:
        asked.append(f"x{draw(st.integers(1, len(chosen)))}.a > 0")
    streams = [at for at in chosen if sources[at - 1] != "d"]
    shown = [at for at in streams if draw(st.booleans())] or streams[:1]
    whole = f"FROM {', '.join(f'{inputs[at - 1]} AS {named[at]}' for at in chosen)}"
    whole += f" WHERE {' AND '.join(asked)}" if asked else ""
    if kind == "groups":
        return f"SELECT {named[shown[0]]}.a AS g, COUNT(*) AS n {whole} GROUP BY {named[shown[0]]}.a"
    columns = ", ".join(f"{named[at]}.{draw(st.sampled_from('at'))} AS p{at}" for at in shown)
    query = f"SELECT {columns} {whole}"
    return query if kind in ("windows", "relation") else f"{_STREAMS[kind]}({query})"
