"""Tags on Spark are those of the reference engine, whatever comes, is revised, and is cut into whichever batches."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from eddyline.algebra.answer import RelationAnswer, TagAnswer, TupleAnswer, WindowAnswer
from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from laws.streams import EXAMPLES
from laws.without_spark import kernels_alone

STREAMS = """
CREATE STREAM s (id INTEGER, a INTEGER, b STRING, t INTEGER) TIMESTAMP BY t USING json OPTIONS (path 's.jsonl');
CREATE STREAM r (id INTEGER, a INTEGER, b STRING, t INTEGER) TIMESTAMP BY t USING json OPTIONS (path 'r.jsonl');
"""
#: whose answers show tags tuple by tuple, in an order that is known
QUERIES = [
    "SELECT id, a, b FROM s WITH TAGS",
    "SELECT id, a + 1 AS c, b FROM s WHERE a > 1 WITH TAGS",
    "SELECT id, b FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] WITH TAGS",
    "SELECT id, a FROM s [FROM NOW-2 TO NOW SLIDE 1 ROWS] WITH TAGS",
    "SELECT id, a FROM s [RANGE 3 SEC] WITH TAGS",
    "SELECT id, a FROM s [ROWS 2] WITH TAGS",
    "ISTREAM(SELECT id, a, b FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC] WITH TAGS)",
    "DSTREAM(SELECT id, b FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC] WITH TAGS)",
    "RSTREAM(SELECT id, a FROM s [FROM NOW-2 TO NOW SLIDE 3 SEC] WITH TAGS)",
    "SELECT id, a FROM s for (t = ST; t < ST + 12; t += 3) { WindowIs(s, t - 4, t); } WITH TAGS",
    "SELECT x.id, y.id AS other, x.b FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] AS x, "
    "r [FROM NOW-3 TO NOW SLIDE 2 SEC] AS y WHERE x.a = y.a WITH TAGS",
    "SELECT x.id, y.b FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] AS x LEFT JOIN "
    "r [FROM NOW-3 TO NOW SLIDE 2 SEC] AS y ON x.a = y.a AND x.id < y.id WITH TAGS",
    "SELECT id, c FROM (SELECT id, a AS c, b FROM s WHERE a > 0) AS v [FROM NOW-3 TO NOW SLIDE 2 SEC] WITH TAGS",
    "SELECT TAGGED OBJECTS FROM s WHERE TAG_SIGN = '+'",
    "SELECT TAGGED OBJECTS FROM s WHERE TAG = 'Sad' AND a > 0 WITH TAGS",
    "SELECT TAGGED OBJECTS FROM s WHERE OBJECT = s.a WITH TAGS",
    "SELECT TAGGED OBJECTS FROM s WHERE OBJECT = s AND a > 0",
    "SELECT TAGGED OBJECTS FROM s WHERE OBJECT = s.b.value",
    "SELECT TAGS FROM s WHERE OBJECT = s.a.value AND a > 0",
    "SELECT TAGS FROM s WHERE OBJECT = s.b.value",
    "SELECT TAGS FROM s WHERE OBJECT = s",
    "SELECT TAGS FROM s WHERE OBJECT = s AND a > 1",
    "SELECT TAGS FROM s",
    "SELECT TAGS FROM s WHERE TAG_SIGN = '-' AND TAG_LIFESPAN > 2",
    "SELECT TAGS FROM (SELECT id, b AS a FROM s) AS v WHERE OBJECT = v.a",
    "SELECT TAGS FROM s WHERE a > 1",
    "SELECT TAGS FROM s WHERE a > 0 AND TAG_MODE = 'O' AND OBJECT = s.a",
    "SELECT TAGS FROM (SELECT id, a AS c FROM s WHERE a > 0) AS v WHERE c < 3 AND TAG LIKE '%a%'",
    "SELECT TAGS FROM (SELECT TAGGED OBJECTS FROM s WHERE TAG = 'Sad' WITH TAGS) AS v",
]
#: whose answers show the tags of several tuples together
GROUPED = [
    "SELECT b, SUM(a) AS m FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY b WITH TAGS",
    "SELECT COUNT(*) AS n, MAX(id) AS m FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC] WITH TAGS",
    "SELECT DISTINCT a FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] WITH TAGS",
    "SELECT TAG_COUNT('+') AS p, TAG_COUNT('-') AS m, TAG_COUNT() AS n FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC]",
    "SELECT b, TAG_COUNT('+', a) AS p, COUNT(*) AS n FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC] GROUP BY b",
    "SELECT b, TAG_SCORE() AS score, TAG_SCORE(a) AS of_a FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY b",
    "SELECT a, MAX(id) AS m FROM s [RANGE 3 SEC] GROUP BY a WITH TAGS",
    "SELECT x.b, COUNT(*) AS n FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] AS x, "
    "r [FROM NOW-3 TO NOW SLIDE 2 SEC] AS y WHERE x.a = y.a GROUP BY x.b WITH TAGS",
]
ATTACHED = [
    "",
    "ATTACH TAG 'First' TO s.a WHERE a > 1 WITH TAG_LIFESPAN = 4 SEC TAG_MODE = COMBINE;",
    "ATTACH TAG 'Now' TO s.b.value WITH TAG_SIGN = '-' TAG_LIFESPAN = 6 SEC;",
    "ATTACH TAG 'High' CONTINUOUSLY TO s.a WHERE a >= 2 WITH TAG_SIGN = '+';",
    "ATTACH TAG 'Any' CONTINUOUSLY TO s;",
    "ATTACH TAG 'Low' CONTINUOUSLY TO s.b WHERE a < 2; ATTACH TAG 'Once' TO s WHERE b = 'y';",
]

tags = st.fixed_dictionaries(
    {"content": st.sampled_from(["Joyful", "Sad", "Sad", "Late", "Happy", " sad"])},
    optional={
        "sign": st.sampled_from(["+", "-"]),
        "lifespan": st.sampled_from(["I", 1, 3, 8]),
        "mode": st.sampled_from(["O", "C"]),
        "tagger": st.sampled_from(["u1", "u2"]),
        "applies_to": st.fixed_dictionaries(
            {},
            optional={
                "attributes": st.sampled_from([["a"], ["b"], ["a", "b"], "a|t", ["a.value"], ["b.value"]]),
                "tuples": st.sampled_from([[2], "1-3", [4, 6]]),
                "next": st.integers(1, 3),
                "values": st.sampled_from(["[12]", "x|y", "0"]),
            },
        ),
    },
)
#: a stream that breaks a law is short anyway, and making it shorter takes minutes
LAW = settings(
    max_examples=60 * EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
rows = st.tuples(st.sampled_from("++++#<-=>l"), st.integers(0, 3), st.sampled_from(["x", "y", None]), tags)


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """Rows of a file: tuples in and out of order, tags, some of an earlier time, and revisions of what has come, some
    to a later one."""
    found, tick, came, gone = [], 0, 0, set()
    for op, a, b, tag in draw(st.lists(rows, max_size=14)):
        tick += draw(st.integers(0, 2))
        value: dict[str, Any] = {"id": came + 1, "a": a, "b": b, "t": tick}
        if op in "#<":
            time = {"t": max(0, tick - 3)} if op == "<" else {"t": tick} if a else {}
            value = {"_op": "#", "_tag": tag, **time}
        elif op in "-=>":
            ref = 1 + a % came if came else 0
            if not ref or ref in gone:
                continue
            if op == "-":
                gone.add(ref)
            value = {"_op": "-", "_ref": ref} if op == "-" else {**value, "_op": "=", "_ref": ref, "id": ref}
            value = {**value, "t": tick + 5} if op == ">" else value
        else:
            came += 1
            value["t"] = max(0, tick - 4) if op == "l" else tick
        found.append(json.dumps(value))
    return found


def as_if_many(many: bool) -> AbstractContextManager[Any]:
    """Works with few rows are done as if these were many."""
    return patch("eddyline.spark.kernel_job._FEW_ROWS", -1) if many else nullcontext()


def run(engine: type, sql: str, files: dict[str, list[str]], batch_rows: int) -> tuple[dict[str, Any], list[str]]:
    """What the answers of each query fold to, and why rows were set aside."""
    folded, rejects = folded_by_query(engine, sql, files, batch_rows)
    return {name: each.left() for name, each in folded.items()}, rejects


def folded_by_query(
    engine: type, sql: str, files: dict[str, list[str]], batch_rows: int
) -> tuple[dict[str, Folded], list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_text("\n".join(content) + "\n", encoding="utf-8")
        rejects: list[Any] = []
        run = engine(STREAMS + sql, Path(folder), batch_rows=batch_rows, on_reject=rejects.append)
        folded: dict[str, Folded] = {}
        for answer in run.answers():
            folded.setdefault(answer.query, Folded()).add(answer)
        return folded, sorted(reject.reason for reject in rejects)


class Folded:
    def __init__(self) -> None:
        self.tuples: dict[int, Any] = {}
        self.windows: dict[int, Any] = {}
        self.relation: Counter[Any] = Counter()
        self.tags: Counter[Any] = Counter()

    def add(self, answer: Any) -> None:
        if isinstance(answer, TupleAnswer):
            if answer.op == "-":
                del self.tuples[answer.index]
            else:
                self.tuples[answer.index] = (answer.tick, answer.row, answer.tags, answer.stix)
        elif isinstance(answer, WindowAnswer):
            shown = zip(
                answer.rows,
                answer.tags or [None] * len(answer.rows),
                answer.stix or [None] * len(answer.rows),
                strict=True,
            )
            self.windows[answer.window] = (answer.tick, Counter(shown))
        elif isinstance(answer, RelationAnswer):
            self.relation[answer.tick, answer.row, answer.tags] += 1 if answer.op == "+" else -1
        elif isinstance(answer, TagAnswer):
            tag = answer.tag
            self.tags[
                answer.tick, tag.content, tag.sign, tag.type, tag.lifespan, tag.mode, tag.tagger, tag.applies_to
            ] += 1

    def left(self) -> Any:
        relation = {key: count for key, count in self.relation.items() if count}
        return Counter(self.tuples.values()), self.windows, relation, self.tags


def tags_in_any_order(found: Any) -> Any:
    """The tags of a group have no order of their own."""
    if found is None:
        return None
    _, windows, relation, _ = found

    def shown(tags: Any) -> Any:
        return None if tags is None else tuple(sorted(tags, key=repr))

    by_window = {
        number: (tick, Counter({(row, shown(tags)): n for (row, tags, _), n in bag.items()}))
        for number, (tick, bag) in windows.items()
    }
    return by_window, {(tick, row, shown(tags)): n for (tick, row, tags), n in relation.items()}


@settings(LAW)
@given(lines(), lines(), st.sampled_from(QUERIES), st.sampled_from(ATTACHED), st.sampled_from([1, 2, 3, 5, 100]))
def test_tags_are_those_of_the_reference(
    s: list[str], r: list[str], query: str, attached: str, batch_rows: int
) -> None:
    if "CONTINUOUSLY" in attached and "SELECT TAGS " in query:
        batch_rows = 1  # of a tuple that a batch revises twice, what was made for the version in between is not told
    sql = f"{attached} CREATE QUERY q AS {query};"
    files = {"s.jsonl": s, "r.jsonl": r}
    expected, rejects = run(Session, sql, files, batch_rows)
    with kernels_alone(), as_if_many(batch_rows in (2, 100)):
        found, set_aside = run(SparkRun, sql, files, batch_rows)
    assert set_aside == rejects
    assert found.get("q") == expected.get("q")


def _row(t: int, **more: Any) -> str:
    return json.dumps({"id": t, "a": 1, "b": "x", "t": t, **more})


def _tag(content: str, **more: Any) -> str:
    time = {"t": more.pop("t")} if "t" in more else {}
    return json.dumps({"_op": "#", "_tag": {"content": content, **more}, **time})


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(
    "s",
    [
        # a revision to a later time brings no tag to its end
        [
            _row(1),
            _row(1000, _op="=", _ref=1),
            _tag("A", lifespan=100, t=2),
            _row(3),
            _tag("B", lifespan=10, t=4),
            _row(5),
            _row(20),
        ],
        # what is over loses something to a tag of an earlier time, too
        [_tag("A", lifespan=10, t=0), _row(0), _row(20), _tag("B", t=5), _row(21), _row(22), _row(7)],
    ],
    ids=["revised to later", "tag of an earlier time"],
)
def test_times_that_go_back_or_ahead(s: list[str], batch_rows: int) -> None:
    sql = "CREATE QUERY q AS SELECT id, a FROM s WITH TAGS;"
    files = {"s.jsonl": s, "r.jsonl": []}
    expected, _ = run(Session, sql, files, batch_rows)
    with kernels_alone():
        found, _ = run(SparkRun, sql, files, batch_rows)
    assert found == expected


@pytest.mark.parametrize("batch_rows", [1, 2, 100])
@pytest.mark.parametrize("ticks", [(0, 0, 20), (0, 2, 20), (1, 5, 20), (0, 0, 3)])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT b FROM s [RANGE 4 SEC] WITH TAGS",
        "SELECT b FROM s [ROWS 2] WITH TAGS",
        "ISTREAM(SELECT b FROM s [RANGE 4 SEC] WITH TAGS)",
        "DSTREAM(SELECT b FROM s [RANGE 4 SEC] WITH TAGS)",
        "ISTREAM(SELECT b FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] WITH TAGS)",
        "DSTREAM(SELECT b FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] WITH TAGS)",
    ],
)
def test_tags_of_rows_with_equal_values(query: str, ticks: tuple[int, ...], batch_rows: int) -> None:
    """Each has its own: nothing is tagged that was not, and what enters with a tag leaves with it."""
    s = [_tag("T", t=0), _row(ticks[0]), _row(ticks[1]), _tag("U", t=ticks[2], sign="+"), _row(ticks[2])]
    sql, files = f"CREATE QUERY q AS {query};", {"s.jsonl": s, "r.jsonl": []}
    expected, _ = run(Session, sql, files, batch_rows)
    with kernels_alone():
        found, _ = run(SparkRun, sql, files, batch_rows)
    assert found == expected
    tuples, _, relation, _ = found.get("q", Folded().left())
    weights = Counter[str]()
    for (_, _, tags, *_), weight in (*tuples.items(), *relation.items()):
        weights.update({tag.content: abs(weight) for tag in tags or ()})
    assert weights["T"] <= 2 and weights["U"] <= 2, "each comes once and goes once at most"


@settings(LAW)
@given(lines(), lines(), st.sampled_from(GROUPED), st.sampled_from(ATTACHED), st.sampled_from([1, 2, 3, 5, 100]))
def test_tags_of_groups(s: list[str], r: list[str], query: str, attached: str, batch_rows: int) -> None:
    sql = f"{attached} CREATE QUERY q AS {query};"
    files = {"s.jsonl": s, "r.jsonl": r}
    expected, rejects = run(Session, sql, files, batch_rows)
    with kernels_alone(), as_if_many(batch_rows in (2, 100)):
        found, set_aside = run(SparkRun, sql, files, batch_rows)
    assert set_aside == rejects
    assert tags_in_any_order(found.get("q")) == tags_in_any_order(expected.get("q"))


@settings(LAW)
@given(lines(), lines(), st.sampled_from([q for q in (*QUERIES, *GROUPED) if "WITH TAGS" in q and "TAGGED" not in q]))
def test_without_its_tags_a_query_is_the_plain_one(s: list[str], r: list[str], query: str) -> None:
    files = {"s.jsonl": s, "r.jsonl": r}
    plain = re.sub(r" WITH TAGS\b", "", query)
    with kernels_alone():
        (tagged, _), (bare, _) = (run(SparkRun, f"CREATE QUERY q AS {each};", files, 3) for each in (query, plain))
    assert {name: _bare(each) for name, each in tagged.items()} == {name: _bare(each) for name, each in bare.items()}


def _bare(found: Any) -> Any:
    tuples, windows, relation, _ = found
    rows: Counter[Any] = Counter()
    for (tick, row, _, _), n in tuples.items():
        rows[tick, row] += n
    by_window = {}
    for number, (tick, bag) in windows.items():
        shown: Counter[Any] = Counter()
        for (row, _, _), n in bag.items():
            shown[row] += n
        by_window[number] = tick, shown
    changes: Counter[Any] = Counter()
    for (tick, row, _), n in relation.items():
        changes[tick, row] += n
    return rows, by_window, changes


@pytest.mark.parametrize("query", QUERIES[:1])
def test_a_stream_without_tags_has_no_column_of_them(query: str, tmp_path: Path) -> None:
    """What nobody tags costs nothing: no column is written, and none is read."""
    import pyarrow.parquet as pq

    from eddyline.spark.engine import Engine

    seen: list[str] = []
    keep = Engine.stop

    def looked_at(engine: Engine) -> None:
        root = Path(engine.storage.root.removeprefix("file://"))
        seen.extend(name for file in root.glob("streams/s/*.parquet") for name in pq.read_schema(file).names)
        keep(engine)

    with kernels_alone(), pytest.MonkeyPatch.context() as changed:
        changed.setattr(Engine, "stop", looked_at)
        run(SparkRun, f"CREATE QUERY q AS {query};", {"s.jsonl": ['{"id": 1, "a": 1, "t": 1}'], "r.jsonl": []}, 1)
        assert seen and "_tags" not in seen
        seen.clear()
        tagged = ['{"_op": "#", "_tag": {"content": "A"}}', '{"id": 1, "a": 1, "t": 1}']
        run(SparkRun, f"CREATE QUERY q AS {query};", {"s.jsonl": tagged, "r.jsonl": []}, 1)
        assert "_tags" in seen
