"""A data source of a user's own: a file with lines of `number,text`, read as a table and followed as a stream."""

from __future__ import annotations

from typing import Any


def lines_source() -> Any:
    """Made inside a function, so that it travels to Spark's workers by value: they do not have our tests."""
    from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

    def rows_of(path: str) -> list[tuple[str, str]]:
        with open(path) as file:
            return [(line.split(",")[0], line.strip().split(",")[1]) for line in file if line.strip()]

    class Reader(DataSourceReader):
        def __init__(self, path: str) -> None:
            self._path = path

        def read(self, partition: InputPartition) -> Any:
            yield from rows_of(self._path)

    class Follower(DataSourceStreamReader):
        def __init__(self, path: str) -> None:
            self._path = path

        def initialOffset(self) -> dict[str, int]:
            return {"line": 0}

        def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:
            return {"line": len(rows_of(self._path))}

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
            middle = (start["line"] + end["line"]) // 2  # two, in the wrong order
            parts = [(middle, end["line"]), (start["line"], middle)]
            return [InputPartition(part) for part in parts if part[0] < part[1]]

        def read(self, partition: InputPartition) -> Any:
            first, last = partition.value
            yield from rows_of(self._path)[first:last]

    class Lines(DataSource):
        @classmethod
        def name(cls) -> str:
            return "lines"

        def schema(self) -> str:
            return "number STRING, text STRING"

        def reader(self, schema: Any) -> DataSourceReader:
            return Reader(self.options["path"])

        def streamReader(self, schema: Any) -> DataSourceStreamReader:
            return Follower(self.options["path"])

    return Lines
