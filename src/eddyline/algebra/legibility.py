"""Whether a text can be read at all: the rules by which a tag's type is *junk* or an unknown *acronym*.

Only Latin letters are judged, by the shape of their words: a word has a vowel, and its consonants stand in short runs.
Any other script is taken for legible, because its words have no such shape that we know.
"""

from __future__ import annotations

import re
import unicodedata

_VOWELS = "aeiouyæœøıəɛ"
#: several letters that are one sound, so that "strengths" and "Durchschnitt" are words
_ONE_SOUND = re.compile("sch|ch|ck|gh|ng|ph|sh|sz|th|tz|cz|rz|wh")
#: FJKDSLAD has six consonants in a row; no word of the languages we tried has more than five sounds
_UNPRONOUNCEABLE = re.compile(f"[^{_VOWELS}]{{6}}")
_KEYBOARD_ROWS = ("qwertyuiop", "qwertzuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm", "azerty")


def is_legible(text: str) -> bool:
    """Whether anything in the text is a word.

    >>> is_legible("heat then measure"), is_legible("J"), is_legible("FJKDSLAD"), is_legible("事故"), is_legible("?!")
    (True, False, False, True, False)
    """
    return any(_is_word(word) for word in re.findall(r"[^\W_]+", text.casefold()))


def looks_like_acronym(text: str) -> bool:
    """Two to four capitals that nobody could pronounce.

    >>> looks_like_acronym("GFC"), looks_like_acronym("FIRE"), looks_like_acronym("J"), looks_like_acronym("TTTT")
    (True, False, False, False)
    """
    letters = text.strip()
    return re.fullmatch("[BCDFGHJKLMNPQRSTVWXZ]{2,4}", letters) is not None and len(set(letters)) > 1


def _is_word(word: str) -> bool:
    if not any(character.isalpha() for character in word):
        return False  # a number alone does not say of what
    if not any("LATIN" in unicodedata.name(character, "") for character in word):
        return True
    if any(character.isdigit() for character in word):
        return True  # "A4", "2nd"
    letters = _without_accents(word)
    if len(letters) < 2 or len(set(letters)) == 1:
        return False
    if len(letters) >= 4 and any(letters in row or letters[::-1] in row for row in _KEYBOARD_ROWS):
        return False
    sounds = _ONE_SOUND.sub("t", letters)
    return any(letter in _VOWELS for letter in letters) and not _UNPRONOUNCEABLE.search(sounds)


def _without_accents(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
