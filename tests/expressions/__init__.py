"""Scalar and aggregate expressions: from the text of the language to values, names and errors."""
