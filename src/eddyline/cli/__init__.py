"""The `eddyline` command.

`main` says what it takes, `run`, `check`, `fmt` and `results` do it, `messages` answers for errors.
"""
