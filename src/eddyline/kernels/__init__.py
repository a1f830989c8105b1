"""What runs inside a Spark task, on Arrow data that the task has opened itself.

The driver puts the work of a stage together as a sheet of SQL (`sheet`), in Spark's dialect, which is written over into
that of the kernel, DuckDB (`dialect`). Only plans that mean exactly the same there are taken (`fits`). The task reads
the segments it is referred to, computes, and writes its results as segments (`task`).

Predicates of many queries that differ in their constants only have a kernel of their own (`grouped`).
"""
