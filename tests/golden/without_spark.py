"""Which golden scripts the kernels of the Spark engine run without Spark, in a tenth of the time."""

from __future__ import annotations

from golden.script_file import Script

#: what Spark alone does: UPDATE and DELETE, tables, answers at once, users' functions, sums that overflow, and lists
_NEED_SPARK = frozenset(
    (
        "borealis/ibm_update",
        "borealis/key_statements",
        "borealis/lineage",
        "borealis/lineage_withheld",
        "borealis/revise_if_large",
        "borealis/revise_if_odd",
        "connection/further",
        "errors/bad_rows_in_table",
        "errors/header_only",
        "functions/kinds",
        "functions/types",
        "retention/statements",
        "sneeql/one_off",
        "sneeql/overflow_in_conditions",
        "tags/fig1_traffic",
        "tags/fig9_query1_query2",
        "tags/history_and_cloud",
        "tags/history_of_taggers",
        "tags/show_tags",
        "tags/statements",
        "tags/table4_q4",
        "telegraphcq/released_windows",
    )
)


def needs_spark(script: Script) -> bool:
    return script.name in _NEED_SPARK
