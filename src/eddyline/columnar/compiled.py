"""Numba, set up so that compiled loops are kept from process to process.

Spark starts Python workers anew all the time; compiling takes seconds, loading what was compiled a fraction of one.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _cache_folder() -> str:
    """A folder that only this user can write to: what is in it is executed.

    Numba's own choice is the package's folder, which may be read-only, or else the home folder, which may not exist.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"eddyline-numba-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    ours = stat.S_ISDIR(found.st_mode) and (not hasattr(os, "getuid") or found.st_uid == user)
    if ours and not found.st_mode & 0o022:
        return str(folder)
    return tempfile.mkdtemp(prefix="eddyline-numba-")


if "NUMBA_CACHE_DIR" not in os.environ:  # before numba is imported: it looks once
    os.environ["NUMBA_CACHE_DIR"] = _cache_folder()

import numba  # noqa: E402


def compiled(signature: str) -> Callable[[_Function], _Function]:
    """Compiles a function for these types alone, without the interpreter's lock, or loads it compiled."""
    return cast("Callable[[_Function], _Function]", numba.njit(signature, cache=True, nogil=True))
