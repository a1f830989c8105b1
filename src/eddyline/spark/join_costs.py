"""The prices of the planner's cost model on this machine: measured when a join first needs them, and kept."""

from __future__ import annotations

import threading
from dataclasses import asdict
from dataclasses import fields as dataclass_fields

from eddyline.kernels.calibration import Measured, measured
from eddyline.log.storage import Storage
from eddyline.planner.cost import Costs

#: in the folder of a database
FILE = "join_costs.json"
#: what a stage costs in each batch beside its statement: to be put together and sent to a task
_STAGE = 0.01

_guard = threading.Lock()
_of_this_process: Measured | None = None


class JoinCosts:
    """C_i, C_d, C_j and C_c. Deleting the file has them measured again."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: Measured | None = None

    @property
    def known(self) -> Measured | None:
        """What was measured; None if nobody has needed it yet."""
        if self._known is None:
            found = self._storage.read_json(FILE)
            fields = {field.name for field in dataclass_fields(Measured)}
            # an earlier version may have measured something else, or that to purge costs nothing
            kept = found is not None and found.keys() == fields and found["purge"] > 0
            self._known = Measured(**found) if kept and found is not None else None
        return self._known

    @property
    def if_known(self) -> Costs | None:
        """For batches of a second, if they were measured before: nobody waits for that who only asks."""
        return None if self.known is None else self.costs(1.0)

    def costs(self, seconds_of_batch: float) -> Costs:
        """For batches that take in so many seconds of the streams."""
        with _guard:
            if self.known is None:
                self._known = _measured()
                self._storage.write_json(FILE, asdict(self._known))
        assert self._known is not None
        found = self._known
        seconds = max(seconds_of_batch, 1e-6)
        node, step, scan = (_STAGE + found.statement) / seconds, found.step / seconds, found.scan / seconds
        return Costs(found.insert, found.purge, found.join, found.compare, node, step, scan, seconds, found.answer)


def _measured() -> Measured:
    """Once for each process, however many databases it opens."""
    global _of_this_process
    if _of_this_process is None:
        _of_this_process = measured()
    return _of_this_process
