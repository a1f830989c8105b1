"""What CREATE TAG defines is kept in a database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.errors import DuplicateName, UnknownFunction, UnknownName


def test_words_and_tag_functions_outlast_the_process(spark: Any, tmp_path: Path) -> None:
    code = tmp_path / "alike.py"
    code.write_text("def alike(a, b):\n    return [x == y for x, y in zip(a.to_pylist(), b.to_pylist())]\n")
    function = (
        "CREATE TAG FUNCTION {name}(a STRING, b STRING) RETURNS BOOLEAN USING python "
        f"OPTIONS (path '{code}', name 'alike')"
    )
    with eddyline.connect(str(tmp_path / "db"), master="local[2]") as db:
        db.sql("CREATE TAG SYNONYMS ('lorry', 'truck')")
        db.sql("CREATE TAG GROUP weary ('groggy')")
        db.sql("DROP TAG GROUP weary")
        db.sql(function.format(name="alike"))
        db.sql(function.format(name="gone"))
        db.sql("DROP TAG FUNCTION gone")
    code.unlink()
    with eddyline.connect(str(tmp_path / "db"), master="local[2]") as db:
        with pytest.raises(DuplicateName):
            db.sql("CREATE TAG SYNONYMS ('lorry', 'heavy goods vehicle')")
        with pytest.raises(UnknownName):
            db.sql("DROP TAG GROUP weary")
        with pytest.raises(DuplicateName):
            db.sql("CREATE TAG FUNCTION alike(a STRING, b STRING) RETURNS BOOLEAN USING python OPTIONS (path 'x.py')")
        with pytest.raises(UnknownFunction):
            db.sql("DROP TAG FUNCTION gone")
        known = db._core.definitions.catalog
        assert known.dictionary.same_meaning("Truck", "LORRY")
        assert known.tag_functions["alike"].compute("a", "a") is True, "the code is kept in the database"
