"""What the grouped filter tells of its work, in what pieces it gives it, and where its compiled code is kept."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from eddyline.kernels.grouped.filter import GroupedFilter
from eddyline.kernels.grouped.form import Bound, Form, Range, equal
from kernels.grouped_right import XS, one, pairs_of


def test_pieces_are_bounded_and_lose_nothing() -> None:
    random = np.random.default_rng(5)
    members = pa.table({"c": random.random(1000)})
    tuples = pa.table({"x": np.where(np.arange(4000) % 1000 < 500, 0.001, 1.0)})  # nearly nothing, then everything
    filter_ = GroupedFilter(Form(((Range("x", Bound("c")),),)), members, pa.array(range(1000)))
    pieces = list(filter_.matches_in_pieces(tuples, 50_000))
    assert all(0 < len(piece) <= 50_000 for piece in pieces)
    assert len(pieces) < 400
    assert filter_.statistics.tuples == 4000
    whole = filter_.matches(tuples)
    rows, ids = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("rows", "members"))
    ordered = np.lexsort((rows, ids))
    assert np.array_equal(rows[ordered], whole.rows)
    assert np.array_equal(ids[ordered], whole.members)
    assert sum(map(len, filter_.matches_in_pieces(tuples.slice(600, 5), 10))) == 5000  # a tuple alone has more


def test_statistics_count_what_was_done() -> None:
    members = pa.table({"a": [0, 10, 20], "b": [5, 15, 25], "c": [0, 0, 7]})
    form = Form(((Range("x", Bound("a"), Bound("b")), Range("y", Bound("c"))),))
    filter_ = GroupedFilter(form, members, pa.array([1, 2, 3]))
    filter_.matches(pa.table({"x": [3, 13, 23, 33], "y": [1, 1, 1, 1]}))
    seen = filter_.statistics
    assert [str(access) for access in filter_.access] == ["x"]
    assert (seen.tuples, seen.candidates, seen.pairs) == (4, 3, 2)
    assert seen.seconds > 0


def test_advice_comes_from_the_data() -> None:
    """By the constants, x tells members apart better than y; but the tuples are where many ranges of x meet."""
    count = 1000
    at = np.arange(count)
    low = np.where(at % 10 == 0, -10, 10 * at)
    members = pa.table({"a": low, "b": low + 30, "c": at, "d": at + 30})
    form = Form(((Range("x", Bound("a"), Bound("b")), Range("y", Bound("c"), Bound("d"))),))
    filter_ = GroupedFilter(form, members, pa.array(at))
    assert [str(access) for access in filter_.access] == ["x"]
    tuples = pa.table({"x": np.full(500, 5), "y": np.arange(500) % 5})
    before = filter_.matches(tuples)
    first = filter_.statistics.candidates
    assert first == 500 * 100
    advice = filter_.advice()
    assert [str(access) for access in advice.access] == ["y"]
    assert advice.now == pytest.approx(first / 500, rel=0.2)
    assert advice.then < advice.now / 10
    filter_.follow(advice)
    assert [str(access) for access in filter_.access] == ["y"]
    after = filter_.matches(tuples)
    assert filter_.statistics.candidates - first < first / 10
    assert np.array_equal(before.rows, after.rows)
    assert np.array_equal(before.members, after.members)


def test_a_grid_serves_two_ranges() -> None:
    """Neither range tells much, both together do."""
    random = np.random.default_rng(6)
    a, b = random.random(20_000), random.random(20_000)
    members = pa.table({"a": a, "b": a + 0.02, "c": b, "d": b + 0.02})
    form = Form(((Range("x", Bound("a"), Bound("b")), Range("y", Bound("c"), Bound("d", inclusive=False))),))
    filter_ = GroupedFilter(form, members, pa.array(range(20_000)))
    assert str(filter_.access[0]) in ("x × y", "y × x")
    x, y = random.random(50), random.random(50)
    matches = filter_.matches(pa.table({"x": x, "y": y}))
    right = [(a <= x[i]) & (x[i] <= a + 0.02) & (b <= y[i]) & (y[i] < b + 0.02) for i in range(50)]
    assert pairs_of(matches) == sorted((int(m), i) for i in range(50) for m in np.flatnonzero(right[i]))
    assert 0 < len(matches) < filter_.statistics.candidates < 10 * len(matches)


def test_a_filter_travels() -> None:
    filter_ = GroupedFilter(Form(((equal("x", "c"),),)), one(c=1), pa.array([9]))
    assert pairs_of(pickle.loads(pickle.dumps(filter_)).matches(XS)) == [(9, 4)]


def _cache_folder(temporary: Path, **environment: str) -> str:
    program = "import eddyline.columnar.compiled, numba; print(numba.config.CACHE_DIR)"
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    variables = {**kept, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    # with the package itself everything would be compiled
    stub = f"import sys, types; p = types.ModuleType('p'); p.__path__ = [{str(_package())!r}]"
    program = f"{stub}; sys.modules['eddyline.kernels.grouped'] = p; {program}"
    return subprocess.run(
        [sys.executable, "-c", program], env=variables, check=True, capture_output=True, text=True
    ).stdout.strip()


def _package() -> Path:
    import eddyline.kernels.grouped

    return Path(eddyline.kernels.grouped.__file__).parent


def test_compiled_code_is_kept_where_only_its_user_writes(tmp_path: Path) -> None:
    assert _cache_folder(tmp_path, NUMBA_CACHE_DIR="/elsewhere") == "/elsewhere"
    folder = tmp_path / f"eddyline-numba-{os.getuid()}"
    assert _cache_folder(tmp_path) == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)  # somebody else may have put something into it
    assert _cache_folder(tmp_path) != str(folder)
