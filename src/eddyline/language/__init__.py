"""From text to syntax trees and back.

`parse_script` cuts a script into statements (`tokens.py`), parses each (`parser.py`, on sqlglot's Spark dialect) into
the nodes of `syntax.py`; `to_sql` prints a node as SQL that parses to the same tree (`printer.py`); `format_script`
lays a whole script out.
"""

from eddyline.language.layout import format_script
from eddyline.language.pieces import Piece, pieces
from eddyline.language.printer import to_sql
from eddyline.language.script import Statement, parse_condition, parse_piece, parse_script, parse_statement

__all__ = [
    "Piece",
    "Statement",
    "format_script",
    "parse_condition",
    "parse_piece",
    "parse_script",
    "parse_statement",
    "pieces",
    "to_sql",
]
