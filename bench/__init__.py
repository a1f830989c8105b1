"""Eddyline beside hand-written Structured Streaming, on the same data, in one run: `make bench`."""
