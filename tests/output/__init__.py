"""The way of the data out."""
