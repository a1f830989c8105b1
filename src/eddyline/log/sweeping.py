"""Files that nothing refers to: merged into others, beyond retention, of dropped queries, or left by a crash."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from eddyline.log.linked import rows_of_tags
from eddyline.log.merging import MERGED
from eddyline.log.storage import UNFINISHED, Storage

STREAMS, RESULTS = "streams", "results"
#: what begins with the number of an entry (streams) or of a batch (results)
_NUMBERED = re.compile(r"(\d{12})([rt]|-[0-9a-f]{32})?\.(?:parquet|dealt|[a-z-]+\.linked(?:\.tags)?)")
#: a file that is being written for longer than that is not finished by anybody
_ABANDONED = 24 * 3600.0
#: by how much the clock of the files may be behind ours
_CLOCKS = 1.0


@dataclass(frozen=True)
class Wanted:
    """What must stay: the files that are referred to, and those that may be about to be."""

    paths: Collection[str]
    entry: int  # segments of streams after this entry may be named by one that is being appended
    batch: int  # results after this batch are written by tasks that are running
    merging: Collection[str] = ()  # targets of merges that run
    #: by stage, the batch from which on a lane may be writing, whose files are committed by a later one
    lanes: Mapping[str, int] = field(default_factory=dict)

    def last_of(self, path: str) -> int:
        """Up to which number a file that nothing refers to is garbage."""
        if path.startswith(f"{STREAMS}/"):
            return self.entry
        stage = path.removeprefix(f"{RESULTS}/").rpartition("/")[0]
        return min(self.batch, self.lanes.get(stage, self.batch + 1) - 1)


class Sweeper:
    """Deletes what was seen twice without anybody referring to it, some time apart: a reader may still be at it."""

    def __init__(self, storage: Storage, grace: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._storage = storage
        self._grace, self._clock = grace, clock
        self._began = time.time()
        self._seen: dict[str, tuple[int, float]] = {}  # in which sweep and when it was first seen unreferenced
        self._sweeps = 0

    def sweep(self, wanted: Callable[[], Wanted], at_once: bool = False) -> int:
        """Gives the number of files deleted. `at_once`: nobody can be reading, because we have only just begun.

        The folder is listed first: a file that is referred to before we ask what is wanted is not mistaken for garbage.
        """
        listed = [*self._storage.files_below(STREAMS), *self._storage.files_below(RESULTS)]
        keep = wanted()
        garbage = [path for path, written in listed if self._is_garbage(path, written, keep, at_once)]
        self._sweeps += 1
        now = self._clock()
        self._seen = {path: self._seen.get(path, (self._sweeps, now)) for path in garbage}
        deleted = 0
        for path, (sweep, since) in list(self._seen.items()):
            if at_once or (self._sweeps >= sweep + 2 and now >= since + self._grace):
                self._storage.delete(path)
                del self._seen[path]
                deleted += 1
        return deleted

    def _is_garbage(self, path: str, written: float, keep: Wanted, at_once: bool) -> bool:
        name = path.rpartition("/")[2]
        if name.endswith(UNFINISHED):
            # somebody may have begun to push before the first sweep: only what is older than we was left by a crash
            return written < self._began - _CLOCKS if at_once else time.time() - written > _ABANDONED
        if rows_of_tags(path) in keep.paths or path in keep.merging:
            return False
        if name.startswith(MERGED):
            return True
        numbered = _NUMBERED.fullmatch(name)
        if numbered is None:
            return False  # not ours
        return int(numbered[1]) <= keep.last_of(path)
