"""Queries that pass a stream on say what they would say if all of it were written again: whatever is tagged, revised,
merged or cut off, and however often the database is opened again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.algebra.answer import TagAnswer
from eddyline.kernels.passing import PassedOn
from eddyline.log.storage import Storage
from eddyline.log.upkeep import Pace
from laws.restless import spread_thin
from laws.streams import EXAMPLES
from laws.without_spark import kernels_alone

BUSY = Pace(batches=2, behind=1, neighbours=2, small=1_000_000, grace=0.0, aside=False)
STREAM = "CREATE STREAM s (id INTEGER, a INTEGER, b STRING, t INTEGER) KEY (id) TIMESTAMP BY t {retain}"
QUERIES = {
    "plain": "AS SELECT * FROM s",
    "tagger": "AS ATTACH TAG 'High' CONTINUOUSLY TO s WHERE a >= 2",
    "on_value": "AS ATTACH TAG 'Odd' CONTINUOUSLY TO s.b WHERE b = 'x' WITH TAG_SIGN = '-'",
    # looks at what it has shown when something is corrected
    "rough": "WITH (revise_if = 'abs(new - old) > 1') AS SELECT * FROM s AS r",
}
LATER = "CREATE QUERY later FROM HISTORY AS SELECT id, a, b, t FROM s"
#: stands alone, so that it shows tags in a log of its own
ALONE = {"EDDYLINE_SHARE_FROM": "1000"}
WITH_TAGS = "CREATE QUERY shown AS SELECT * FROM s WITH TAGS"

rows = st.tuples(st.integers(1, 9), st.integers(0, 3), st.sampled_from([None, "x", "it's"]), st.integers(0, 12))
push = st.tuples(st.just("push"), st.lists(rows, min_size=1, max_size=4))
tagged = st.tuples(st.just("tag"), st.sampled_from(["s", "s.a", "s.b"]), st.sampled_from(["", " WHERE a = 1"]))
event = st.one_of(push, push, push, tagged, st.just(("flush",)), st.just(("flush",)), st.just(("again",)))
Event = tuple[Any, ...]


@contextmanager
def counted(link: bool) -> Iterator[list[str]]:
    """What was linked; nothing is if it is not to be."""
    made: list[str] = []
    real = Storage.link

    def told(storage: Storage, source: str, name: str) -> int | None:
        size = real(storage, source, name) if link else None
        made.extend([name] if size is not None else [])
        return size

    with patch.object(Storage, "link", told):
        yield made


def told(events: list[Event], retain: int | None, link: bool) -> tuple[dict[str, Any], list[str]]:
    with tempfile.TemporaryDirectory() as name, counted(link) as made, patch.dict(os.environ, ALONE):

        def opened() -> eddyline.Database:
            return eddyline.connect(Path(name) / "db", heartbeat=None, clock=lambda: 0, pace=BUSY)

        db = opened()
        db.sql(STREAM.format(retain="" if retain is None else f"RETAIN {retain} SEC"))
        for query, text in QUERIES.items():
            db.sql(f"CREATE QUERY {query} {text}")
        db.sql(WITH_TAGS)
        for what, *given_ in events:
            if what == "push":
                db.stream("s").push(given_[0])
            elif what == "tag":
                db.sql(f"ATTACH TAG 'Sad' TO {given_[0]}{given_[1]} WITH TAG_LIFESPAN = 3 SEC TAG_MODE = COMBINE")
            else:
                db.flush()
                if what == "again":
                    db.close()
                    db = opened()
        db.flush()
        db.sql(LATER)
        db.sql("FLUSH REVISIONS")
        db.flush()
        found: dict[str, Any] = {}
        for query in (*QUERIES, "shown", "later"):
            handle = db.query(query)
            found[query] = handle.fetch()
            changes = handle.to_arrow()
            found[f"{query} as a table"] = (changes.schema, sorted(map(repr, changes.to_pylist())))
            found[f"{query} at last"] = sorted(map(repr, handle.current().to_pylist()))
        db.close()
        return found, made


def test_linked_or_written(spark: object) -> None:
    every: list[str] = []

    @settings(
        max_examples=25 * EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(st.lists(event, min_size=3, max_size=12), st.sampled_from([None, 4]), st.booleans())
    def the_same(events: list[Event], retain: int | None, thin: bool) -> None:
        with kernels_alone():
            if thin:
                with spread_thin():
                    linked, made = told(events, retain, True)
            else:
                linked, made = told(events, retain, True)
            written, none = told(events, retain, False)
        assert linked == written
        assert not none
        every.extend(made)

    the_same()
    for query in (*QUERIES, "shown"):
        assert any(f"results/{query}/" in path for path in every), query
    assert any(path.endswith("-some.linked") for path in every)
    assert any(path.endswith(".told.linked") for path in every)


def test_only_what_is_tagged_is_asked_for(tmp_path: Path) -> None:
    asked: dict[str, list[int]] = {}
    real = PassedOn.linked

    def counting(passed: PassedOn, storage: Storage, folder: str, batch: int, told: Any) -> Any:
        batches = list(told)
        asked.setdefault(folder, []).append(sum(each.num_rows for each in batches))
        return real(passed, storage, folder, batch, batches)

    with (
        kernels_alone(),
        patch.object(PassedOn, "linked", counting),
        patch.dict(os.environ, ALONE),
        eddyline.connect(tmp_path / "db", heartbeat=None, clock=lambda: 0) as db,
    ):
        db.sql(STREAM.format(retain=""))
        db.sql(WITH_TAGS)
        db.stream("s").push([(n, n % 4, None, n) for n in range(40)])
        db.flush()  # nobody has tagged anything
        db.sql(f"CREATE QUERY tagger {QUERIES['tagger']}")
        db.stream("s").push([(n, n % 4 if n % 3 else None, None, n) for n in range(40, 60)])
        db.flush()
        tagged = [n for n in range(40, 60) if n % 3 and n % 4 >= 2]
        told = [each for each in db.query("tagger").fetch() if isinstance(each, TagAnswer)]
    assert [each.tag.applies_to.tuples for each in told] == [(n + 1,) for n in tagged]
    assert asked == {"results/shown": [0, len(tagged)], "results/tagger": [len(tagged)]}
