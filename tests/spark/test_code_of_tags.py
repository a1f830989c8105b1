"""The code of functions that carry tags along is there for as long as a plan calls them, and no longer."""

from __future__ import annotations

import gc
import weakref

from eddyline.algebra.expression import Column, Literal
from eddyline.algebra.tag import TagPredicate
from eddyline.algebra.types import BOOLEAN, STRING
from eddyline.kernels.functions import path_of
from eddyline.log.storage import Storage
from eddyline.session.tags import searching
from eddyline.spark.tags import functions

MARKS = Column("$tags", STRING)


def test_it_goes_with_the_plan(tmp_path: object) -> None:
    storage = Storage(str(tmp_path))
    call = functions.found(MARKS, searching(TagPredicate(Literal(True, BOOLEAN)), None))
    assert functions.code_for(storage, [call.definition]) == [call.definition]
    assert storage.exists(path_of(call.definition))
    there = weakref.ref(call.definition)
    del call
    gc.collect()
    assert there() is None


def test_what_all_plans_call_is_written_for_each_database(tmp_path: object) -> None:
    for name in ("one", "other"):
        storage = Storage(f"{tmp_path}/{name}")
        called = [functions.in_order(MARKS).definition, functions.told_apart(MARKS, MARKS, MARKS, MARKS).definition]
        assert functions.code_for(storage, called) == called
        assert all(storage.exists(path_of(function)) for function in called)
