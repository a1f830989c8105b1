"""A process that pushes until it is killed: `python -m faults.worker FOLDER PUSHES [PLACE BATCHES]`.

It prints how far it has come. With a place it kills itself there (`dying`).
"""

from __future__ import annotations

import random
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from unittest.mock import patch

import eddyline
from eddyline.session.spark_run import QUICK_START
from faults.dying import RESTLESS, STATEMENT, dying
from faults.scenario import look_back, prepare, pushed, rows_of_push
from laws.restless import Fickle, Restless, spread_thin


def main(folder: str, pushes: int, place: str = "", batches: str = "1") -> None:
    """Queries run in lanes at random, and the past is answered in many steps: it is killed in the middle of them."""
    print("starting", flush=True)
    restless = patch("eddyline.database.core.Policy", lambda: Restless(random.Random()))
    ending = dying(place, int(batches)) if place else nullcontext()
    changing: AbstractContextManager[object] = nullcontext()
    thin: AbstractContextManager[object] = nullcontext()
    if place in RESTLESS:
        changing = patch("eddyline.spark.executor.Corrections", lambda: Fickle(random.Random()))
        thin = spread_thin()
    with (
        ending,
        restless,
        changing,
        thin,
        eddyline.connect(folder, master="local[2]", conf=QUICK_START, batch_rows=20) as db,
    ):
        prepare(db)
        print("ready", flush=True)
        if place == STATEMENT:
            db.sql("UPDATE a SET v = v + 1 WHERE index > 2")
        for number in range(pushed(db), pushes):
            if number >= 40:
                look_back(db)
            stream, rows = rows_of_push(number)
            db.stream(stream).push(rows)
            if number % 9 == 8:
                db.sql(f"FLUSH REVISIONS{'' if number % 2 else ' OF rough'}")
            print(number, flush=True)
            time.sleep(0.04)
        db.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
