"""A batch of reports with tags, in the four forms in which tags can come with a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bench.tags.emotions import Emotions
from bench.tags.roads import Traffic

EMOTIONS = Emotions.of_the_dictionary()
#: what is tagged: each report for itself, or all that a base station hears in a tick, in one
TUPLE, STATION = "tuple", "station"
GRAINS = (TUPLE, STATION)
COLUMNS = (
    "t BIGINT, id INTEGER, report INTEGER, kind STRING, type STRING, street INTEGER, station INTEGER, "
    "x DOUBLE, y DOUBLE, speed DOUBLE, next_x DOUBLE, next_y DOUBLE"
)
#: the other fields of a tag, where there are no tick-tags
TAG_COLUMNS = (
    "tag STRING, tag_sign STRING, tag_type STRING, tag_lifespan STRING, tag_mode STRING, tagger STRING, tag_time BIGINT"
)
#: seconds of a window in which objects meet
WINDOW = 5
UNTAGGED = -1
Words = npt.NDArray[np.int64]  # places in EMOTIONS.words, or UNTAGGED


@dataclass(frozen=True)
class Batch:
    """Reports in order, the word that each is tagged with, and where tags begin: one covers all up to the next run."""

    reports: pa.Table
    words: Words
    begins: npt.NDArray[np.bool_]  # a tag stands in front of this report
    grain: str

    def part(self, wanted: npt.NDArray[np.bool_]) -> Batch:
        """Some of the reports, as a stream of their own; each report must have a tag for itself."""
        assert self.grain == TUPLE
        return Batch(self.reports.filter(pa.array(wanted)), self.words[wanted], self.begins[wanted], self.grain)

    @property
    def size(self) -> int:
        return int(self.reports.num_rows)

    @property
    def tags(self) -> int:
        return int(self.begins.sum())

    def column(self, name: str) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = self.reports[name].to_numpy()
        return found

    @cached_property
    def tick_tags(self) -> pa.Table | None:
        """TICK-TAG: tags stand in the stream, in front of what they cover, and come beside the reports."""
        if not self.tags:
            return None
        tagged = np.flatnonzero(self.begins)
        return pa.table({"_before": pa.array(tagged + 1), "_tag": self._texts(tagged)})

    def _texts(self, tagged: npt.NDArray[np.int64]) -> pa.Array:
        """The fields of a tag as JSON, in front of the report it is on; one on several says on how many."""
        names = [{"content": word, "sign": sign} for word, sign in zip(EMOTIONS.words, EMOTIONS.signs(), strict=True)]
        some = [json.dumps({key: value for key, value in each.items() if value}) for each in names]
        texts = pa.array(some).take(pa.array(self.words[tagged]))
        if self.grain == TUPLE:
            return texts
        sizes = pa.array(self._sizes(tagged)).cast(pa.string())
        opened = pc.utf8_slice_codeunits(texts, 0, -1)
        return pc.binary_join_element_wise(opened, ', "applies_to": {"next": ', sizes, "}}", "")

    def _sizes(self, tagged: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """How many reports a tag covers that stands in front of one."""
        key = self.column("t").astype(np.int64) * 1_000 + self.column("station").astype(np.int64)
        ends = np.flatnonzero(np.append(key[1:] != key[:-1], True))
        sizes: npt.NDArray[np.int64] = ends[np.searchsorted(ends, tagged)] - tagged + 1
        return sizes

    @cached_property
    def tag_table(self) -> pa.Table:
        """TABLE: a row for each tag, with what it is linked to."""
        tagged = np.flatnonzero(self.begins)
        linked = self.reports.take(pa.array(tagged))
        link = "id" if self.grain == TUPLE else "station"
        return pa.table({"t": linked["t"], "link": linked[link], **self._fields(tagged)})

    @cached_property
    def extended(self) -> pa.Table:
        """TUPLE: every report has columns for its tag."""
        fields = self._fields(np.arange(self.size))
        return pa.table({**{name: self.reports[name] for name in self.reports.column_names}, **fields})

    def _fields(self, places: npt.NDArray[np.int64]) -> dict[str, pa.Array]:
        words = self.words[places]
        none = words == UNTAGGED
        chosen = pa.array(words, mask=none)
        of = pa.array(EMOTIONS.signs()).take(chosen)

        def where_tagged(text: str) -> pa.Array:
            return pc.if_else(pa.array(none), pa.scalar(None, pa.string()), text)

        return {
            "tag": pa.array(EMOTIONS.words).take(chosen),
            "tag_sign": of,
            "tag_type": where_tagged("subjective"),
            "tag_lifespan": where_tagged("I"),
            "tag_mode": where_tagged("O"),
            "tagger": where_tagged("moving"),
            "tag_time": pa.array(self.column("t")[places], mask=none),
        }

    @cached_property
    def xml(self) -> pa.Table:
        """XML: every report is a text, in which its tag is an element."""
        parts: list[pa.Array | str] = ["<update>"]
        for name in self.reports.column_names:
            parts += [f"<{name}>", self.reports[name].combine_chunks().cast(pa.string()), f"</{name}>"]
        fields = self._fields(np.arange(self.size))
        tags: list[pa.Array | str] = ["<tag"]
        for name in ("sign", "type", "lifespan", "mode"):
            tags += [f' {name}="', fields[f"tag_{name}"], '"']
        tags += [' tagger="', fields["tagger"], '" time="', fields["tag_time"].cast(pa.string()), '">', fields["tag"]]
        options = {"null_handling": "replace", "null_replacement": ""}
        element = pc.binary_join_element_wise(*tags, "</tag>", "", **options)
        element = pc.if_else(pa.array(self.words == UNTAGGED), "", element)
        return pa.table({"t": self.reports["t"], "doc": pc.binary_join_element_wise(*parts, element, "</update>", "")})


class Stream:
    """Batches of one stream, of which so many percent of the reports are tagged; the same seed is the same stream."""

    def __init__(self, share: int, grain: str = TUPLE, per_tick: int = 1_000, seed: int = 7) -> None:
        self._traffic = Traffic(20 * per_tick, per_tick, seed)
        self._draw = np.random.default_rng((seed, 3))
        self._share, self._grain, self._per_tick = share, grain, per_tick

    def batches(self, count: int, rows: int) -> Iterator[Batch]:
        """Batches of about so many rows, and of so many ticks that no window of a join is cut."""
        for _ in range(count):
            reports = self._traffic.batch(max(1, round(rows / self._per_tick / WINDOW)) * WINDOW)
            words, begins = self._tagged(reports)
            yield Batch(reports, words, begins, self._grain)

    def _tagged(self, reports: pa.Table) -> tuple[Words, npt.NDArray[np.bool_]]:
        rows = reports.num_rows
        begins = np.ones(rows, dtype=bool)
        if self._grain == STATION:
            key = reports["t"].to_numpy() * 1_000 + reports["station"].to_numpy()
            begins[1:] = key[1:] != key[:-1]
        runs = np.cumsum(begins) - 1
        count = int(begins.sum())
        words = self._draw.choice(len(EMOTIONS.words), count, p=EMOTIONS.chances)
        words[self._draw.permutation(count)[round(count * self._share / 100) :]] = UNTAGGED
        of_reports: Words = words[runs]
        return of_reports, begins & (of_reports != UNTAGGED)
