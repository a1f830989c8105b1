"""Golden scripts: the papers' examples with answers worked out by hand, run on every engine (README.md)."""
