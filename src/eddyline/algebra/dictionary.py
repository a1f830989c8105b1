"""The dictionary: which type a tag has and which tags mean the same (Stream Tag Framework sections 3.2 and 4.1)."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import resources

from eddyline.algebra.legibility import is_legible, looks_like_acronym


@lru_cache(maxsize=4_096)  # contents come again and again
def word_of(content: str) -> str:
    """A tag's content as tags are compared: without case, with single spaces.

    >>> word_of("  Panic   Attack ")
    'panic attack'
    """
    return " ".join(unicodedata.normalize("NFC", content).casefold().split())


def _phrase(text: str) -> str:
    """The words alone: hyphens and punctuation count as spaces, unless there is nothing else.

    >>> _phrase("Self-Loathing!")
    'self loathing'
    """
    words = re.sub(r"[^\w']+|_+", " ", word_of(text)).strip()
    return words or word_of(text).replace("\ufe0f", "")  # an emoji with or without its variation selector


def _phrases(words: Iterable[str]) -> frozenset[str]:
    return frozenset(_phrase(word) for word in words)


#: what a statement may add to the dictionary
GROUP, SYNONYMS, ACRONYM = "GROUP", "SYNONYMS", "ACRONYM"


@dataclass(frozen=True)
class Words:
    """What one CREATE TAG statement adds: a group of emotions, words of one meaning, or what an acronym means."""

    kind: str
    name: str  # of the group, the first of the synonyms, or the acronym
    words: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        """The same for what cannot stand beside each other."""
        return self.kind, _acronym(self.name) if self.kind == ACRONYM else _phrase(self.name)


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Known words. It never changes: the `add_…` methods give a larger dictionary."""

    opinions: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    faces: frozenset[str] = frozenset()
    acronyms: Mapping[str, frozenset[str]] = field(default_factory=dict)  # to what each may mean
    emotions: Mapping[str, frozenset[str]] = field(default_factory=dict)  # the words of each group
    synonyms: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def add_group(self, name: str, words: Iterable[str]) -> Dictionary:
        """With a group of emotions, or with more words in one that exists."""
        return replace(self, emotions=_extended(self.emotions, name, _phrases(words)))

    def add_synonyms(self, *words: str) -> Dictionary:
        """With words of one meaning; the first stands for all of them."""
        return replace(self, synonyms=_extended(self.synonyms, _phrase(words[0]), _phrases(words)))

    def add_acronym(self, acronym: str, *meanings: str) -> Dictionary:
        return replace(self, acronyms=_extended(self.acronyms, _acronym(acronym), _phrases(meanings)))

    def classify(self, content: str) -> str:
        """The type of a tag (section 3.2). The first rule that fits decides:

        1. a known acronym, or up to four capitals without a vowel: *acronym*;
        2. a face, an emotion, or an opinion anywhere in it: *subjective*, because one must know whose it is;
        3. the state of a thing anywhere in it: *physical*;
        4. nothing that could be read as a word: *junk*;
        5. else it says what anyone would say: *objective*.

        >>> [shipped().classify(content) for content in ("GFC", "Bad Smell", "Icy Road", "FJKDSLAD", "Thunderstorm")]
        ['acronym', 'subjective', 'physical', 'junk', 'objective']
        """
        phrase = _phrase(content)
        if _acronym(content) in self.acronyms or looks_like_acronym(content):
            return "acronym"
        if (
            content.strip() in self.faces
            or _is_emoji(content)
            or self._emotion(phrase)
            or _any_in(self.opinions, phrase)
        ):
            return "subjective"
        if _any_in(self.states, phrase):
            return "physical"
        return "objective" if is_legible(phrase) else "junk"

    def same_meaning(self, first: str, second: str) -> bool:
        """Whether two contents are the same word, synonyms, an acronym and its meaning, or of one emotion group.

        >>> shipped().same_meaning("Accident", "Disaster"), shipped().same_meaning("Joyful", "Sad")
        (True, False)
        """
        return bool(self.senses(first) & self.senses(second))

    def group_of(self, content: str) -> str | None:
        """The name of the emotion or of the synonyms to which a content belongs.

        >>> shipped().group_of("Excited"), shipped().group_of("Crash"), shipped().group_of("Fireworks")
        ('happy', 'accident', None)
        """
        phrase = _phrase(content)
        return self._emotion(phrase) or _group_with(self.synonyms, phrase)

    def _emotion(self, phrase: str) -> str | None:
        return _group_with(self.emotions, phrase)

    def senses(self, content: str) -> frozenset[str]:
        """What a content can mean: contents with one of these in common have the same meaning."""
        phrases = {_phrase(content)} | self.acronyms.get(_acronym(content), frozenset())
        groups = {
            f"{kind}: {name}"
            for kind, named in (("emotion", self.emotions), ("synonyms", self.synonyms))
            for name, words in named.items()
            if words & phrases
        }
        return frozenset(phrases | groups)


