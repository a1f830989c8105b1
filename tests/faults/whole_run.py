"""A process that runs the whole scenario: `python -m faults.whole_run FOLDER PUSHES MASTER OUTCOME`."""

from __future__ import annotations

import pickle
import sys
import time
from pathlib import Path

import eddyline
from eddyline.session.spark_run import QUICK_START
from faults.scenario import finish, prepare, push_rest


def main(folder: str, pushes: int, master: str, outcome: str) -> None:
    with eddyline.connect(folder, master=master, conf=QUICK_START, batch_rows=20) as db:
        prepare(db)
        for upto in range(5, pushes, 5):
            push_rest(db, upto)
            print(upto, flush=True)
            time.sleep(0.2)
        Path(outcome).write_bytes(pickle.dumps((finish(db, pushes), db.status())))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
