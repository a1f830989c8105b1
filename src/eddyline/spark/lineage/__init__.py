"""Which revisions of the input changed which answers, found from the logs when somebody asks.

Nothing of it is computed before. A batch remembers that it took revisions in and where they are
(`log/revision_log.py`); `versions` reads what they changed, `places` sends both versions of each tuple through the plan
of a query, up to where it groups, and `causes` joins that with the rows that the batch has changed in the query's log.
"""
