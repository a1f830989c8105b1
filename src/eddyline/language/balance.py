"""Long chains of AND and OR as balanced trees, so that a thousand conditions are ten levels deep and not a thousand."""

from __future__ import annotations

from sqlglot import exp

#: shorter chains stay as they were parsed
LONG = 32


def balance_connectors(tree: exp.Expr) -> None:
    """Rebuild every long chain in place. AND and OR are associative, and print the same either way."""
    for kind in (exp.And, exp.Or):
        tops = [node for node in tree.find_all(kind) if not isinstance(node.parent, kind)]
        for top in tops:
            parts = _parts(top, kind)
            if len(parts) > LONG:
                top.replace(_balanced(parts, kind))


def _parts(top: exp.Expr, kind: type[exp.Connector]) -> list[exp.Expr]:
    parts: list[exp.Expr] = []
    waiting = [top]
    while waiting:
        node = waiting.pop()
        if isinstance(node, kind):
            waiting += [node.expression, node.this]
        else:
            parts.append(node)
    return parts


def _balanced(parts: list[exp.Expr], kind: type[exp.Connector]) -> exp.Expr:
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return kind(this=_balanced(parts[:middle], kind), expression=_balanced(parts[middle:], kind))
