"""Tag groups of whole windows: which tuples belong together, found for all tuples with the same marks at once.

`reference.tag_group` says what a group is. A tuple goes to the group to which its tags together are closest, of those
that were founded before it, and to the oldest of several; if none is close, its first tag founds one. So between two
foundings nothing changes for contents that are compared by themselves, and only sums change for those that are
compared by the objects that carry them. There are as many steps as groups, and each looks at a whole window.

A window comes as a text of its runs, one a line: the number of the run, how many tuples it has, and their marks. Its
parts go as such a text too: the run, the first and the last tuple, the group, its label as JSON, and the marks that
match.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from eddyline.algebra.dictionary import word_of
from eddyline.algebra.marks import Marks, read, written
from eddyline.columnar.tags import each_text, number_of
from eddyline.kernels.tag_closeness import Comparison, Floats, Numbers, added_up, objects_of

#: what a run has for marks if its tuples have none
NOTHING = "null"
_NOBODY = -1


def divided(comparison: Comparison, untagged: bool, windows: pa.Array) -> pa.Array:
    """The parts of windows; without `untagged`, tuples without tags are in none of them."""
    return each_text(windows, lambda text: _Window(comparison, text).parts(untagged))


def labelled(labels: pa.Array) -> pa.Array:
    """Labels as they are shown."""
    return each_text(labels, json.loads)


def places(labels: pa.Array) -> pa.Array:
    """A number for each label that is the same for the same word, in every process."""
    return each_text(labels, lambda label: number_of(word_of(label)), pa.int64())


@dataclass
class _Group:
    founder: str | None  # None: of tuples without tags
    label: str


@dataclass
class _Window:
    """A window in units, which belong to a group as a whole: runs if contents are compared, else single tuples."""

    comparison: Comparison
    text: str
    groups: list[_Group] = field(default_factory=list)

    def __post_init__(self) -> None:
        runs = sorted((int(run), int(size), marks) for run, size, marks in map(_fields, self.text.split("\n")))
        codes: dict[str, int] = {}
        of_runs = np.array([codes.setdefault(marks, len(codes)) for _, _, marks in runs], np.int64)
        sizes = np.array([size for _, size, _ in runs], np.int64)
        numbers = np.array([run for run, _, _ in runs], np.int64)
        repeats = sizes if self.comparison.by_objects else np.ones_like(sizes)
        self.codes: Numbers = np.repeat(of_runs, repeats)
        self.runs: Numbers = np.repeat(numbers, repeats)
        lengths = np.ones_like(self.codes) if self.comparison.by_objects else sizes
        self.last: Numbers = np.cumsum(lengths)
        self.first: Numbers = self.last - lengths + 1
        self.marks: list[Marks] = [() if marks == NOTHING else read(marks) for marks in codes]
        order = np.argsort(self.codes, kind="stable")
        #: by code, its units
        self.units = np.split(order, np.cumsum(np.bincount(self.codes, minlength=len(codes)))[:-1])

    def parts(self, untagged: bool) -> str | None:
        group = self._in_order(self._assigned(untagged))
        texts, which = self._matching(group)
        ends = np.flatnonzero((np.diff(self.runs) != 0) | (np.diff(group) != 0) | (np.diff(which) != 0))
        begins = np.concatenate(([0], ends + 1))
        ends = np.concatenate((ends, [len(group) - 1]))
        kept = group[begins] != _NOBODY
        begins, ends = begins[kept], ends[kept]
        labels = [json.dumps(each.label) for each in self.groups]
        columns = (self.runs[begins], self.first[begins], self.last[ends], group[begins], which[begins])
        lines = [
            f"{run}\t{first}\t{last}\t{number}\t{labels[number]}\t{texts[marks]}"
            for run, first, last, number, marks in zip(*(column.tolist() for column in columns), strict=True)
        ]
        return "\n".join(lines) or None

    def _in_order(self, group: Numbers) -> Numbers:
        """The same with groups that are numbered as they were founded; those without members have no number."""
        numbers, first = np.unique(group[group != _NOBODY], return_index=True)
        order = numbers[np.argsort(first)]
        places = np.full(len(self.groups) + 1, _NOBODY, np.int64)
        places[order] = np.arange(len(order))
        self.groups = [self.groups[number] for number in order.tolist()]
        return places[group]

    def _assigned(self, untagged: bool) -> Numbers:
        """By unit, its group."""
        group = np.full(len(self.codes), _NOBODY, np.int64)
        best = np.zeros(len(self.codes))
        has_tags = np.array([bool(marks) for marks in self.marks])[self.codes]
        if untagged and not has_tags.all():
            self.groups.append(_Group(None, ""))
            group[~has_tags] = 0
        waiting = np.flatnonzero(has_tags)
        while len(waiting):
            at, number = waiting[0], len(self.groups)
            self._found(self.marks[self.codes[at]][0].content.strip())
            rates = self._rates(number)
            closer = rates > best
            closer[:at] = False
            group[closer], best[closer] = number, rates[closer]
            group[at], best[at] = number, np.inf  # whoever comes later, it stays here
            waiting = waiting[(waiting > at) & (best[waiting] == 0)]
        return group

    def _found(self, founder: str) -> None:
        function = self.comparison.function
        name = function.dictionary.group_of(founder) if function.name == "dictionary" else None
        self.groups.append(_Group(founder, name or founder))

    def _rates(self, group: int) -> Floats:
        """How close each unit is to a group, all its tags together."""
        rates = np.zeros(len(self.codes))
        for code, close in self._closeness(group):
            rates[self.units[code]] = added_up(close)
        return rates

    def _matching(self, group: Numbers) -> tuple[list[str], Numbers]:
        """The texts of marks by which tuples belong to their groups, and by unit, which one it is."""
        texts, which = [""], np.zeros(len(self.codes), np.int64)
        for number in np.unique(group[group != _NOBODY]).tolist():
            for code, close in self._closeness(number):
                here = group[self.units[code]] == number
                if not here.any():
                    continue
                close = np.broadcast_to(close, (len(close), len(here)))[:, here]
                patterns, found = np.unique(close > 0, axis=1, return_inverse=True)
                which[self.units[code][here]] = len(texts) + found.ravel()
                for pattern in patterns.T:
                    matching = [mark for mark, matches in zip(self.marks[code], pattern, strict=True) if matches]
                    texts.append(written(matching) or "")
        return texts, which

    def _closeness(self, group: int) -> Iterator[tuple[int, Floats]]:
        """By code, how close each of its tags is to a group: a row for each tag, a column for each unit or for all."""
        founder = self.groups[group].founder
        if founder is None:
            return
        word = word_of(founder)
        if self.comparison.by_objects:
            by_word = {each: self._by_objects(each, word) for each in self._words}
        else:
            close = self.comparison.of_contents(self._contents, founder)
            by_content = dict(zip(self._contents, close, strict=True))
        for code, marks in enumerate(self.marks):
            rows = []
            for mark in marks:
                own = word_of(mark.content)
                if self.comparison.by_objects:
                    row = by_word[own][self.units[code]]
                else:
                    row = np.array([by_content[mark.content]])
                # a word is always close to itself, even if too few objects carry it to reach a threshold
                rows.append(np.maximum(row, 1.0) if own == word else row)
            if rows:
                yield code, np.stack(rows)

    @cached_property
    def _contents(self) -> list[str]:
        return list(dict.fromkeys(mark.content for marks in self.marks for mark in marks))

    @cached_property
    def _words(self) -> list[str]:
        return list(dict.fromkeys(map(word_of, self._contents)))

    @cached_property
    def _objects(self) -> list[dict[str, frozenset[int | None]]]:
        return [dict(objects_of(marks)) for marks in self.marks]

    def _by_objects(self, word: str, other: str) -> Floats:
        """How close two words are when each tuple has come, by the objects so far."""
        nothing: frozenset[int | None] = frozenset()
        pairs = [(objects.get(word, nothing), objects.get(other, nothing)) for objects in self._objects]
        counts = np.array([(len(one & two), len(one), len(two)) for one, two in pairs], np.int64)
        both, one, two = np.cumsum(counts[self.codes], axis=0).T
        return self.comparison.of_objects(both, one, two)


def _fields(line: str) -> tuple[str, str, str]:
    run, size, marks = line.split(" ", 2)
    return run, size, marks
