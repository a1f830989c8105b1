"""Windows of tables: scanned at intervals (SNEEql's Figure 5), or always there."""

from __future__ import annotations

from eddyline.algebra.window import OneRow, Scan
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.frames import Frame, few
from eddyline.spark.evaluate.timed import Grid, window_list
from eddyline.spark.evaluate.windows import T, Windows
from eddyline.spark.literal import spark_type
from eddyline.spark.spans import HIGH, Spans


def scan_grid(node: Scan, batch: Batch) -> Grid:
    assert node.interval is not None
    return Grid(batch.start, node.interval, 0, 0, batch.now.closed, batch.before.closed)


def scans(node: Scan, batch: Batch, ticks: Spans) -> Windows:
    """The table as it stood at each scan, or as it stood when the query began."""
    width = len(node.schema)
    columns = [f"c{i}" for i in range(width)]
    if node.interval is None:
        (snapshot,) = batch.snapshots(node.table, None)
        return Windows(snapshot.rows(batch.frames).selectExpr(*columns), None, (), width)
    grid = scan_grid(node, batch)
    listed = window_list(grid, ticks, batch)
    rows = scanned_rows(node, batch, ticks, listed).selectExpr(T, *columns)
    return Windows(rows, listed, (T,), width, (grid.first, grid.step))


def scanned_rows(node: Scan, batch: Batch, ticks: Spans, listed: Frame) -> Frame:
    found = list(batch.snapshots(node.table, ticks))
    if not found:  # no scan has been due
        fields = {f"c{i}": spark_type(field.type) for i, field in enumerate(node.schema.fields)}
        return batch.frames.read([], fields, list(fields)).crossJoin(few(listed))
    parts = []
    for snapshot, following in zip(found, [*found[1:], None], strict=True):
        until = HIGH if following is None else following.tick - 1
        when = listed.where(Spans.of([(snapshot.tick, until)]).condition(T))
        parts.append(snapshot.rows(batch.frames).crossJoin(few(when)))
    result = parts[0]
    for part in parts[1:]:
        result = result.unionAll(part)
    return result


def one_row(node: OneRow, batch: Batch) -> Windows:
    return Windows(batch.frames.range(0, 1).selectExpr("1 AS _one").drop("_one"), None, (), 0)
