"""Opening a database."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from eddyline.database.core import Core
from eddyline.database.database import Database
from eddyline.log.upkeep import Pace
from eddyline.rules import check_rule_names
from eddyline.spark.engine import BATCH_ROWS
from eddyline.spark.start import start_session


def connect(
    path: str | Path | None = None,
    master: str | None = None,
    *,
    batch_rows: int = BATCH_ROWS,
    clock: Callable[[], int] | None = None,
    heartbeat: float | None = 1.0,
    conf: Mapping[str, str] | None = None,
    without_rules: Iterable[str] = (),
    pace: Pace | None = None,
) -> Database:
    """Open a database, made if it is not there; starts Spark if this process has none.

    - `path`: a folder or storage URL; None for a temporary database, which goes away when it is closed.
    - `master`: any Spark master; None for all cores of this machine.
    - `batch_rows`: how many rows a micro-batch takes at most.
    - `clock`: gives the tick of now, for streams without TIMESTAMP BY; None for the wall clock.
    - `heartbeat`: every so many seconds, time passes for windows over such streams even if nothing comes; None for not.
    - `conf`: settings for Spark, if it has not been started yet.
    - `without_rules`: rules of the optimizer to leave out, as EXPLAIN names them.
    - `pace`: how often the logs are folded and merged, and how long files stay that were merged; None for the usual.

    One process owns a database at a time. After a crash it is opened again like any other: what was pushed is there,
    and every answer once.
    """
    rules = frozenset(without_rules)
    check_rule_names(rules)
    start_session(master, conf=conf)
    temporary = path is None
    root = tempfile.mkdtemp(prefix="eddyline-") if path is None else str(path)
    if "://" not in root:
        root = str(Path(root).absolute())
    return Database(Core(root, master, batch_rows, clock, rules, temporary, pace or Pace()), heartbeat)
