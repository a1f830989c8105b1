"""Eddyline."""
