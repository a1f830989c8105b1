"""The `eddyline` command: `main` says what it takes, `run`, `check` and `fmt` do it, `messages` answers for errors."""
