"""A program whose workers are processes of their own: they read files that stay where they are."""

import json
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import eddyline

folder = Path(tempfile.mkdtemp())
pq.write_table(pa.table({"t": range(10), "x": [n % 4 for n in range(10)]}), folder / "0.parquet")
with eddyline.connect(master=sys.argv[1]) as db:
    db.sql(f"""CREATE STREAM s (t BIGINT, x BIGINT) TIMESTAMP BY t
               USING parquet OPTIONS (path '{folder}', copy 'false')""")
    large = db.queries("SELECT t FROM s WHERE x > :x", {"name": ["a", "b"], "x": [1, 2]})
    sums = db.sql("CREATE QUERY sums AS SELECT SUM(x) AS n FROM s [FROM NOW-4 TO NOW SLIDE 5 SEC]")
    db.run()
    found = {name: [answer.row[0] for answer in db.query(name).fetch()] for name in large.names}
    found["sums"] = [answer.rows[0][0] for answer in sums.fetch()]
    print(json.dumps(found))
