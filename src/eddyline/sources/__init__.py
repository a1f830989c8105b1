"""The way of the data in: files of an extent → rows that fit their schema, in order, and rows that do not.

1. `files` finds the files that an extent's `path` means and opens them; `options` checks what OPTIONS says.
2. `csv_file`, `json_file` and `parquet_file` take raw rows out of them; `columns` says which column is which.
3. `conversion` makes values of the declared types (`text_value`, `native_value`), within their `limits`, or gives
   `reasons`; `intake` makes arrivals with a tick.
4. `source` is the input of one extent as a whole; `merging` gives several of them one order.
"""

from eddyline.sources.arrival import Arrival, Reject
from eddyline.sources.merging import merged
from eddyline.sources.source import Source, needs_spark, open_source, probably_meant, reach_of, read_table

__all__ = [
    "Arrival",
    "Reject",
    "Source",
    "merged",
    "needs_spark",
    "open_source",
    "probably_meant",
    "reach_of",
    "read_table",
]
