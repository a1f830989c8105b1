"""One process owns a database at a time; a lock that a killed process left behind is taken over."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
from pathlib import Path
from typing import Any

from eddyline.errors import DatabaseInUse, StorageUnusable
from eddyline.log.storage import Storage

LOCK = "lock"


class Lock:
    """Held until `release`, or until the process ends in whatever way.

    On local disks the system itself knows whether the owner lives. Elsewhere the lock is a file that names its owner:
    it is taken over if the owner was a process of this machine that is gone.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._handle: int | None = None
        self._owned = False
        if storage.local:
            self._handle = self._locked(Path(storage.path(LOCK)))
        else:
            owner = storage.read_json(LOCK)
            if owner is not None and _may_live(owner):
                raise _in_use(storage, owner)
            storage.write_json(LOCK, _me())
        self._owned = True

    def _locked(self, path: Path) -> int:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as problem:
            raise StorageUnusable(f"{path.parent} cannot be used: {problem.strerror}") from problem
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            content = os.pread(handle, 4096, 0)
            os.close(handle)
            owner: Any = {}
            with contextlib.suppress(ValueError):
                owner = json.loads(content)
            raise _in_use(self._storage, owner) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(_me()).encode(), 0)
        return handle

    def release(self) -> None:
        if not self._owned:
            return
        self._owned = False
        if self._handle is not None:
            os.close(self._handle)  # the file stays: a new one could be locked by two who wait for it
        else:
            self._storage.delete(LOCK)


def _me() -> dict[str, Any]:
    return {"pid": os.getpid(), "host": socket.gethostname()}


def _may_live(owner: dict[str, Any]) -> bool:
    if owner["host"] != socket.gethostname():
        return True
    try:
        os.kill(owner["pid"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _in_use(storage: Storage, owner: dict[str, Any]) -> DatabaseInUse:
    pid, host = owner.get("pid"), owner.get("host")
    who = "this process" if pid == os.getpid() else f"process {pid}" if pid else "another process"
    where = "" if host in (None, socket.gethostname()) else f" on {host}"
    hint = "close it there first; `eddyline results` reads a database that is in use"
    if where:
        hint += f". If that process is gone for good, delete {storage.path(LOCK)}"
    return DatabaseInUse(f"{storage.root} is in use by {who}{where}", hint=hint)
