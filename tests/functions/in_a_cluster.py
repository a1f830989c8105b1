"""A program whose functions run in other processes: a costly query goes into a lane beside a cheap one."""

import json
import os
import sys
import time

import eddyline

HERE = os.getpid()


def elsewhere(x):
    time.sleep(0.7)
    return [None if os.getpid() == HERE else value * 2 for value in x.to_pylist()]


with eddyline.connect(master=sys.argv[1]) as db:
    db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
    db.function("elsewhere", elsewhere, returns="BIGINT", arguments=["INTEGER"])
    slow = db.sql("CREATE QUERY slow AS SELECT elsewhere(x) AS y FROM s WHERE elsewhere(x) > 2")
    cheap = db.sql("CREATE QUERY cheap AS SELECT x FROM s")
    lanes = set()
    for push in range(6):
        db.stream("s").push([(push, push)])
        db.flush()
        lanes.update(db._core.engine.executor._lanes.names)
    found = {
        query: [answer.row[0] for answer in handle.fetch()] for query, handle in (("slow", slow), ("cheap", cheap))
    }
    print(json.dumps({**found, "lanes": sorted(lanes)}))
