"""What exists: extents and standing queries."""
