"""The way of the data in."""
