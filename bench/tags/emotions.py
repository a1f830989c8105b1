"""What people say when they tag their reports: the emotions of the dictionary, some more often than others."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources

import numpy as np
import numpy.typing as npt

#: whether a group is meant well
SIGNS: dict[str, str | None] = {"happy": "+", "sad": "-", "angry": "-", "anxious": "-", "neutral": None}
#: of the second experiment
WANTED = ("sad", "angry")


@dataclass(frozen=True)
class Emotions:
    """Words, the group of each and how likely it is."""

    words: tuple[str, ...]
    groups: tuple[str, ...]
    chances: npt.NDArray[np.float64]

    @classmethod
    def of_the_dictionary(cls) -> Emotions:
        text = resources.files("eddyline.algebra").joinpath("dictionary.toml").read_text(encoding="utf-8")
        groups = tomllib.loads(text)["emotions"]
        # the words of a group in turns with those of the others, so that no group has all the frequent ones
        pairs = sorted(
            (place, word, group)
            for group, words in groups.items()
            for place, word in enumerate(word for word in words if word.isascii())
        )
        likely = 1.0 / np.arange(1, len(pairs) + 1)
        names = tuple(word for _, word, _ in pairs)
        return cls(names, tuple(group for _, _, group in pairs), likely / likely.sum())

    def signs(self) -> list[str | None]:
        return [SIGNS[group] for group in self.groups]

    def wanted(self) -> npt.NDArray[np.bool_]:
        """Of each word, whether the second experiment asks for it."""
        return np.isin(self.groups, WANTED)

    def wanted_words(self) -> list[str]:
        return [word for word, group in zip(self.words, self.groups, strict=True) if group in WANTED]
