"""What is known of the texts of segments."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from eddyline.kernels.searched import _texts
from eddyline.log.segment import MARKS
from eddyline.log.storage import Storage


def test_a_file_of_the_same_name_in_another_database_has_other_texts(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    for number, text in enumerate(("sad", "mad")):
        storage.write_table("streams/s/1.parquet", pa.table({MARKS: [text, None]}))
        os.utime(storage.path("streams/s/1.parquet"), ns=(number, number))
        texts = _texts(["streams/s/1.parquet"], storage)
        assert texts is not None and texts.to_pylist() == [text]
