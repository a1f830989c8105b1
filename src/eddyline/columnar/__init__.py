"""Tuples as columns: Arrow tables with the values, ticks, indexes and revisions of a stream."""
