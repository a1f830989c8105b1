"""Queries that pass a stream on, on Spark: their logs share the stream's files, and all who read them get the rows."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.algebra.answer import TagAnswer
from eddyline.algebra.marks import KIND, MARKS
from eddyline.log.linked import linked

#: a name and texts that have to be quoted
STREAM = "CREATE STREAM s (id INTEGER, `a*` INTEGER, b STRING, at TIMESTAMP) KEY (id) TIMESTAMP BY at"
QUERIES = {
    "passed": "AS SELECT * FROM s",
    "tagger": "AS ATTACH TAG 'High' CONTINUOUSLY TO s WHERE `a*` >= 3",
    "shown": "AS SELECT * FROM s AS r WITH TAGS",
}
FIRST = [(n, n % 5, "it's" if n % 3 else None, datetime(2026, 1, 1, 0, 0, n)) for n in range(40)]
SECOND = [(n, 0, "x", datetime(2026, 1, 1, 0, 1, n - 40)) for n in range(40, 60)]


def links(root: Path) -> dict[str, list[str]]:
    """By query, what its log has that is a file of the stream."""
    found = {query: sorted(path.name for path in (root / "results" / query).iterdir()) for query in QUERIES}
    return {query: [name for name in names if linked(name)] for query, names in found.items()}


def connect(root: Path) -> eddyline.Database:
    return eddyline.connect(root, heartbeat=None, clock=lambda: 0, master="local[2]")


def tagged(rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter((*row[:3], row[1] >= 3) for row in rows)


def test_who_reads_them(spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "home"
    monkeypatch.setenv("EDDYLINE_SHARE_FROM", "9")  # what a class says is written for its members
    with connect(root) as db:
        db.sql(STREAM)
        for name, text in QUERIES.items():
            db.sql(f"CREATE QUERY {name} {text}")
        for rows in (FIRST, SECOND):
            db.stream("s").push(rows)
            db.flush()
        found = links(root)
        assert [len(names) for names in found.values()] == [2, 2, 2]
        assert [linked(name).some for name in found["tagger"]] == [True, False]  # type: ignore[union-attr]

        assert [answer.row[:3] for answer in db.query("passed").fetch()] == [row[:3] for row in (*FIRST, *SECOND)]
        told = [answer.tag.applies_to.tuples for answer in db.query("tagger").fetch() if isinstance(answer, TagAnswer)]
        assert told == [(n + 1,) for n, *_ in FIRST if n % 5 >= 3]

        def as_frame(name: str) -> Any:
            rows = db.query(name).to_spark()
            written = db.query(name).to_arrow()
            assert Counter(row._index for row in rows.collect()) == Counter(written.column("_index").to_pylist())
            assert {(row._diff, row.at is None) for row in rows.collect()} == {(1, False)}
            return rows

        assert Counter((row.id, row["a*"], row.b) for row in as_frame("passed").collect()) == Counter(
            row[:3] for row in (*FIRST, *SECOND)
        )
        for name in ("tagger", "shown"):
            rows = as_frame(name).collect()
            found_tags = Counter((row.id, row["a*"], row.b, "High" in (row[MARKS] or "")) for row in rows)
            assert found_tags == tagged([*FIRST, *SECOND])
        assert {row[KIND] for row in as_frame("tagger").collect()} == {"+"}

        assert db.query("tagger").current().column("id").to_pylist() == [n for n, *_ in (*FIRST, *SECOND)]

    # what was shown is compared with what is to be shown, by Spark's own plans
    monkeypatch.setenv("EDDYLINE_KERNELS", "off")
    with connect(root) as db:
        seen = {name: len(db.query(name).fetch()) for name in QUERIES}
        db.stream("s").push(
            [(8, 4, "it's", datetime(2026, 1, 1, 0, 0, 8)), (9, 14, None, datetime(2026, 1, 1, 0, 0, 9))]
        )
        db.flush()
        new = {name: db.query(name).fetch()[count:] for name, count in seen.items()}
        assert [(answer.op, answer.row[:3], answer.old[:3]) for answer in new["passed"]] == [
            ("=", (8, 4, "it's"), (8, 3, "it's")),
            ("=", (9, 14, None), (9, 4, None)),
        ]
        assert [(answer.op, answer.row[:3], [tag.content for tag in answer.tags]) for answer in new["shown"]] == [
            ("=", (8, 4, "it's"), ["High"]),
            ("=", (9, 14, None), ["High"]),
        ]


def test_a_stream_that_forgets_leaves_the_answers(spark: object, tmp_path: Path) -> None:
    with connect(tmp_path / "db") as db:
        db.sql(STREAM)
        db.sql("CREATE QUERY passed AS SELECT * FROM s")
        db.stream("s").push(FIRST)
        db.flush()
        for path in (tmp_path / "db" / "streams" / "s").iterdir():
            path.unlink()
        assert [answer.row[0] for answer in db.query("passed").fetch()] == [n for n, *_ in FIRST]
        db.sql("DROP QUERY passed")
    with connect(tmp_path / "db"):
        assert not (tmp_path / "db" / "results" / "passed").exists()
