"""What each kind of statement does to a database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from eddyline.algebra.notation import notation
from eddyline.binder.connection import Connect, Disconnect, ShowPoints
from eddyline.binder.detach import DetachOnce, ShowTags
from eddyline.binder.explain import ALGEBRA, ANALYZE, Show
from eddyline.binder.function import bind_function
from eddyline.binder.revisions import ShowRevisions
from eddyline.binder.statement import (
    Asking,
    AttachOnce,
    Define,
    DefineFunction,
    DropFunction,
    FlushRevisions,
    Insert,
    Register,
    Revise,
    ShowFunctions,
    ShowQueries,
    Step,
    Withdraw,
    WithdrawLike,
)
from eddyline.binder.words import DefineWords, DropWords
from eddyline.catalog.catalog import BoundQuery, Catalog
from eddyline.columnar.types import arrow_schema
from eddyline.database.core import Core
from eddyline.database.definitions import StandingQuery
from eddyline.database.handle import QueryHandle
from eddyline.database.listing import listed
from eddyline.database.points import connect, disconnect
from eddyline.database.points import listed as listed_points
from eddyline.database.pushing import append
from eddyline.database.rows import Rows
from eddyline.database.statements import DROP, DROP_LIKE, EXTENT, FUNCTION, LIMIT, QUERY, TICK, WORDS
from eddyline.database.stream import Pushed
from eddyline.errors import EddylineError
from eddyline.language import Statement, parse_script, syntax, to_sql
from eddyline.session.inflow import constants, inserted
from eddyline.session.join_trees import with_join_trees
from eddyline.session.script_run import is_one_off, nothing_to_take_back, placed
from eddyline.session.tags import attach, shown_tags
from eddyline.sources import open_source
from eddyline.sources.arrival import INSERT_STATEMENT
from eddyline.sources.chunk import chunk_of_arrivals
from eddyline.spark.analyze import analyze
from eddyline.spark.classes import QueryClass
from eddyline.spark.explain import Question, explain
from eddyline.spark.explain_class import explain_class
from eddyline.spark.join_at_work import Allowed
from eddyline.spark.join_report import join_at_work
from eddyline.spark.observed import observed_rates
from eddyline.spark.revising import Revision, revise, take_back
from eddyline.spark.shapes import shared_shape
from eddyline.spark.tags.history import keep_histories
from eddyline.spark.tags.lowering import has_tags
from eddyline.spark.tags.sharing import why_alone
from eddyline.spark.tags.standing import begin_tagging, end_tagging, tagged_upto

#: after these, names mean what they meant before
_NAMES_STAY = Register | Insert | Revise | FlushRevisions | Connect | Disconnect | Asking

Result = QueryHandle | Rows | Pushed | str | None


class Steps:
    """Runs statements one at a time. What can fail comes first, then the statement is written down, then it acts."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._looks_back = False  # whether a query was created that has something to say although nothing comes
        core.engine.join_limits = self._join_limits

    def _join_limits(self) -> Allowed:
        catalog = self._core.definitions.catalog
        return Allowed(catalog.cpu_limit, catalog.memory_limit, catalog.tick_micros / 1_000_000)

    def look_back(self) -> None:
        """Let those begin that look back; once for all that one text has created, so that they begin together."""
        if self._looks_back:
            self._looks_back = False
            self._core.engine.touch()

    def run(self, statement: Statement) -> Result:
        core = self._core
        with core.defining, placed(statement.position):
            tick = core.definitions.catalog.tick_micros
            with core.definitions.attempt(statement) as steps:
                result: Result = None
                for step in steps:
                    result = self._step(step, statement)
                    if isinstance(step, Withdraw):
                        core.alike.forget(step.name)
                    elif not isinstance(step, _NAMES_STAY):
                        core.alike.forget()
                if core.definitions.catalog.tick_micros != tick:
                    core.remember(TICK, to_sql(statement.tree), Path.cwd())
                elif isinstance(statement.tree, syntax.SetLimit):
                    core.remember(LIMIT, to_sql(statement.tree), Path.cwd())
                return result

    def _step(self, step: Step, statement: Statement) -> Result:
        # dropping the query that fails must work when it has failed
        if not isinstance(step, Withdraw | WithdrawLike | DropFunction | DropWords | Disconnect | Asking):
            self._core.check()
        if isinstance(step, Define):
            self._define(step, statement)
        elif isinstance(step, Register):
            return self._register(step, statement)
        elif isinstance(step, Withdraw):
            self._withdraw(step, statement)
        elif isinstance(step, WithdrawLike):
            with self._core.engine.writing:
                self._core.remember(DROP_LIKE, step.pattern, Path.cwd(), arrived=tagged_upto(self._core.engine))
                self._core.drop_like(step.pattern)
        elif isinstance(step, ShowQueries):
            return Rows(listed(self._core.definitions, self._core.engine, self._core.state_of, step.pattern))
        elif isinstance(step, DefineFunction):
            self._core.engine.add_function(step.function)
            self._core.remember(FUNCTION, to_sql(statement.tree), Path.cwd(), function=step.function.hash)
        elif isinstance(step, DefineWords):
            self._core.remember(WORDS, to_sql(statement.tree), Path.cwd())
        elif isinstance(step, DropFunction | DropWords):
            self._core.remember(DROP, to_sql(statement.tree), Path.cwd())
        elif isinstance(step, ShowFunctions):
            columns = zip(*step.known, strict=True) if step.known else ((), (), ())
            return Rows(pa.table([pa.array(column, pa.string()) for column in columns], list(step.columns)))
        elif isinstance(step, ShowRevisions):
            return self._core.revisions.show(step)
        elif isinstance(step, Connect):
            connect(self._core, step.point, statement)
        elif isinstance(step, Disconnect):
            disconnect(self._core, step.point, statement)
        elif isinstance(step, ShowPoints):
            return Rows(listed_points(self._core, step))
        elif isinstance(step, Insert):
            return self._insert(step)
        elif isinstance(step, Revise):
            return self._revise(step)
        elif isinstance(step, FlushRevisions):
            found = None if step.query is None else self._core.definitions.standing(step.query)
            self._core.flush_revisions(found)
        elif isinstance(step, Show):
            return self._shown(step)
        elif isinstance(step, AttachOnce):
            attach(self._core.engine, step)
        elif isinstance(step, DetachOnce):
            return self._detach(step)
        elif isinstance(step, ShowTags):
            return self._tags(step)
        return None

    def _detach(self, step: DetachOnce) -> Pushed:
        revised, found = take_back(self._core.engine, step.extent, step.withdrawal, step.schema)
        warning = nothing_to_take_back(step)
        if not found and warning not in self._core.warnings:
            self._core.warnings.append(warning)
        return Pushed(revised, 0)

    def _tags(self, step: ShowTags) -> Rows:
        lines = shown_tags(self._core.engine, step)
        types = [pa.string()] * 5 + [pa.int64()] * 3
        columns = [pa.array([line[at] for line in lines], type_) for at, type_ in enumerate(types)]
        return Rows(pa.table(columns, list(step.columns)))

    # -- definitions --------------------------------------------------------------------------------------------------

    def _define(self, step: Define, statement: Statement) -> None:
        base, lookup = Path.cwd(), step.extent.lookup
        if lookup is not None:
            open_source(step.extent, base, 1)  # is there a file to scan, does it fit?
        self._core.define(step.extent, base)
        more = {} if lookup is None else {"function": lookup.function.hash}
        self._core.remember(EXTENT, to_sql(statement.tree), base, **more)

    def define_function(self, name: str, code: Callable[..., Any], returns: str, arguments: Sequence[str]) -> None:
        """CREATE FUNCTION with code that a program gives; one that no query calls gives way to it."""
        typed = ", ".join(f"a{place} {type_}" for place, type_ in enumerate(arguments, 1))
        text = f"CREATE FUNCTION {name}({typed}) RETURNS {returns} USING python"
        core = self._core
        with core.defining, core.functions.given(code):
            try:
                (statement,) = parse_script(text)
                there = core.definitions.catalog.functions.get(name.lower())
                if there is not None:
                    tree = cast(syntax.CreateFunction, statement.tree)
                    if bind_function(tree, Catalog(), core.functions.load) == there:
                        return
                    self.run(*parse_script(f"DROP FUNCTION {name}"))
                self.run(statement)
            except EddylineError as problem:
                problem.position = None  # nobody has seen the text
                raise

    def _register(self, step: Register, statement: Statement) -> Result:
        core = self._core
        text = to_sql(statement.tree)
        query = core.definitions.for_spark(step.query)
        named = text.upper().startswith("CREATE QUERY")
        if is_one_off(step.query):
            table = core.engine.answered_once(core.definitions.plan(step.query))
            if named:
                core.remember(QUERY, text, Path.cwd())  # others may read it as a view
            else:
                core.definitions.catalog.drop_query(step.name)
            return Rows(table.rename_columns(list(step.query.columns)))
        if not named:
            text = f"CREATE QUERY {step.name} AS {text}"
        # nothing may come in between the moment that is written down and the one from which the query is there
        with core.engine.writing:
            keep_histories(core.engine, query)
            moment = core.engine.beginning(query) if query.history else core.engine.moment()
            beginning = moment.beginning(core.engine.journal.number if query.history else None)
            seat = core.engine.seat(query, beginning)
            if seat is None:
                core.engine.prepare(
                    step.name, core.definitions.plan(query), query, moment
                )  # raises if Spark cannot run it
            record = core.definitions.record(step.name, query, core.statements.next_number, moment, seat)
            core.remember(QUERY, text, Path.cwd(), query=record)
            core.add(StandingQuery(record, query), beginning.past)
            begin_tagging(core.engine, step.tagger, record.arrived)
        core.engine.start()
        self._looks_back |= record.history
        return QueryHandle(core, core.definitions.standing(step.name))

    def _withdraw(self, step: Withdraw, statement: Statement) -> None:
        core = self._core
        found = core.definitions.find(step.name)
        dropped = None if found is None else found.record.key
        with core.engine.writing:
            core.remember(DROP, to_sql(statement.tree), Path.cwd(), dropped=dropped, arrived=tagged_upto(core.engine))
            end_tagging(core.engine, step.name)
        withdrawn = core.definitions.withdraw(step.name)
        if withdrawn is None:
            core.drop_one_of_many(step.name)
        else:
            core.withdraw(withdrawn)

    def _shown(self, step: Show) -> str:
        core = self._core
        if step.what == ALGEBRA:
            return notation(step.plan)
        found = core.definitions.find(step.name)
        run = step.what == ANALYZE
        seat = None if found is None else found.record.seat
        query = core.definitions.for_spark(step.query)
        if seat is not None:
            shared = core.engine.classes.named(seat.log)
            told = f"{shared.described()}\n\n{explain_class(core.engine, shared, query, run)}"
            return told if run else f"{told}\n\nby itself it would be:\n\n{self._alone(step, step.name)}"
        text = self._alone(step, step.name if found is None else found.record.log)
        if (reason := why_alone(query)) is not None:
            return f"{text}\n\nit is answered by itself, however many are like it: {reason}"
        alike = None if found is not None else self._class_for(query)
        if alike is None:
            return text
        together = explain_class(core.engine, alike, query, False)
        return f"{text}\n\nqueries of this shape are answered together:\n\n{together}"

    def _alone(self, step: Show, log: str) -> str:
        query, plan = step.query, step.plan
        if has_tags(plan):
            query = self._core.definitions.for_spark(replace(query, plan=plan))
            plan = query.plan
        question = Question(log, plan, query.columns, step.rules, None, query.revisions)
        engine = self._core.engine
        text = analyze(engine, question) if step.what == ANALYZE else explain(engine, question)
        rates = observed_rates(engine.logs(), step.tick_micros)
        work, costs = join_at_work(engine, question), engine.join_costs.if_known
        return with_join_trees(text, step, rates, work, costs)

    def _class_for(self, query: BoundQuery) -> QueryClass | None:
        """The class that has the shape of a query which does not stand."""
        classes, now = self._core.engine.classes, self._core.engine.moment().beginning()
        shape = None if query.history else shared_shape(query)
        if shape is None:
            return None
        return classes.of(shape, now) or classes.of(shape, replace(now, start=None))

    # -- data ---------------------------------------------------------------------------------------------------------

    def _insert(self, step: Insert) -> Pushed:
        extent, rows = step.extent, constants(step.rows)
        if not extent.is_stream:
            schema = arrow_schema(extent.schema)
            columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
            self._core.engine.tables.insert(extent.name, pa.Table.from_arrays(columns, schema=schema))
            return Pushed(len(rows), 0)
        micros = self._core.definitions.catalog.tick_micros
        with self._core.engine.writing:
            arrived = self._core.engine.journal.state(extent.name).last_index
            arrivals = [inserted(extent, values, at + 1, arrived + at, micros) for at, values in enumerate(rows)]
            chunk = chunk_of_arrivals(extent, INSERT_STATEMENT, arrivals, [None] * len(arrivals), (), 0)
            (pushed,) = append(self._core, [chunk])
            return pushed

    def _revise(self, step: Revise) -> Pushed:
        core = self._core
        tick = core.definitions.catalog.tick_micros
        before = len(core.rejects)
        revised = revise(core.engine, Revision(step.extent, step.schema, step.where, step.values, tick))
        core.rejects.save()
        return Pushed(revised, len(core.rejects) - before)
