"""The dialect as sqlglot knows it: Spark's expressions, our statements."""

from __future__ import annotations

from sqlglot.dialects.spark import Spark

from eddyline.language.parsing.statement import StatementParser
from eddyline.language.printer import Printer
from eddyline.language.tokens import Tokenizer


class Eddyline(Spark):
    """`sqlglot`'s view of the language; `eddyline.language` has the functions to use."""

    Tokenizer = Tokenizer
    Parser: type[StatementParser] = StatementParser
    Generator = Printer
