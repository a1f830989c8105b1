"""The parser, a layer for each subject, each on top of the one before.

base (errors, names, durations) → window → loop → query → tag → extent → statement.
"""
