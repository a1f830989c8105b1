"""Rows that enter and leave, where some are alike in all but their tags."""

from __future__ import annotations

from collections.abc import Sequence

from eddyline.spark.evaluate.frames import Frame, grouped


def net_of_alike(frame: Frame, alike: Sequence[str], marks: str) -> Frame:
    """How many (`_n`) enter or, less than 0, leave of rows with weights (`_w`): what they are `alike` in says that.

    Which of them it is, their marks say: those that come and go with the same marks are the same. Of what is left, as
    many as enter or leave, those with the greatest marks.
    """
    each = grouped(frame, [*alike, marks], ["CAST(sum(_w) AS BIGINT) AS _d"]).where("_d <> 0")
    of = f"PARTITION BY {', '.join(alike)}"
    net = each.selectExpr("*", f"sum(_d) OVER ({of}) AS _net").where("_net * _d > 0")
    upto = f"sum(abs(_d)) OVER ({of} ORDER BY {marks} DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    some = net.selectExpr("*", f"abs(_net) - {upto} + abs(_d) AS _left").where("_left > 0")
    count = "CAST(sign(_net) * least(abs(_d), _left) AS BIGINT) AS _n"
    return some.selectExpr(*alike, marks, count)
