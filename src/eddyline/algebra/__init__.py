"""The logical algebra: what a query computes, whoever runs it.

`node` is the base of all operators; `stream`, `window`, `relational` and `tag` hold them by subject, `loop` the windows
of for-loops; `expression`, `types`, `schema` and `functions` say what is computed from a tuple; `notation` prints a
plan as the papers write it; `answer` is what a query says to its reader. It knows nobody but `eddyline.errors`.
"""
