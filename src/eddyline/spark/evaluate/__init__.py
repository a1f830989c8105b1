"""What a stage of a query gives in one micro-batch, as Spark DataFrames over exactly the segments it needs.

- `batch` is what a stage sees of the world: logs, clock, tables.
- `tuples` reads stretches of logs and applies selections and projections.
- `timed`, `counted` and `looped` make windows of time, of rows and of for-loops; `tables` scans.
- `windows` is a list of windows as DataFrames, `relational` the operators on it, `product` Figure 7, `slices` the
  aggregates that overlapping windows share.
- `relation` computes CQL relations as rows with lifetimes.
- `reach` says, without touching data, which windows a batch can change and which ticks they need.
"""
