"""A script as a list of statements, each with its place in the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import ParseError

from eddyline.errors import EddylineError, Position, SyntaxProblem
from eddyline.language.balance import balance_connectors
from eddyline.language.dialect import Eddyline
from eddyline.language.parsing.base import Misparse
from eddyline.language.parsing.statement import StatementParser
from eddyline.language.pieces import Piece
from eddyline.language.tokens import Chunk, statements, tokenize

#: parsing, binding and evaluation are recursive; what is nested deeper than this is refused, not tried
MAX_DEPTH = 200


@dataclass(frozen=True)
class Statement:
    """One statement: its tree and where it stands."""

    tree: exp.Expr
    position: Position


def parse_script(text: str, errors: list[EddylineError] | None = None) -> list[Statement]:
    """All statements of a script.

    Without `errors` the first problem is raised; with it, every problem is put there and the other statements are
    still returned.
    """
    found: list[Statement] = []
    try:
        chunks = statements(tokenize(text))
    except SyntaxProblem as problem:
        if errors is None:
            raise
        errors.append(problem)
        # what stands before the statement that cannot be cut into tokens is still looked at
        whole = text.rfind(";", 0, problem.position.start) + 1 if problem.position else 0
        return parse_script(text[:whole], errors) if whole else found
    for chunk in chunks:
        try:
            found.extend(_statements_of(chunk, text))
        except SyntaxProblem as problem:
            if errors is None:
                raise
            errors.append(problem)
    return found


def parse_piece(piece: Piece, script: str) -> list[Statement]:
    """The statements of a piece of a script; their places are those in the script."""
    try:
        tokens = tokenize(piece.text)
    except SyntaxProblem as problem:
        at = problem.position
        problem.position = at and Position(piece.start + at.start, piece.start + at.end)
        raise
    for token in tokens:
        token.start += piece.start
        token.end += piece.start
    return [statement for chunk in statements(tokens) for statement in _statements_of(chunk, script)]


def parse_statement(text: str) -> exp.Expr:
    """The one statement of a text."""
    found = parse_script(text)
    if len(found) != 1:
        raise SyntaxProblem(f"expected one statement, found {len(found)}", Position(0, max(1, len(text))))
    return found[0].tree


def parse_condition(text: str, start: int = 0) -> exp.Expr:
    """A condition that stands inside of a text, at `start`."""
    if not text.strip():
        raise SyntaxProblem("there is no condition", Position(start, start + max(1, len(text))))
    try:
        tokens = tokenize(text)
    except SyntaxProblem as problem:
        at = problem.position
        problem.position = at and Position(start + at.start, start + at.end)
        raise
    for token in tokens:
        token.start += start
        token.end += start
    chunk = Chunk(tokens)
    (tree,) = _trees_of(chunk, lambda parser: [parser.condition_of(tokens, text)])
    return tree


def _statements_of(chunk: Chunk, text: str) -> list[Statement]:
    trees = _trees_of(chunk, lambda parser: parser.statements_of(chunk.tokens, text))
    return [Statement(tree, _position(tree, chunk)) for tree in trees]


def _trees_of(chunk: Chunk, parse: Callable[[StatementParser], list[exp.Expr]]) -> list[exp.Expr]:
    _check_depth(chunk)
    try:
        trees = parse(StatementParser(dialect=Eddyline()))
    except Misparse as problem:
        raise SyntaxProblem(problem.message, problem.position, problem.hint) from None
    except ParseError:  # from the few places where sqlglot does not say what is wrong
        raise SyntaxProblem("the statement cannot be read", chunk.position) from None
    except RecursionError:
        raise SyntaxProblem("the statement is nested too deeply", chunk.position) from None
    for tree in trees:
        balance_connectors(tree)
        if _depth(tree) > 2 * MAX_DEPTH:
            raise SyntaxProblem("the statement is nested too deeply", chunk.position)
    return trees


def _position(tree: exp.Expr, chunk: Chunk) -> Position:
    start, end = tree.meta.get("start"), tree.meta.get("end")
    return chunk.position if start is None or end is None else Position(start, end + 1)


def _depth(tree: exp.Expr) -> int:
    deepest, level = 0, [tree]
    while level:
        deepest += 1
        level = [child for node in level for child in node.iter_expressions()]
    return deepest


def _check_depth(chunk: Chunk) -> None:
    depth = 0
    for token in chunk.tokens:
        if token.text in ("(", "[", "{"):
            depth += 1
            if depth > MAX_DEPTH:
                raise SyntaxProblem("the statement is nested too deeply", Position(token.start, token.end + 1))
        elif token.text in (")", "]", "}"):
            depth -= 1
