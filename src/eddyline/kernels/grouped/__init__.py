"""The grouped filter: one predicate of many members, who differ in its constants only, found true for a batch at once.

1. `form`: the predicate is an OR of ANDs of ranges; its constants are columns of a table with a row for each member.
2. `codes`: values and constants become int64 codes that are ordered as SQL orders the values.
3. `boxes`: of each alternative of the OR, a member is a box of codes, with a side for each attribute.
4. `access`: how boxes are best found, judged by the constants or by a `sample` of the tuples seen so far.
5. `index`: the boxes by the attributes in which they are points, and below by one other attribute exactly; or, for two
   others, by the cells of a grid (`blocks`).
6. `loops`: the loops over tuples, compiled by numba (`compiled`).
7. `alternative` sends a `batch` of tuples through the index; `filter` puts the alternatives together, sorts the pairs
   and keeps statistics.

`filter` loads compiled code (or compiles it, the first time on a machine), so it is imported where it is needed.
"""
