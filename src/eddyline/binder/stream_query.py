"""Stream queries: one stream without a window, tuple by tuple, with tables looked up (SNEEql section 4)."""

from __future__ import annotations

from eddyline.algebra.expression import Named, conjunction
from eddyline.algebra.node import StreamOp, WindowOp
from eddyline.algebra.stream import StreamLookup, StreamProject, StreamSelect
from eddyline.binder.asking import asking_plan, remote_of
from eddyline.binder.grouping import has_aggregate
from eddyline.binder.output import output_names
from eddyline.binder.select import Select
from eddyline.binder.source import Input
from eddyline.errors import NotSupported

#: clauses that would have to wait for the end of the stream
_BLOCKING = {
    "distinct": "DISTINCT",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "having": "HAVING",
    "group": "GROUP BY",
}


def stream_plan(select: Select) -> StreamOp:
    _refuse_what_blocks(select)
    micros = select.env.tick_micros
    ordered = sorted(select.inputs, key=lambda i: i.is_table)
    operator = ordered[0].build(micros)
    assert isinstance(operator, StreamOp)
    where = conjunction(tuple(c for c in (*select.conditions, select.predicate) if c is not None))
    remote = [table for table in ordered[1:] if remote_of(table) is not None]
    if remote:
        plain = [table.build(micros) for table in ordered[1:] if table not in remote]
        operator = asking_plan(operator, plain, remote, where)
    for table in ordered[1:] if not remote else ():
        scan = table.build(micros)
        assert isinstance(scan, WindowOp)
        # the last look-up sees all columns; inside it, the condition decides what gets an index
        operator = StreamLookup(operator, scan, where if table is ordered[-1] else None)
    if where is not None and len(ordered) == 1:
        operator = StreamSelect(where, operator)
    names = output_names(select.items)
    return StreamProject(tuple(Named(i.expr, n) for i, n in zip(select.items, names, strict=True)), operator)


def _refuse_what_blocks(select: Select) -> None:
    for key, what in _BLOCKING.items():
        clause = select.node.args.get(key)
        if clause is not None:
            select.refuse_blocking(what, clause[0] if isinstance(clause, list) else select.node)
    for item in select.items:
        if has_aggregate(item.expr):
            select.refuse_blocking("an aggregate", item.node)
    for source in select.inputs:
        if source.clause.args.get("join") in ("LEFT", "RIGHT", "FULL"):
            asked = next(
                (each for each in select.inputs if remote_of(each) is not None and not _is_scannable(each)), None
            )
            if asked is not None:
                raise NotSupported(
                    f"an outer join cannot have {asked.relation.alias}, which is only looked up by key",
                    source.position,
                    "write an inner join, or give the table a path to scan and the stream a window",
                )
            raise NotSupported("an outer join needs windows", source.position, "give the stream a window")


def _is_scannable(table: Input) -> bool:
    return table.extent is None or table.extent.is_scannable
