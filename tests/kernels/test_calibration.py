"""The prices of joins, as they are measured on this machine."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from unittest.mock import patch

from eddyline.kernels.calibration import measured
from eddyline.log.storage import Storage
from eddyline.spark import join_costs
from eddyline.spark.join_costs import FILE, JoinCosts


def test_each_operation_on_a_tuple_has_a_price(tmp_path: Path) -> None:
    found = measured()
    assert all(price > 0 for price in (found.insert, found.purge, found.join, found.compare)), found
    assert found.purge > 1e-9, "looked at, not left out by what is known of the segment"
    # an earlier version has kept that to purge costs nothing
    storage = Storage(str(tmp_path))
    storage.write_json(FILE, asdict(replace(found, purge=0.0)))
    with patch.object(join_costs, "_of_this_process", found):
        assert JoinCosts(storage).costs(1.0).purge == found.purge
