"""Random streams with late, withdrawn and corrected tuples, random queries over them, and what a run folds to."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from eddyline.algebra.answer import RelationAnswer, TupleAnswer, WindowAnswer
from eddyline.session import Session
from eddyline.sources import Reject
from laws.oracle import TaggedTuple
from laws.values import one_nan

#: `make test-long` asks for more
EXAMPLES = int(os.environ.get("EDDYLINE_TEST_EXAMPLES", "1"))


def schema(s: str = "", r: str = "", number: str = "INTEGER") -> str:
    """The extents; `s` and `r` are clauses of the two streams, `number` is the type of b."""
    return f"""
CREATE STREAM s (a INTEGER, b {number}, t INTEGER, w STRING) TIMESTAMP BY t {s} USING json OPTIONS (path 's.jsonl');
CREATE STREAM r (a INTEGER, c STRING, t INTEGER) TIMESTAMP BY t {r} USING json OPTIONS (path 'r.jsonl');
CREATE TABLE d (a INTEGER, name STRING) USING json OPTIONS (path 'd.jsonl');
"""


SCHEMA = schema()
TABLE = [(0, "zero"), (1, "one"), (1, "uno"), (2, "two")]


@dataclass
class Story:
    """What becomes of the rows of one stream, taken one after the other."""

    retain: int | None
    tuples: dict[int, TaggedTuple] = field(default_factory=dict)
    arrived: int = 0
    top: int = -(10**9)
    rejected: list[int] = field(default_factory=list)  # lines

    @property
    def horizon(self) -> int:
        """The smallest tick that is taken."""
        return -(10**9) if self.retain is None else self.top - self.retain

    def take(self, line: int, row: dict[str, Any], columns: str) -> None:
        op = row.get("_op", "+")
        if op == "#":
            return
        index = self.arrived + 1 if op == "+" else row["_ref"]
        revisable = index in self.tuples and self.tuples[index].tick >= self.horizon
        if (op != "+" and not revisable) or (op != "-" and row["t"] < self.horizon):
            self.rejected.append(line)
        elif op == "-":
            del self.tuples[index]
        else:
            self.arrived = max(self.arrived, index)
            self.top = max(self.top, row["t"])
            self.tuples[index] = TaggedTuple(row["t"], index, tuple(map(row.get, columns)))


@dataclass
class Data:
    """The rows of two streams as files hold them, for how many ticks each is retained, and the key of s and its b."""

    s: list[dict[str, Any]] = field(default_factory=list)
    r: list[dict[str, Any]] = field(default_factory=list)
    retain: tuple[int | None, int | None] = (None, None)
    key: str = ""
    number: str = "INTEGER"

    @property
    def schema(self) -> str:
        s, r = ("" if ticks is None else f"RETAIN {ticks}" for ticks in self.retain)
        return schema(f"{s} KEY ({self.key})" if self.key else s, r, self.number)

    def story(self, name: str) -> Story:
        story = Story(self.retain["sr".index(name)])
        for line, row in enumerate(getattr(self, name), 1):
            story.take(line, row, "abtw" if name == "s" else "act")
        return story

    def standing(self, name: str) -> list[TaggedTuple]:
        """The tuples that stand in the end."""
        tuples = self.story(name).tuples
        return [tuples[i] for i in sorted(tuples)]

    def ticks(self, name: str) -> list[int]:
        """Those that count for the start of a query: of all tuples that were or might have been."""
        retain, top, ticks = self.retain["sr".index(name)], None, []
        for row in getattr(self, name):
            if "t" in row and (retain is None or top is None or row["t"] >= top - retain):
                ticks.append(row["t"])
                if row.get("_op", "+") == "+":
                    top = row["t"] if top is None else max(top, row["t"])
        return ticks

    def reached(self) -> int:
        """The largest tick that any row brings, also one that is taken back."""
        return max(self.story(name).top for name in "sr")

    def rejected(self) -> list[tuple[str, int]]:
        return [(name, line) for name in "rs" for line in self.story(name).rejected]

    def write(self, folder: Path) -> None:
        for name in ("s", "r"):
            (folder / f"{name}.jsonl").write_text("\n".join(map(_written, getattr(self, name))) + "\n")
        (folder / "d.jsonl").write_text("\n".join(json.dumps({"a": a, "name": n}) for a, n in TABLE))


def _written(row: dict[str, Any]) -> str:
    """As JSON, which has no numbers for NaN and infinities."""
    odd = {name: repr(value) for name, value in row.items() if isinstance(value, float) and not math.isfinite(value)}
    return json.dumps(row | odd)


texts = st.sampled_from(["x", "y", None])
#: sums of quarters are exact in whatever order; one in eight is odd
_doubles = st.one_of(
    *[st.integers(-8, 12).map(lambda quarters: quarters / 4)] * 6,
    st.none(),
    st.sampled_from([-0.0, math.nan, math.inf, -math.inf]),
)
NUMBERS = {"INTEGER": st.one_of(st.none(), st.integers(-2, 3)), "DOUBLE": _doubles}


@st.composite
def stream_rows(draw: st.DrawFn, number: str | None, revisions: bool = True) -> list[dict[str, Any]]:
    """Rows of s with a b of the type `number`, or rows of r."""
    rows: list[dict[str, Any]] = []
    now, inserted = draw(st.integers(0, 5)), 0
    for _ in range(draw(st.integers(1, 10))):
        kind = draw(st.sampled_from("+++++=-" if revisions and inserted else "+"))
        now += draw(st.integers(0, 4))
        late = draw(st.sampled_from([0, 0, 0, 3, 9])) if revisions else 0
        row: dict[str, Any] = {
            "a": draw(st.sampled_from([0, 1, 2, 0, 1, 2, None])),
            "t": max(0, now - late),
            **({"c": draw(texts)} if number is None else {"b": draw(NUMBERS[number]), "w": draw(texts)}),
        }
        if kind == "+":
            inserted += 1
        else:
            row = {"_op": kind, "_ref": draw(st.integers(1, inserted)), **(row if kind == "=" else {})}
        rows.append(row)
    return rows


#: for laws that run on Spark's own plans
WHOLE = ("INTEGER",)


def data(
    revisions: bool = True, retained: bool = True, numbers: Iterable[str] = tuple(NUMBERS)
) -> st.SearchStrategy[Data]:
    """Half of the streams are retained for a time that some of their late rows and revisions exceed."""
    retain = st.sampled_from([None, None, 0, 2, 5, 8]) if revisions and retained else st.none()
    return st.one_of(
        st.builds(
            Data,
            stream_rows(number, revisions),
            stream_rows(None, revisions),
            st.tuples(retain, retain),
            number=st.just(number),
        )
        for number in numbers
    )


# -- queries ----------------------------------------------------------------------------------------------------------

time_windows = st.builds(
    lambda a, b, slide: f"[FROM NOW-{max(a, b)} TO NOW-{min(a, b)} SLIDE {slide} SEC]".replace("NOW-0", "NOW"),
    st.integers(0, 6),
    st.integers(0, 3),
    st.integers(1, 5),
)
row_windows = st.builds(
    lambda a, slide: f"[FROM NOW-{a} TO NOW SLIDE {slide} ROWS]".replace("NOW-0", "NOW"),
    st.integers(0, 3),
    st.integers(1, 3),
)
cql_windows = st.one_of(
    st.builds("[RANGE {} SEC]".format, st.integers(0, 6)),
    st.builds("[RANGE {} SEC SLIDE {} SEC]".format, st.integers(0, 6), st.integers(1, 4)),
    st.builds("[ROWS {}]".format, st.integers(1, 3)),
    st.builds("[PARTITION BY a ROWS {}]".format, st.integers(1, 2)),
    st.sampled_from(["[NOW]", "[UNBOUNDED]"]),
)
hop_windows = st.builds(
    "[RANGE BY '{} seconds' SLIDE BY '{} seconds'{}]".format,
    st.integers(1, 6),
    st.integers(1, 4),
    st.sampled_from(["", " START AT 0", " START AT 3"]),
)
windows = st.one_of(time_windows, row_windows, hop_windows)
predicates = st.sampled_from(
    [
        "a > 0",
        "b IS NOT NULL",
        "a + b > 1",
        "b IN (0, 1) OR a = 2",
        "NOT (b < 1)",
        "t % 2 = 0",
        "w = 'x'",
        "w < 'y' OR b > 0",
    ]
)
aggregates = st.sampled_from(
    [
        "COUNT(*)",
        "SUM(b)",
        "MIN(b)",
        "MAX(a + b)",
        "AVG(a)",
        "AVG(b)",
        "COUNT(DISTINCT b)",
        "SUM(b) FILTER (WHERE a > 0)",
        "MAX(w)",
        "COUNT(DISTINCT w)",
    ]
)
keys = st.sampled_from(["a", "a", "w", "w", "a, w", "b"])
loops = st.builds(
    "for (t = {}; t {}; t {}) {{ WindowIs(s, t - {}, t{}); }}".format,
    st.sampled_from(["ST", "ST + 2", "0", "12"]),
    st.sampled_from(["< ST + 15", "<= 20"]),
    st.sampled_from(["++", "+= 3"]),
    st.integers(0, 5),
    st.sampled_from(["", " - 1", " + 2"]),
)
landmarks = st.builds(
    "for (t = {}; t < ST + 15; t += {}) {{ WindowIs(s, {}, t); }}".format,
    st.sampled_from(["ST", "5"]),
    st.integers(1, 4),
    st.sampled_from(["ST", "ST + 3", "7"]),
)
backward_loops = st.builds(
    "for (t = {}; t > {}; t -= {}) {{ WindowIs(s, t - {}, t); }}".format,
    st.integers(5, 20),
    st.integers(-5, 4),
    st.integers(1, 4),
    st.integers(0, 5),
)


@st.composite
def one_input(draw: st.DrawFn, window: st.SearchStrategy[str], aggregates: st.SearchStrategy[str] = aggregates) -> str:
    """A query over windows of s: plain, distinct or grouped, with or without conditions."""
    brackets = draw(window)
    where = f" WHERE {draw(predicates)}" if draw(st.booleans()) else ""
    source = f"s {brackets}"
    if draw(st.integers(0, 3)) == 0:
        source = f"(SELECT a, b, t, w FROM s WHERE {draw(predicates)}) {brackets} AS s"
    shape = draw(st.sampled_from(["plain", "distinct", "global", "grouped", "having"]))
    if shape == "plain":
        return f"SELECT a, b + 1 AS b1, t, w FROM {source}{where}"
    if shape == "distinct":
        return f"SELECT DISTINCT {draw(keys)}, b AS d FROM {source}{where}"
    first, second = draw(aggregates), draw(aggregates)
    if shape == "global":
        return f"SELECT {first} AS x, {second} AS y FROM {source}{where}"
    having = f" HAVING {draw(st.sampled_from(['COUNT(*) > 1', 'x IS NOT NULL']))}" if shape == "having" else ""
    by = draw(keys)
    return f"SELECT {by}, {first} AS x FROM {source}{where} GROUP BY {by}{having}"


@st.composite
def join(draw: st.DrawFn, left: st.SearchStrategy[str], right: st.SearchStrategy[str]) -> str:
    equal = ["s.a = r.a", "s.a = r.a AND b > 0", "s.t = r.t", "w = c", "w = c AND b > 0"]
    condition = draw(st.sampled_from([*equal, "s.a < r.a", "c = 'x' AND b > 0"]))
    columns = draw(st.sampled_from(["s.a, r.a AS ra, b, c", "s.a, w, c", "COUNT(*) AS n, MAX(b) AS m"]))
    style = draw(st.sampled_from(["comma", "comma", "JOIN", "LEFT JOIN", "FULL JOIN"]))
    if style == "comma":
        return f"SELECT {columns} FROM s {draw(left)}, r {draw(right)} WHERE {condition}"
    extra = draw(st.sampled_from(["", " WHERE b > 0", " WHERE c = 'x' AND s.a > 0"]))
    return f"SELECT {columns} FROM s {draw(left)} {style} r {draw(right)} ON {condition}{extra}"


@st.composite
def with_table(draw: st.DrawFn, window: st.SearchStrategy[str]) -> str:
    scan = draw(st.sampled_from(["", " [SCAN 4 SEC]", " [SCAN 1 SEC]"]))
    return f"SELECT s.a, name FROM s {draw(window)}, d{scan} WHERE s.a = d.a AND b > -1"


any_window = st.one_of(windows, cql_windows)
clock_or_rows = st.one_of(time_windows, row_windows)
window_queries = st.one_of(
    one_input(windows),
    one_input(cql_windows),
    st.builds(
        "{} {}".format, one_input(st.just("")).filter(lambda q: "AS s" not in q), st.one_of(loops, backward_loops)
    ),
    join(clock_or_rows, clock_or_rows),
    join(cql_windows, cql_windows),
    with_table(time_windows),
    with_table(cql_windows),
    st.builds("SELECT MAX(n) AS m FROM (SELECT a, COUNT(*) AS n FROM s {} GROUP BY a)".format, windows),
)
stream_queries = st.one_of(
    st.builds("SELECT a + 1 AS a1, b, t FROM s WHERE {}".format, predicates),
    st.builds("SELECT tick, index, b FROM s WHERE index > 1 AND {}".format, predicates),
)
converted = st.builds("{}({})".format, st.sampled_from(["RSTREAM", "ISTREAM", "DSTREAM"]), window_queries)
nested = st.builds(
    "SELECT COUNT(*) AS n, MAX(a) AS m FROM ({}(SELECT a, b FROM s {})) {} AS k".format,
    st.sampled_from(["RSTREAM", "ISTREAM", "DSTREAM"]),
    time_windows,
    st.one_of(time_windows, cql_windows.filter(lambda w: "ROWS" not in w)),
)
queries = st.one_of(stream_queries, window_queries, window_queries, converted, nested)
#: windows of different kinds beside each other: no paper says what that means, so only the engines are compared
mixed = st.one_of(join(windows, windows), join(any_window, any_window), with_table(windows))
all_queries = st.one_of(queries, queries, queries, mixed)


# -- running ----------------------------------------------------------------------------------------------------------


def run(sql: str, given: Data, batch_rows: int = 1, without_rules: frozenset[str] = frozenset()) -> Session:
    """A session over the data; its answers are in `collected`, and what it set aside in `rejects`."""
    rejects: list[Reject] = []
    with tempfile.TemporaryDirectory() as folder:
        given.write(Path(folder))
        session = Session(
            given.schema + sql,
            Path(folder),
            batch_rows=batch_rows,
            on_reject=rejects.append,
            without_rules=without_rules,
        )
        session.collected = one_nan(session.answers())  # type: ignore[attr-defined]
    session.rejects = set_aside(rejects)  # type: ignore[attr-defined]
    return session


def set_aside(rejects: list[Reject]) -> list[tuple[str, int, str]]:
    """The rows that were set aside, by stream and line, with the reasons."""
    return sorted((reject.extent, reject.line, reject.reason) for reject in rejects)


def folded(answers: list[Any], query: str = "q1") -> dict[str, Any]:
    """What the answers of a query leave behind: a bag of tuples, the windows by number, the weights of a relation."""
    tuples: dict[int, tuple[int, tuple[Any, ...]]] = {}
    windows: dict[int, tuple[int, Counter[tuple[Any, ...]]]] = {}
    relation: Counter[tuple[int, tuple[Any, ...]]] = Counter()
    for answer in answers:
        if answer.query != query:
            continue
        if isinstance(answer, TupleAnswer):
            _fold_tuple(tuples, answer)
        elif isinstance(answer, WindowAnswer):
            before = windows.pop(answer.window, None)
            assert (before is None) == (answer.op == "+"), answer
            assert before is None or before[1] == Counter(answer.old_rows), answer
            if answer.op != "-":
                windows[answer.window] = (answer.tick, Counter(answer.rows))
        elif isinstance(answer, RelationAnswer):
            relation[answer.tick, answer.row] += 1 if answer.op == "+" else -1
    return {
        "tuples": Counter(tuples.values()),
        "windows": windows,
        "relation": {key: weight for key, weight in relation.items() if weight},
    }


def _fold_tuple(tuples: dict[int, tuple[int, tuple[Any, ...]]], answer: TupleAnswer) -> None:
    before = tuples.pop(answer.index, None)
    assert (before is None) == (answer.op == "+"), answer
    if before is not None:
        assert before[1] == (answer.old if answer.op == "=" else answer.row), answer
    if answer.op != "-":
        tuples[answer.index] = (answer.tick, answer.row)


def unnumbered(result: dict[str, Any]) -> Counter[Any]:
    """The windows as a bag: their numbers tell the order of creation, which batches may change."""
    return Counter((tick, frozenset(rows.items())) for tick, rows in result["windows"].values())
