"""CREATE and DROP TAG GROUP, SYNONYMS and ACRONYM: words of the user's own in the dictionary of tags."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.dictionary import ACRONYM, GROUP, SYNONYMS, Words, is_shipped
from eddyline.binder.attach import content_of
from eddyline.binder.position import position_of
from eddyline.catalog.catalog import Catalog
from eddyline.errors import DuplicateName, InvalidDefinition, UnknownName, nearest
from eddyline.language import syntax

_CALLED = {GROUP: "tag group", SYNONYMS: "list of synonyms of", ACRONYM: "acronym"}


@dataclass(frozen=True)
class DefineWords:
    """The dictionary has these words from here on."""

    words: Words


@dataclass(frozen=True)
class DropWords:
    """The dictionary has these words no longer."""

    words: Words


def bind_words(node: syntax.CreateWords, catalog: Catalog) -> DefineWords | None:
    """The words that a statement adds; None if they are there already and IF NOT EXISTS was said."""
    kind, given = node.args["kind"], node.args["words"]
    contents = tuple(content_of(word) for word in given)
    if kind == SYNONYMS and len({content.casefold() for content in contents}) < 2:
        raise InvalidDefinition("one word alone has no synonyms", position_of(given[0]), "list two words or more")
    named = given[0] if kind == SYNONYMS else node.this
    words = Words(kind, contents[0] if kind == SYNONYMS else content_of(named), contents)
    if words.key in catalog.words:
        if node.args.get("exists"):
            return None
        known = catalog.words[words.key]
        hint = f"DROP TAG {kind} {known.name if kind == GROUP else repr(known.name)} first"
        article = "an" if kind == ACRONYM else "a"
        message = f"there is {article} {_CALLED[kind]} {known.name} of yours already"
        raise DuplicateName(message, position_of(named), hint)
    catalog.words[words.key] = words
    return DefineWords(words)


def bind_drop_words(node: syntax.DropWords, catalog: Catalog) -> DropWords | None:
    """The words that a statement takes away; None if there are none and IF EXISTS was said."""
    kind, name = node.args["kind"], node.this.name
    wanted = Words(kind, name, ())
    found = catalog.words.pop(wanted.key, None)
    if found is not None:
        return DropWords(found)
    if node.args.get("exists"):
        return None
    if is_shipped(wanted):
        hint = "only what CREATE TAG has added can be dropped"
        raise InvalidDefinition(
            f"the {_CALLED[kind]} {name} came with Eddyline and stays", position_of(node.this), hint
        )
    guess = nearest(name, [words.name for words in catalog.words.values() if words.kind == kind])
    hint_ = f"did you mean {guess}?" if guess else None
    raise UnknownName(f"there is no {_CALLED[kind]} {name} of yours", position_of(node.this), hint_)
