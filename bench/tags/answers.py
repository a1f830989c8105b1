"""What a query has answered, as a table of what matters of it, to be compared with what numpy and pandas work out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from eddyline.algebra.answer import Answer, StixAnswer, TagAnswer, TupleAnswer, WindowAnswer

#: the columns of the answers, and the answers as they are fetched
Shape = Callable[[Sequence[str], Iterable[Answer]], pd.DataFrame]


def plain_rows(columns: Sequence[str], answers: Iterable[Answer]) -> pd.DataFrame:
    """Rows without tags, whether they come one by one or in windows."""
    return pd.DataFrame([row for row, _ in _rows(answers)], columns=list(columns))


def tagged_objects(columns: Sequence[str], answers: Iterable[Answer]) -> pd.DataFrame:
    """Rows with one tag each."""
    found = list(_rows(answers))
    frame = pd.DataFrame([row for row, _ in found], columns=list(columns))
    return frame.assign(tag=pd.Series([_said(tags) for _, tags in found], dtype=object))


def tagged_stream(columns: Sequence[str], answers: Iterable[Answer]) -> pd.DataFrame:
    """A stream with tags in front of the rows they list; `tag` is empty where there is none."""
    found: list[tuple[Any, ...]] = []
    said: dict[int, str] = {}  # by index
    indexes = []
    for answer in answers:
        if isinstance(answer, TagAnswer):
            said.update(dict.fromkeys(answer.tag.applies_to.tuples or (), answer.tag.content))
        elif isinstance(answer, TupleAnswer):
            found.append(answer.row)
            indexes.append(answer.index)
    frame = pd.DataFrame(found, columns=list(columns))
    return frame.assign(tag=pd.Series([said.get(index, "") for index in indexes], dtype=object))


def matched_pairs(columns: Sequence[str], answers: Iterable[Answer]) -> pd.DataFrame:
    """Stix, two tags and a row of each stream, again and again."""
    names = [name.lower() for name in columns]
    half = len(names) // 2
    t, number = (names.index(f"a.{name}") for name in ("t", "id"))
    found: list[tuple[Any, ...]] = []
    tags: list[str] = []
    rows: list[tuple[Any, ...]] = []
    for answer in answers:
        if isinstance(answer, StixAnswer):
            tags, rows = [], []
        elif isinstance(answer, TagAnswer):
            tags.append(answer.tag.content)
        elif isinstance(answer, TupleAnswer):
            rows.append(answer.row)
            if len(rows) == 2:
                left, right = rows[0], rows[1][half:]
                found.append((left[t], left[number], tags[0], right[t], right[number], tags[1]))
    return pd.DataFrame(found, columns=["t", "id", "tag", "t_right", "id_right", "tag_right"])


def joined_pairs(columns: Sequence[str], answers: Iterable[Answer]) -> pd.DataFrame:
    """Pairs, with the tags of each side of them."""
    found = list(_rows(answers))
    frame = pd.DataFrame([row for row, _ in found], columns=list(columns))
    sides = {"tag": "id", "tag_right": "id_right"}
    said = {
        name: [_said([tag for tag in tags or () if of in tag.attributes]) for _, tags in found]
        for name, of in sides.items()
    }
    return frame.assign(**{name: pd.Series(texts, dtype=object) for name, texts in said.items()})


def _rows(answers: Iterable[Answer]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    for answer in answers:
        if isinstance(answer, TupleAnswer):
            yield answer.row, answer.tags
        elif isinstance(answer, WindowAnswer):
            yield from zip(answer.rows, answer.tags or [None] * len(answer.rows), strict=True)


def _said(tags: Any) -> str:
    return " ".join(sorted(tag.content for tag in tags or ()))


def different(found: pd.DataFrame, right: pd.DataFrame) -> int:
    """How many rows are in one of them alone, in whatever order they are."""
    names = list(right.columns)
    counts = [frame[names].groupby(names, dropna=False).size() for frame in (found, right)]
    both = pd.concat(counts, axis=1).fillna(0)
    return int((both.iloc[:, 0] - both.iloc[:, 1]).abs().sum())
