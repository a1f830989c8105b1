"""Many standing queries at once: Eddyline beside what one could use instead, on the same data: `make bench-many`.

run.py             options, the order of things, the checks
ticks.py           the stream          queries.py   the queries and their constants
answers.py         what every query must answer (numpy, without any of the engines), and the comparison
worker.py          each side runs in a process of its own, which can be ended at any time
spark_sides.py     (a) a streaming query each, (b) one that joins with the broadcast predicates
flink_side.py      (c) PyFlink, one statement set; flink_job.py is the half that runs in PyFlink's own venv
eddyline_side.py   (d)
report.py          tables, JSON, plot  aims.py      what issue 4 asks for
"""
