"""Join trees as people write them: `((a b) c d)` stores what a and b give, and joins it with c and d."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eddyline.errors import InvalidDefinition, nearest
from eddyline.planner.tree import JTree, leaf, node

_WORD = re.compile(r"\s*(?:([()])|'([^']+)'|([^\s(),']+)|(,))")


def written(tree: JTree, names: Sequence[str]) -> str:
    """
    >>> from eddyline.planner.tree import tree_of
    >>> written(tree_of(((0, 1), 2)), ["a", "b", "input 3"])
    "((a b) 'input 3')"
    """
    if tree.is_leaf:
        name = names[tree.mask.bit_length() - 1]
        return name if re.fullmatch(r"[^\s(),']+", name) else f"'{name}'"
    return f"({' '.join(written(child, names) for child in tree.children)})"


def tree_written(text: str, names: Sequence[str]) -> JTree:
    """The tree that a text says; every input stands in it once.

    >>> tree_written("((a, b) c)", ["a", "b", "c"]).states()
    [3]
    """
    stack: list[list[JTree]] = [[]]
    at = 0
    text = text.rstrip()
    if not text:
        raise InvalidDefinition("the join tree is empty", hint=f"write {_example(names)}, for one")
    while at < len(text):
        found = _WORD.match(text, at)
        if found is None:
            raise InvalidDefinition(f"a join tree is written as {_example(names)}, not {text}")
        at = found.end()
        bracket, quoted, word, _ = found.groups()
        if bracket == "(":
            stack.append([])
        elif bracket == ")":
            if len(stack) < 2:
                raise InvalidDefinition(f"the join tree {text} closes a bracket that was not opened")
            stack[-2].append(_node(stack.pop(), text))
        elif quoted or word:
            stack[-1].append(_leaf(quoted or word, names))
    if len(stack) > 1:
        raise InvalidDefinition(f"the join tree {text} opens a bracket that is not closed")
    (made,) = stack
    tree = made[0] if len(made) == 1 else _node(made, text)
    missing = [name for at, name in enumerate(names) if not tree.mask >> at & 1]
    if missing:
        hint = f"write {_example(names)}, for one"
        raise InvalidDefinition(f"the join tree {text} leaves out {', '.join(missing)}", hint=hint)
    return tree


def _node(children: list[JTree], text: str) -> JTree:
    if len(children) < 2:
        raise InvalidDefinition(f"each bracket of the join tree {text} joins two inputs or more")
    return node(children)


def _leaf(name: str, names: Sequence[str]) -> JTree:
    known = [one.lower() for one in names]
    if name.lower() not in known:
        guess = nearest(name, list(names))
        hint = f"did you mean {guess}?" if guess else f"there is {', '.join(names)}"
        raise InvalidDefinition(f"the join has no input {name}", hint=hint)
    return leaf(known.index(name.lower()))


def _example(names: Sequence[str]) -> str:
    first, second, *others = names
    return f"'({' '.join([f'({first} {second})', *others])})'"
