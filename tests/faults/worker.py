"""A process that pushes until it is killed: `python -m faults.worker FOLDER PUSHES`. It prints how far it has come."""

from __future__ import annotations

import sys
import time

import eddyline
from eddyline.session.spark_run import QUICK_START
from faults.scenario import prepare, pushed, rows_of_push


def main(folder: str, pushes: int) -> None:
    print("starting", flush=True)
    with eddyline.connect(folder, master="local[2]", conf=QUICK_START, batch_rows=20) as db:
        prepare(db)
        print("ready", flush=True)
        for number in range(pushed(db), pushes):
            stream, rows = rows_of_push(number)
            db.stream(stream).push(rows)
            print(number, flush=True)
            time.sleep(0.04)
        db.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
