"""Formats that Spark reads and we do not: their rows as the columns that an extent declares."""

from __future__ import annotations

import glob
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddyline.algebra.types import STRING, DataType
from eddyline.catalog.extent import Extent
from eddyline.errors import EddylineError, NotSupported, SourceUnusable, nearest
from eddyline.sources.columns import OP, REF, TAG
from eddyline.sources.reasons import SHOWN_CHARACTERS, article
from eddyline.sources.staged import LIMIT, TEXT, UNFIT
from eddyline.spark.literal import back_quoted, quoted, spark_type
from eddyline.spark.trouble import reason_of, storage_problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: those of Spark's own that are files in a folder, so that they have an end
FILE_FORMATS = frozenset({"avro", "binaryfile", "orc", "text", "xml"})
#: what cannot be read again after a crash, so that rows would be lost
_NOT_REPLAYABLE = frozenset({"socket"})
_RESERVED = {OP: "STRING", REF: "BIGINT", TAG: "STRING"}


def stored_frame(spark: SparkSession, extent: Extent, base: Path) -> DataFrame:
    """A table as it is now, the columns as the source has them."""
    reader = spark.read.format(extent.format or "").options(**_options(extent, base))
    try:
        try:
            return reader.load()
        except Exception:
            return reader.schema(_ddl(extent)).load()  # a format that knows no schema of its own
    except Exception as problem:
        raise explained(extent, problem) from None


def live_frame(spark: SparkSession, extent: Extent, base: Path) -> DataFrame:
    """A stream as Spark's own streaming sources give it, the columns as the source has them."""
    if extent.format in _NOT_REPLAYABLE:
        raise NotSupported(
            f"{extent.name}: {extent.format} cannot be read again after a crash, so its rows would be lost",
            hint="leave USING out and push the rows from a program",
        )
    options = _options(extent, base)
    if extent.format in FILE_FORMATS:
        options = _single_file(options)
    reader = spark.readStream.format(extent.format or "").options(**options)
    try:
        try:
            return reader.load()
        except Exception:
            # files want to be told their columns; those that are there already know best
            return reader.schema(_schema_of_files(spark, extent, options)).load()
    except Exception as problem:
        raise explained(extent, problem) from None


def fitted(frame: DataFrame, extent: Extent) -> DataFrame:
    """The declared columns, cast; those for revisions, if there are any; and why a row does not fit."""
    found = {name.lower(): name for name in frame.columns}
    for field in extent.schema.fields:
        if field.name.lower() not in found:
            guess = nearest(field.name, frame.columns)
            raise SourceUnusable(
                f"{extent.name}: {extent.format} gives no column '{field.name}', which {extent.name} declares",
                hint=f"did you mean {guess}?" if guess else f"its columns are {', '.join(frame.columns)}",
            )
    own = [(field.name, back_quoted(found[field.name.lower()]), field.type) for field in extent.schema.fields]
    values = [f"try_cast({source} AS {spark_type(type_)}) AS {back_quoted(name)}" for name, source, type_ in own]
    reserved = [
        f"CAST({back_quoted(found[name])} AS {type_}) AS {name}"
        for name, type_ in _RESERVED.items()
        if extent.is_stream and name in found
    ]
    reason = f"coalesce({', '.join(_unfit(*column) for column in own)}, NULL)"
    if extent.is_stream and OP in found:  # a deletion and a tag need no values
        reason = f"CASE WHEN coalesce(CAST({back_quoted(found[OP])} AS STRING), '') NOT IN ('-', '#') THEN {reason} END"
    said = ", ".join(f"{quoted(name)}, CAST({source} AS STRING)" for name, source, _ in own)
    text = f"CASE WHEN ({reason}) IS NOT NULL THEN to_json(named_struct({said})) END"
    try:
        return frame.selectExpr(
            *values, *reserved, f"{reason} AS {back_quoted(UNFIT)}", f"{text} AS {back_quoted(TEXT)}"
        )
    except Exception as problem:
        raise explained(extent, problem) from None


def _unfit(name: str, source: str, type_: DataType) -> str:
    """NULL, or why the value is none of its type."""
    if type_ == STRING:
        return "CAST(NULL AS STRING)"
    lost = f"{source} IS NOT NULL AND try_cast({source} AS {spark_type(type_)}) IS NULL"
    shown = f"left(CAST({source} AS STRING), {SHOWN_CHARACTERS})"
    start, end = quoted(f"{name}: '"), quoted(f"' is not {article(type_)} {type_}")
    return f"CASE WHEN {lost} THEN concat({start}, {shown}, {end}) END"


def _options(extent: Extent, base: Path) -> dict[str, str]:
    options = {key: value for key, value in extent.options if key != LIMIT or not extent.is_stream}
    path = options.get("path")
    if path is not None and not re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", path):
        options["path"] = str((base / path).absolute())
    return options


def _single_file(options: dict[str, str]) -> dict[str, str]:
    """Spark follows folders; one file is the file of that name in its folder."""
    path = re.sub(r"^file:(//)?(?=/)", "", options.get("path", ""))
    if not path or not Path(path).is_file():
        return options
    return {**options, "path": str(Path(path).parent), "pathglobfilter": glob.escape(Path(path).name)}


def _schema_of_files(spark: SparkSession, extent: Extent, options: dict[str, str]) -> Any:
    try:
        return spark.read.format(extent.format or "").options(**options).load().schema
    except Exception as problem:
        if "UNABLE_TO_INFER_SCHEMA" in str(problem):  # no files yet
            return _ddl(extent)
        raise


def _ddl(extent: Extent) -> str:
    return ", ".join(f"{back_quoted(f.name)} {spark_type(f.type)}" for f in extent.schema.fields)


# -- trouble ----------------------------------------------------------------------------------------------------------


def explained(extent: Extent, problem: BaseException) -> EddylineError:
    """What Spark says, in one sentence with the extent's name."""
    if isinstance(problem, EddylineError):
        return problem
    text, unusable = str(problem), storage_problem(problem)
    if unusable is not None:
        return unusable
    hint = None
    if "DATA_SOURCE_NOT_FOUND" in text:
        guess = nearest(extent.format or "", ("csv", "json", "parquet", "orc", "text", "avro", "rate"))
        hint = f"did you mean {guess}?" if guess else "register it first: db.spark.dataSource.register(YourSource)"
    return SourceUnusable(f"{extent.name}: Spark cannot read it as {extent.format}: {reason_of(text)}", hint=hint)
