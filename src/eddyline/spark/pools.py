"""Pools of Spark's fair scheduler: jobs of the common batch come first, those of lanes share by priority."""

from __future__ import annotations

from pathlib import Path

#: Spark's own name for the pool of jobs that name none: the common batch, and whatever else a user runs
_COMMON = "default"
_HIGHEST = 10
_POOL = """  <pool name="{name}">
    <schedulingMode>FIFO</schedulingMode>
    <weight>{weight}</weight>
    <minShare>{least}</minShare>
  </pool>
"""


def pool_of(priority: int) -> str:
    """The pool for lanes of a priority."""
    return f"eddyline-{priority}"


def scheduling(scratch: Path) -> dict[str, str]:
    """The settings that Spark must be started with. Weights can be told in a file only."""
    pools = [_POOL.format(name=_COMMON, weight=2 * _HIGHEST, least=1)]
    pools += [_POOL.format(name=pool_of(p), weight=p, least=0) for p in range(1, _HIGHEST + 1)]
    path = scratch / "pools.xml"
    path.write_text(f'<?xml version="1.0"?>\n<allocations>\n{"".join(pools)}</allocations>\n', encoding="utf-8")
    return {"spark.scheduler.mode": "FAIR", "spark.scheduler.allocation.file": path.as_uri()}


__all__ = ["pool_of", "scheduling"]
