"""One database that has a bit of everything, and a fixed course of pushes that any process can take up where it ended.

Every push brings one new tuple, and now and then revisions of earlier ones in the same step. So the number of tuples
that have come tells how many pushes have happened, whoever was killed on the way.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from eddyline.algebra.answer import TupleAnswer, WindowAnswer

if TYPE_CHECKING:
    from eddyline import Database

STREAMS = {
    "a": "CREATE STREAM a (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t",
    "b": "CREATE STREAM b (k INTEGER, w INTEGER, t INTEGER) KEY (w) TIMESTAMP BY t",
}
_SLIDE = "[FROM NOW-9 TO NOW SLIDE 10 SEC]"
QUERIES = {
    "high": "SELECT k, v FROM a WHERE v % 3 > 0",
    "passed": "SELECT * FROM a",  # nothing is written for what is new: its log shares the files of the stream
    "sums": "SELECT k, SUM(v) AS total, COUNT(*) AS n FROM a [FROM NOW-19 TO NOW SLIDE 10 SEC] GROUP BY k",
    "pairs": f"SELECT a.k, v, w FROM a {_SLIDE}, b {_SLIDE} WHERE a.k = b.k",
    "births": "ISTREAM(SELECT k, v FROM a [FROM NOW-19 TO NOW SLIDE 10 SEC])",
    # the second and the third are members of a class, and count for themselves
    **{f"born{n}": f"ISTREAM(SELECT k, v FROM a [FROM NOW-14 TO NOW SLIDE 5 SEC] WHERE k > {n})" for n in range(3)},
    # a correction of `a` becomes corrections of the next, and of the next to that
    "above": f"SELECT COUNT(*) AS n, SUM(v) AS total FROM high {_SLIDE}",
    "flow": f"RSTREAM(SELECT k, SUM(v) AS total FROM high {_SLIDE} GROUP BY k)",
    "best": "SELECT k, MAX(total) AS best FROM flow [FROM NOW-29 TO NOW SLIDE 10 SEC] GROUP BY k",
}
#: corrected from what was added up, alone and in a class
KEPT = {
    "kept": "SELECT k, SUM(v) AS total, MAX(v) AS most FROM a [FROM NOW-29 TO NOW SLIDE 10 SEC] GROUP BY k",
    **{f"kept{n}": f"SELECT COUNT(*) AS n, AVG(w) AS mean FROM b {_SLIDE} WHERE k > {n}" for n in range(3)},
}
#: corrections that do not matter are withheld, and shown when somebody asks for them; alone, in a class, tuple by tuple
WITHHELD = {
    "rough": f"SELECT k, SUM(v) AS total, COUNT(*) AS n FROM a {_SLIDE} GROUP BY k",
    **{f"rough{n}": f"RSTREAM(SELECT k, SUM(w) AS total FROM b {_SLIDE} WHERE k > {n} GROUP BY k)" for n in range(3)},
    "tuples": "SELECT k, v FROM a WHERE k > 0",
    "passed_too": "SELECT * FROM b",
    "below": f"SELECT SUM(v) AS total FROM tuples {_SLIDE}",
}
#: a tagger, and who shows its tags: of rows whose files are shared, with tags beside them, and of rows that are written
TAGGER = {"even_ones": "ATTACH TAG 'even' CONTINUOUSLY TO a WHERE v % 2 = 0"}
TAGGED = {"marked": "SELECT * FROM a WITH TAGS", "marked_too": "SELECT k, v FROM a WHERE v % 3 > 0 WITH TAGS"}
#: created when there is a past
LOOKING_BACK = {
    "even": "SELECT k, v FROM a WHERE v % 2 = 0",
    "means": "SELECT k, AVG(v) AS mean FROM a [FROM NOW-9 TO NOW SLIDE 5 SEC] GROUP BY k",
}
END = 10_000


def rows_of_push(number: int) -> tuple[str, list[dict[str, Any]]]:
    """The stream and the rows of a push. Some tuples come late, some are replaced, some are withdrawn."""
    half, tick = number // 2, number // 3 - (6 if number % 13 == 0 else 0)
    if number % 2:
        came = [{"k": half % 4, "w": number, "t": tick}]
        # by its key, without saying that it is a correction
        return "b", came + ([{"k": half % 3, "w": number - 8, "t": tick - 1}] if number > 8 and half % 5 == 4 else [])
    rows: list[dict[str, Any]] = [{"_op": "+", "_ref": None, "k": half % 5, "v": half, "t": tick}]
    if half % 7 == 6:
        rows.append({"_op": "=", "_ref": half - 3, "k": half % 5, "v": half + 100, "t": tick - 2})
    if half % 11 == 10:
        rows.append({"_op": "-", "_ref": half - 5, "k": None, "v": None, "t": None})
    return "a", rows


def prepare(db: Database) -> None:
    """Create what is not there yet: a process may have been killed between two statements."""
    for name, text in STREAMS.items():
        if name not in db.streams:
            db.sql(text)
    for name, text in (TAGGER | QUERIES | TAGGED).items():
        if name not in db.queries:
            db.sql(f"CREATE QUERY {name} AS {text}")
    for name, text in KEPT.items():
        if name not in db.queries:
            db.sql(f"CREATE QUERY {name} WITH (revisions = 'downstream') AS {text}")
    for name, text in WITHHELD.items():
        if name not in db.queries:
            db.sql(f"CREATE QUERY {name} WITH (revise_if = 'abs(new - old) > 90 + abs(old) / 4') AS {text}")


def look_back(db: Database) -> None:
    """Create the queries that look back, if they are not there yet."""
    for name, text in LOOKING_BACK.items():
        if name not in db.queries:
            db.sql(f"CREATE QUERY {name} FROM HISTORY AS {text}")


def pushed(db: Database) -> int:
    """How many pushes have happened."""
    return sum(db.status().rows.values())


def push_rest(db: Database, upto: int) -> None:
    for number in range(pushed(db), upto):
        stream, rows = rows_of_push(number)
        assert db.stream(stream).push(rows).rejected == 0


def finish(db: Database, pushes: int) -> dict[str, Any]:
    """Push what is left, and give all that stands when every answer is added up."""
    push_rest(db, pushes)
    db.advance(pushes // 3 + 40)
    look_back(db)
    db.sql("FLUSH REVISIONS")
    db.flush()
    return {name: folded(db.query(name).fetch()) for name in (*QUERIES, *TAGGED, *KEPT, *WITHHELD, *LOOKING_BACK)}


def folded(answers: list[Any]) -> Any:
    """What stands; raises if an answer does not follow from those before it: given twice, or one is missing."""
    standing: dict[int, Any] = {}
    for answer in answers:
        is_tuple = isinstance(answer, TupleAnswer)
        place = answer.index if is_tuple else answer.window
        now = (answer.tick, (answer.row,), answer.tags) if is_tuple else (answer.tick, answer.rows)
        if answer.op == "+":
            assert place not in standing, f"twice: {answer}"
        else:
            assert place in standing, f"corrects what was never said: {answer}"
            said = (answer.old,) if is_tuple and answer.op == "=" else (answer.row,) if is_tuple else answer.old_rows
            assert Counter(standing[place][1]) == Counter(said), f"corrects something else: {answer}"
        if answer.op == "-":
            del standing[place]
        else:
            standing[place] = now
    if answers and isinstance(answers[0], WindowAnswer):
        return {place: (tick, Counter(rows)) for place, (tick, rows) in standing.items()}
    return Counter(standing.values())  # the indexes of ISTREAM depend on how the input was cut into batches
