"""What corrections cost: upstream, downstream, by itself, and beside plain Spark that computes everything again.

    make bench-revisions    or    python -m bench.revisions [--windows 10,1000,1000000] [--shares 0,0.01,0.5] …

One stream of which a history has come, then batches of which some rows correct earlier ones, drawn from all of the
history. Each way of correcting has a database of its own; a batch is given to one after the other, so that whatever
else the machine does meets all of them. Answers are compared with what numpy works out from the corrected data.
"""
