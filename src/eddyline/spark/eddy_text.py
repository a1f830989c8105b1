"""What an eddy did, in words: for EXPLAIN ANALYZE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eddyline.algebra.user_function import plain_names
from eddyline.kernels.eddy.report import Report

_COLUMNS = ("tuples", "passed", "selectivity", "µs/tuple", "tickets")
#: orders that few tuples took are many and say little
_MOST_ORDERS = 4


def told(reports: Mapping[str, Report]) -> list[str]:
    return [line for name, report in reports.items() for line in _told(name, report)]


def _told(name: str, report: Report) -> list[str]:
    routed = sum(report.orders.values()) + report.sampled
    seconds = sum(report.seconds)
    pace = f", {report.decisions / seconds:,.0f} a second" if seconds else ""
    head = (
        f"eddy for {name}: {routed:,} tuples, {report.decisions:,} decisions{pace}, {report.sampled:,} tuples sampled"
    )
    lines = [head]
    known = report.learned
    if known is not None and len(known.operators) > 1:
        of = f"{known.fixed} of {len(known.operators)} operators"
        lines.append(f"  a decision is for {known.piece:,} tuples and {of} now")
    lines += [f"  {line}" for line in _table(report)]
    shown = report.orders.most_common(_MOST_ORDERS) if len(report.operators) > 1 else []
    for order, tuples in shown:
        way = ", then ".join(plain_names(report.operators[operator]) for operator in order)
        lines.append(f"  {tuples / max(routed, 1):4.0%} of tuples: {way}")
    if len(report.orders) > len(shown) > 0:
        rest = sum(report.orders.values()) - sum(tuples for _, tuples in shown)
        lines.append(f"  {rest / max(routed, 1):4.0%} of tuples: other orders")
    return lines


def _table(report: Report) -> list[str]:
    known = report.learned
    tickets = [1.0] * len(report.operators) if known is None else known.tickets(known.order())
    rows = [_COLUMNS]
    for number in range(len(report.operators)):
        came, passed = report.came[number], report.passed[number]
        share = f"{passed / came:.3f}" if came else ""
        cost = f"{1e6 * report.seconds[number] / came:.2f}" if came else ""
        rows.append((f"{came:,}", f"{passed:,}", share, cost, f"{100 * tickets[number]:.0f}"))
    return _aligned(rows, ["operator", *map(plain_names, report.operators)])


def _aligned(rows: Sequence[Sequence[str]], texts: Sequence[str]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=True)), text])
        for row, text in zip(rows, texts, strict=True)
    ]