@cache
def shipped() -> Dictionary:
    """The dictionary that comes with Eddyline (`dictionary.toml`)."""
    data = tomllib.loads(resources.files("eddyline.algebra").joinpath("dictionary.toml").read_text("utf-8"))
    return Dictionary(
        opinions=_phrases(data["opinions"]),
        states=_phrases(data["states"]),
        faces=frozenset(data["faces"]),
        acronyms={_acronym(name): _phrases(meanings) for name, meanings in data["acronyms"].items()},
        emotions={name: _phrases(words) for name, words in data["emotions"].items()},
        synonyms={_phrase(name): _phrases(words) for name, words in data["synonyms"].items()},
    )


@lru_cache(maxsize=64)
def extended(more: tuple[Words, ...]) -> Dictionary:
    """The shipped dictionary with words of the user's own. Where a word is in several groups, theirs come first.

    >>> extended((Words(SYNONYMS, "car", ("car", "auto")),)).same_meaning("Auto", "CAR")
    True
    """
    found = shipped()
    for words in more:
        if words.kind == GROUP:
            known = next((name for name in found.emotions if _phrase(name) == _phrase(words.name)), words.name)
            found = found.add_group(known, words.words)
        elif words.kind == SYNONYMS:
            found = found.add_synonyms(*words.words)
        else:
            found = found.add_acronym(words.name, *words.words)
    shipped_first = shipped()
    return replace(
        found,
        emotions=_own_first(found.emotions, shipped_first.emotions),
        synonyms=_own_first(found.synonyms, shipped_first.synonyms),
    )


def _own_first(
    groups: Mapping[str, frozenset[str]], known: Mapping[str, frozenset[str]]
) -> Mapping[str, frozenset[str]]:
    return dict(sorted(groups.items(), key=lambda group: group[0] in known))


def is_shipped(words: Words) -> bool:
    """Whether what has this kind and name came with Eddyline."""
    kind, name = words.key
    named = {GROUP: shipped().emotions, SYNONYMS: shipped().synonyms, ACRONYM: shipped().acronyms}[kind]
    return any((known if kind == ACRONYM else _phrase(known)) == name for known in named)


def _acronym(text: str) -> str:
    """
    >>> _acronym("a.s.a.p."), _acronym("gfc")
    ('ASAP', 'GFC')
    """
    return text.strip().replace(".", "").upper()


def _extended(groups: Mapping[str, frozenset[str]], name: str, words: frozenset[str]) -> Mapping[str, frozenset[str]]:
    return {**groups, name: groups.get(name, frozenset()) | words}


def _group_with(groups: Mapping[str, frozenset[str]], phrase: str) -> str | None:
    return next((name for name, words in groups.items() if phrase in words), None)


def _any_in(entries: frozenset[str], phrase: str) -> bool:
    """Whether an entry of one or more words stands in the phrase, on the borders of words."""
    words = phrase.split()
    return any(
        " ".join(words[start:end]) in entries for start in range(len(words)) for end in range(start + 1, len(words) + 1)
    )


def _is_emoji(content: str) -> bool:
    """Symbols and no word: an emoji is how someone feels about it."""
    symbols = [c for c in content if unicodedata.category(c) == "So"]
    return bool(symbols) and not any(c.isalnum() for c in content)
