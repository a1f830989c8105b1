"""The four experiments of the tag paper: who takes part in them, what each asks, and what is right.

A *side* is a database with one query, which is given every batch in its own form. Sides of one experiment answer the
same question in different ways, or the same with and without tags.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from bench.tags.answers import Shape, joined_pairs, matched_pairs, plain_rows, tagged_objects, tagged_stream
from bench.tags.roads import WIDTH
from bench.tags.workload import COLUMNS, EMOTIONS, STATION, TAG_COLUMNS, TUPLE, UNTAGGED, WINDOW, Batch

TAGGER, ALTERNATIVES, TAG_JOIN, JOIN, STREET_JOIN = "tagger", "alternatives", "tag join", "join", "street join"
EXPERIMENTS = (TAGGER, ALTERNATIVES, TAG_JOIN, JOIN, STREET_JOIN)
#: what is pushed to each stream: rows, and tags beside them
Fed = Mapping[str, pa.Table | tuple[pa.Table, pa.Table | None]]
Feed = Callable[[Batch], Fed]
Right = Callable[[Sequence[Batch]], pd.DataFrame]

#: what the second experiment asks about: a square around the middle, of half the side
LOW, HIGH = round(WIDTH / 4, 4), round(3 * WIDTH / 4, 4)
#: miles between two objects that meet
NEAR = 0.1
#: seconds of the windows of a tag join: reports that come at the same time
TAG_WINDOW = 1
ATTACHED = "happy"


@dataclass(frozen=True)
class Side:
    name: str
    streams: Mapping[str, str]  # columns
    feed: Feed
    query: str | None = None  # None: the batches are taken in, and nobody asks
    shape: Shape | None = None
    right: Right | None = None
    told_in: int = 1  # rows that tell one answer

    def statements(self) -> list[str]:
        return [f"CREATE STREAM {name} ({columns}) TIMESTAMP BY t" for name, columns in self.streams.items()]


@dataclass(frozen=True)
class Cell:
    """One experiment at one share of tagged reports."""

    experiment: str
    share: int
    sides: tuple[Side, ...]
    grain: str = TUPLE
    tags: int = 0  # percent of the reports of the stream that have tags
    per_tick: int = 1_000  # reports
    part: float = 1.0  # of the rows that a batch of other experiments has


def cells(name: str, share: int, cut: float) -> list[Cell]:
    """`cut`: so much x is west of so many percent of the reports."""
    if name == TAGGER:
        return [Cell(name, share, _tagger(cut))]
    if name == ALTERNATIVES:
        return [Cell(name, share, _alternatives(grain), grain, share) for grain in (TUPLE, STATION)]
    if name == TAG_JOIN:
        # each report meets all of its window with a tag of the same group: they are kept few
        return [Cell(name, share, _tag_join(), tags=share, per_tick=20, part=0.1)]
    return [Cell(name, share, _join(on_a_street=name == STREET_JOIN), tags=share)]


# -- 1: the tagger beside the selection -------------------------------------------------------------------------------


def _tagger(cut: float) -> tuple[Side, ...]:
    one = {"moving": COLUMNS}
    condition = f"x < CAST({cut} AS DOUBLE)"

    def selected(batches: Sequence[Batch]) -> pd.DataFrame:
        rows = reports(batches)
        return rows[rows["x"] < cut][["t", "id"]]

    def tagged(batches: Sequence[Batch]) -> pd.DataFrame:
        rows = reports(batches)
        return rows[["t", "id"]].assign(tag=np.where(rows["x"] < cut, ATTACHED, ""))

    def plain(batch: Batch) -> Fed:
        return {"moving": batch.reports}

    return (
        Side("intake", one, plain),
        Side("selection", one, plain, f"SELECT * FROM moving WHERE {condition}", plain_rows, selected),
        Side(
            "tagger",
            one,
            plain,
            f"ATTACH TAG '{ATTACHED}' CONTINUOUSLY TO moving WHERE {condition}",
            tagged_stream,
            tagged,
        ),
    )


# -- 2: tick-tags beside other ways to have tags ----------------------------------------------------------------------


def _alternatives(grain: str) -> tuple[Side, ...]:
    words = ", ".join(f"'{word}'" for word in EMOTIONS.wanted_words())
    square = f"x BETWEEN {LOW} AND {HIGH} AND y BETWEEN {LOW} AND {HIGH}"
    window = "[FROM NOW TO NOW SLIDE 1 SEC]"
    link = "id" if grain == TUPLE else "station"
    names = [column.split()[0] for column in COLUMNS.split(", ")]
    fields = [column.split()[0] for column in TAG_COLUMNS.split(", ")]
    kept = ", ".join(f"m.{name}" for name in names)
    linked = ", ".join(f"g.{name}" for name in fields)
    parsed = ", ".join(f"{_element(*column.split())} AS {column.split()[0]}" for column in COLUMNS.split(", ")[1:])
    attributes = ", ".join(_attribute(name) for name in fields[1:])
    in_square = square.replace("x BETWEEN", f"{_element('x', 'DOUBLE')} BETWEEN").replace(
        "y BETWEEN", f"{_element('y', 'DOUBLE')} BETWEEN"
    )
    return (
        Side(
            "TICK-TAG",
            {"moving": COLUMNS},
            lambda batch: {"moving": (batch.reports, batch.tick_tags)},
            f"SELECT TAGGED OBJECTS FROM moving WHERE TAG IN ({words}) AND {square} WITH TAGS",
            tagged_objects,
            _wanted,
        ),
        Side(
            "TABLE",
            {"moving": COLUMNS, "tags": f"t BIGINT, link INTEGER, {TAG_COLUMNS}"},
            lambda batch: {"tags": batch.tag_table, "moving": batch.reports},
            f"SELECT {kept}, {linked} FROM moving m {window}, tags g {window} "
            f"WHERE m.{link} = g.link AND tag IN ({words}) AND {square}",
            plain_rows,
            _wanted,
        ),
        Side(
            "TUPLE",
            {"moving": f"{COLUMNS}, {TAG_COLUMNS}"},
            lambda batch: {"moving": batch.extended},
            f"SELECT * FROM moving WHERE tag IN ({words}) AND {square}",
            plain_rows,
            _wanted,
        ),
        Side(
            "XML",
            {"moving": "t BIGINT, doc STRING"},
            lambda batch: {"moving": batch.xml},
            f"SELECT t, {parsed}, {_TAG} AS tag, {attributes} FROM moving WHERE {_TAG} IN ({words}) AND {in_square}",
            plain_rows,
            _wanted,
        ),
    )


_TAG = "regexp_extract(doc, '<tag[^>]*>([^<]*)</tag>', 1)"


def _element(name: str, type_: str) -> str:
    text = f"regexp_extract(doc, '<{name}>([^<]*)</{name}>', 1)"
    return text if type_ == "STRING" else f"CAST({text} AS {type_})"


def _attribute(name: str) -> str:
    written = name.removeprefix("tag_")
    text = f'regexp_extract(doc, \'<tag[^>]* {written}="([^"]*)"\', 1)'
    return f"CAST({text} AS BIGINT) AS {name}" if name == "tag_time" else f"{text} AS {name}"


def _wanted(batches: Sequence[Batch]) -> pd.DataFrame:
    rows = reports(batches)
    inside = rows["x"].between(LOW, HIGH) & rows["y"].between(LOW, HIGH)
    return rows[inside & rows["tag"].isin(EMOTIONS.wanted_words())][["t", "id", "tag"]]


# -- 3: the tag join --------------------------------------------------------------------------------------------------


def _tag_join() -> tuple[Side, ...]:
    window, streams = f"[{TAG_WINDOW} SEC]", {"a": COLUMNS, "b": COLUMNS}
    query = f"SELECT TAGGED OBJECTS FROM a {window} JOIN b {window} ON TAGS DICTIONARY"

    def nothing(batches: Sequence[Batch]) -> pd.DataFrame:
        return _matching(batches)[:0]

    return (
        Side("without tags", streams, _halves, query, matched_pairs, nothing),
        Side("by column", *_by_column(), plain_rows, _matching),
        # both objects, behind their stix and tags
        Side("tag join", streams, _halves_with_tags, query, matched_pairs, _matching, told_in=3),
    )


def _by_column() -> tuple[dict[str, str], Feed, str]:
    """The same pairs by a plain join, where each report has columns for its tag and the group of that: streams without
    tags have no pairs at all, so beside them a tag join pays for all that it answers."""
    columns = f"{COLUMNS}, {TAG_COLUMNS}, grp STRING"
    names = [column.split()[0] for column in columns.split(", ")]
    window = f"[FROM NOW-{TAG_WINDOW} TO NOW SLIDE 1 SEC]"
    wanted = [f"{side}.{name} AS {name}{behind}" for side, behind in (("a", ""), ("b", "_right")) for name in names]
    query = f"ISTREAM(SELECT {', '.join(wanted)} FROM a {window}, b {window} WHERE a.grp = b.grp)"

    def feed(batch: Batch) -> Fed:
        groups = pa.array([*EMOTIONS.groups, None])  # UNTAGGED is the last of them
        return {
            name: half.extended.append_column("grp", groups.take(pa.array(half.words % len(groups))))
            for name, half in _in_two(batch)
        }

    return {"a": columns, "b": columns}, feed, query


def _matching(batches: Sequence[Batch]) -> pd.DataFrame:
    """Tags of one group of emotions that stand in the windows of both."""
    rows = reports(batches)
    rows = rows[rows["tag"] != ""]
    group = dict(zip(EMOTIONS.words, EMOTIONS.groups, strict=True))
    rows = rows.assign(group=rows["tag"].map(group))
    left, right = (rows[rows["id"] % 2 == half][["t", "id", "tag", "group"]] for half in (0, 1))
    found = []
    for apart in range(-TAG_WINDOW, TAG_WINDOW + 1):
        shifted = right.assign(t_right=right["t"], t=right["t"] + apart)
        found.append(left.merge(shifted, on=["t", "group"], suffixes=("", "_right")))
    return pd.concat(found)[["t", "id", "tag", "t_right", "id_right", "tag_right"]]


# -- 4: the tag-aware join beside the plain one -----------------------------------------------------------------------


def _join(on_a_street: bool) -> tuple[Side, ...]:
    """The paper's fourth query asks for objects that are near each other. `on_a_street` is ours: those on one street,
    whom an index finds, so that there is little beside which tags could be cheap."""
    window = f"[FROM NOW-{WINDOW - 1} TO NOW SLIDE {WINDOW} SEC]"
    streams = {"a": COLUMNS, "b": COLUMNS}
    near = f"(a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) < CAST({NEAR * NEAR:.4f} AS DOUBLE)"
    same = "a.street = b.street AND " if on_a_street else ""
    query = (
        "SELECT a.t AS t, a.id AS id, a.x AS x, a.y AS y, b.t AS t_right, b.id AS id_right, b.x AS x_right, "
        f"b.y AS y_right, a.street AS street FROM a {window}, b {window} WHERE {same}{near}"
    )

    def tagged(batches: Sequence[Batch]) -> pd.DataFrame:
        found = _near(batches)
        return found[found["street"] == found["street_right"]] if on_a_street else found

    def pairs(batches: Sequence[Batch]) -> pd.DataFrame:
        return tagged(batches)[["t", "id", "t_right", "id_right"]]

    def with_tags(batches: Sequence[Batch]) -> pd.DataFrame:
        return tagged(batches)[["t", "id", "t_right", "id_right", "tag", "tag_right"]]

    return (
        Side("intake", streams, _halves),
        Side("intake of tags", streams, _halves_with_tags),
        Side("join", streams, _halves, query, plain_rows, pairs),
        Side("join over tags", streams, _halves_with_tags, query, plain_rows, pairs),
        Side("tag-aware join", streams, _halves_with_tags, f"{query} WITH TAGS", joined_pairs, with_tags),
    )


def _near(batches: Sequence[Batch]) -> pd.DataFrame:
    """Who is near whom in a window: partners are in the same square of the map, or in one beside it."""
    rows = reports(batches)
    rows = rows.assign(window=-(-rows["t"] // WINDOW), east=rows["x"] // NEAR, north=rows["y"] // NEAR)
    left, right = (rows[rows["id"] % 2 == half] for half in (0, 1))
    found = []
    for east, north in itertools.product((-1, 0, 1), repeat=2):
        beside = right.assign(east=right["east"] + east, north=right["north"] + north)
        both = left.merge(beside, on=["window", "east", "north"], suffixes=("", "_right"))
        across, along = both["x"] - both["x_right"], both["y"] - both["y_right"]
        found.append(both[across * across + along * along < float(f"{NEAR * NEAR:.4f}")])
    return pd.concat(found)


def _halves(batch: Batch) -> Fed:
    return {name: half.reports for name, half in _in_two(batch)}


def _halves_with_tags(batch: Batch) -> Fed:
    return {name: (half.reports, half.tick_tags) for name, half in _in_two(batch)}


def _in_two(batch: Batch) -> Iterable[tuple[str, Batch]]:
    """Objects send to one of two providers, by their numbers."""
    even = batch.column("id").astype(np.int64) % 2 == 0
    return ("a", batch.part(even)), ("b", batch.part(~even))


def reports(batches: Sequence[Batch]) -> pd.DataFrame:
    """All reports, with what each is tagged with or an empty text."""
    names = np.array([*EMOTIONS.words, ""], dtype=object)
    assert UNTAGGED == -1  # the last of them
    parts = [
        batch.reports.select(["t", "id", "street", "x", "y"]).to_pandas().assign(tag=names[batch.words])
        for batch in batches
    ]
    return pd.concat(parts, ignore_index=True)
