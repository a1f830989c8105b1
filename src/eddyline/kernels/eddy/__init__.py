"""The eddy: tuples find their way through operators, each of which may drop them, in an order that follows the data.

Which operator is best asked first depends on what it costs and on how many tuples it drops, and both change while data
flows. So the order is chosen again and again from what was observed (Avnur and Hellerstein's eddies, with a sample of
tuples in place of a lottery, so that operators that drop the same tuples are not both put first).
"""
