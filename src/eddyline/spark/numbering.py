"""How far each member of a query class has come in numbering its tuples.

The answers of a member have the numbers that they would have if it stood alone, so each goes on where it was. The log
of the class has all numbers that were ever given out, but reading all of it in every batch would take longer and
longer. So now and then a task writes down the last number of each member; what came since is found in the log. This is
done beside the batch's own work, over what earlier batches have committed, and counts when the batch does.
"""

from __future__ import annotations

from eddyline.algebra.sharing import QUERY
from eddyline.log.results import StageResult
from eddyline.log.segment import INDEX, Segment
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.difference import LAST
from eddyline.spark.evaluate.frames import Frame, few, grouped
from eddyline.spark.literal import back_quoted
from eddyline.spark.stages import Stage

#: so many files, and so many rows, are read again and again rather than written down
_FILES, _ROWS = 16, 100_000


def last_numbers(stage: Stage, view: Batch, had: StageResult) -> Frame | None:
    """`_query` and `_last` of all members that were given any; None if there are none.

    What is read here does not count as the batch's own rows: it is two columns of what came since they were written.
    """
    member = stage.columns[stage.member]
    paths = [segment.path for segment in (*had.numbers, *unwritten(had))]
    if not paths:
        return None
    fields = {member: "BIGINT", INDEX: "BIGINT"}
    given = view.frames.read(paths, fields, [f"{back_quoted(member)} AS {QUERY}", INDEX])
    return grouped(given, [QUERY], [f"max({INDEX}) AS {LAST}"])


def of_standing_members(numbers: Frame, view: Batch) -> Frame:
    """Those of members that are still there: numbers of members are never given to others.

    There is always a row, that of a member 0 whom there never is: else nothing would be written down where nobody who
    stands has been given a number, and all would be read again in every batch.
    """
    assert view.members is not None
    standing = numbers.join(few(view.members.everyone(view.frames).select(QUERY)), QUERY, "left_semi")
    nobody = view.frames.range(0, 1).selectExpr(f"id AS {QUERY}", f"id AS {LAST}")
    return standing.select(QUERY, LAST).unionAll(nobody)


def is_due(had: StageResult | None) -> bool:
    """Whether so much has come since the numbers were written down that they are to be written anew."""
    if had is None:
        return False
    later = unwritten(had)
    known = sum(segment.rows for segment in had.numbers)
    return len(later) > _FILES or sum(segment.rows for segment in later) > max(_ROWS, known)


def unwritten(had: StageResult) -> list[Segment]:
    """Where numbers are that are not written down: the batch that wrote them had seen all before it, and not itself."""
    if not had.numbers:
        return list(had.segments)
    return [segment for segment in had.segments if segment.seq[1] >= had.numbers[0].seq[0]]
