"""Query kinds that tests/laws/streams.py does not draw: joins of three and four, every aggregate, ORDER BY with LIMIT,
loops of all sorts, and queries over the streams of other queries."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from laws.streams import cql_windows, keys, one_input, predicates, row_windows, time_windows

#: aggregates that a kernel computes
AGGREGATES = (
    "COUNT(*)",
    "COUNT(b)",
    "COUNT_IF(b > 0)",
    "COUNT(DISTINCT b)",
    "SUM(a + b)",
    "SUM(b) FILTER (WHERE a > 0)",
    "AVG(b)",
    "MIN(b)",
    "MAX(b)",
    "MIN(t)",
    "BOOL_AND(b > 0)",
    "BOOL_OR(b > 0)",
    "MIN(w)",
    "COUNT(DISTINCT w)",
)
_ROUNDED = "ROUND({}, 6)"
#: those that run on Spark's own plans, except for those that go by the order of tuples (docs/language.md)
ON_SPARK = (
    "COUNT(DISTINCT a, b)",
    "SUM(DISTINCT b)",
    "MIN_BY(a, t * 100 + b)",
    "MAX_BY(b, t * 100 + a * 10 + b)",
    "BIT_AND(a)",
    "BIT_OR(t)",
    "BIT_XOR(t)",
    "MEDIAN(b)",
    "PERCENTILE(b, 0.25)",
    *(_ROUNDED.format(f"{name}(b)") for name in ("STDDEV", "STDDEV_POP", "VARIANCE", "VAR_POP")),
    *(_ROUNDED.format(f"{name}(b)") for name in ("SKEWNESS", "KURTOSIS")),
    *(_ROUNDED.format(f"{name}(a, b)") for name in ("CORR", "COVAR_SAMP", "COVAR_POP")),
    "SORT_ARRAY(COLLECT_SET(b))",
    "SORT_ARRAY(COLLECT_LIST(a))",
)

any_of_s = st.one_of(time_windows, cql_windows)


def _aggregations(functions: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    where = st.one_of(st.just(""), predicates.map(" WHERE {}".format))
    return st.one_of(
        st.builds("SELECT {} AS x, {} AS y FROM s {}{}".format, functions, functions, any_of_s, where),
        st.builds(
            "SELECT {0}, {1} AS x, {2} AS y FROM s {3}{4} GROUP BY {0}".format,
            keys,
            functions,
            functions,
            any_of_s,
            where,
        ),
    )


aggregations = _aggregations(st.sampled_from(AGGREGATES))
aggregations_on_spark = _aggregations(st.sampled_from(ON_SPARK))
ordered = st.builds(
    "SELECT a, b, t FROM s {} ORDER BY {} LIMIT {}".format,
    any_of_s,
    st.sampled_from(["b DESC, a, t", "t, a, b", "a, b NULLS LAST, t DESC"]),
    st.sampled_from(["1", "2", "1 OFFSET 1"]),
) | st.builds(
    "SELECT a, COUNT(*) AS n FROM s {} GROUP BY a ORDER BY n DESC, a LIMIT {}".format, any_of_s, st.integers(1, 2)
)


@st.composite
def wide_joins(draw: st.DrawFn) -> str:
    """Three or four inputs, all with windows of one family; s and r twice under other names, perhaps a table."""
    window = draw(st.sampled_from([time_windows, cql_windows]))
    names = draw(st.sampled_from(["sxr", "srx", "srxy", "sxry", "srd", "srxd"]))
    extents = {"s": "s", "r": "r", "x": "s", "y": "r", "d": "d"}
    texts = {name: f"{extents[name]} {draw(window)} AS {name}" if name != "d" else "d" for name in names}
    if draw(st.booleans()):
        conditions = " AND ".join(f"{a}.a {draw(st.sampled_from(['=', '=', '<=']))} {b}.a" for a, b in _pairs(names))
        source, where = ", ".join(texts.values()), f" WHERE {conditions}"
    else:
        source, where = texts[names[0]], draw(st.sampled_from(["", " WHERE s.a > 0"]))
        for left, right in _pairs(names):
            kind = draw(st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]))
            source += f" {kind} {texts[right]} ON {left}.a = {right}.a"
    columns = draw(
        st.sampled_from([", ".join(f"{name}.a AS a{name}" for name in names), "COUNT(*) AS n, SUM(s.b) AS m"])
    )
    return f"SELECT {columns} FROM {source}{where}"


def _pairs(names: str) -> list[tuple[str, str]]:
    return list(pairwise(names))


outer_joins = st.builds(
    "SELECT s.a, b, c FROM s {0} {1} JOIN r {2} ON s.a = r.a{3}".format,
    st.one_of(time_windows, row_windows),
    st.sampled_from(["LEFT", "RIGHT", "FULL"]),
    st.one_of(time_windows, row_windows),
    st.sampled_from(["", " AND b > 0"]),
)
loops = st.builds(
    "SELECT {} AS x FROM s{} {}".format,
    st.sampled_from(["SUM(b)", "MAX(a)", "COUNT(*)"]),
    st.sampled_from(["", " WHERE a > 0"]),
    st.sampled_from(
        [
            "for (; t == 0; t = -1) { WindowIs(s, 1, 9); }",
            "for (t = ST; t < ST + 12; t++) { WindowIs(s, ST, t); }",
            "for (t = ST; t < 30; t += 5) { WindowIs(s, t - 4, t); }",
            "for (t = 2; t < 40; t *= 2) { WindowIs(s, t - 4, t); }",
            "for (t = 15; t > 0; t -= 5) { WindowIs(s, t - 4, t); }",
        ]
    ),
)
loop_joins = st.sampled_from(
    [
        "SELECT s.a, c FROM s, r WHERE s.a = r.a for (t = ST; t < ST + 20; t += 2) "
        "{ WindowIs(s, t - 4, t); WindowIs(r, t - 2, t); }",
        "SELECT COUNT(*) AS n FROM s AS x, s AS y WHERE x.a < y.a "
        "for (t = 2; t <= 16; t += 2) { WindowIs(x, t - 1, t); } "
        "for (t = 3; t <= 16; t += 3) { WindowIs(y, t - 2, t); }",
        "SELECT s.a, name FROM s, d WHERE s.a = d.a for (t = ST; t < 20; t += 3) { WindowIs(s, t - 3, t); }",
    ]
)
#: a query by the name of `base`, and one over it
bases = st.one_of(
    st.builds("SELECT a, b, t, w FROM s WHERE {}".format, predicates),
    st.just("SELECT s.a, b, name AS w FROM s, d WHERE s.a = d.a"),
    st.builds("{}(SELECT a, b, w FROM s {})".format, st.sampled_from(["RSTREAM", "ISTREAM", "DSTREAM"]), any_of_s),
    st.builds("RSTREAM(SELECT a, SUM(b) AS b, MAX(w) AS w FROM s {} GROUP BY a)".format, time_windows),
)
_over = st.one_of(
    st.builds("SELECT {0}, COUNT(*) AS n, MAX(b) AS m FROM base {1} GROUP BY {0}".format, keys, time_windows),
    st.builds("SELECT DISTINCT a FROM base {}".format, st.sampled_from(["[RANGE 3 SEC]", "[NOW]", "[UNBOUNDED]"])),
    st.just("SELECT a + 1 AS a, b FROM base WHERE b > 0"),
    st.builds("ISTREAM(SELECT a, b FROM base {})".format, time_windows),
    st.builds(
        "SELECT base.a, c FROM base {0} JOIN r {0} ON base.a = r.a".format,
        st.sampled_from(["[RANGE 3 SEC]", "[FROM NOW-4 TO NOW SLIDE 2 SEC]"]),
    ),
)
over_queries = st.tuples(bases, _over)
window_kinds = st.one_of(aggregations, ordered, wide_joins(), outer_joins, loops, loop_joins, one_input(any_of_s))
kinds = st.one_of(
    aggregations,
    ordered,
    wide_joins(),
    wide_joins(),
    outer_joins,
    loops,
    loop_joins,
    st.builds("{}({})".format, st.sampled_from(["RSTREAM", "ISTREAM", "DSTREAM"]), window_kinds),
)
