"""The half of flink_side.py that runs in PyFlink's own venv, and imports nothing but PyFlink and the standard library.

Each line of its input names a script; each line of its output tells the times. Warm-up is a script like any other.
"""

import json
import os
import runpy
import sys
import time
from pathlib import Path

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

megabytes = runpy.run_path(str(Path(__file__).with_name("memory.py")))["megabytes"]
SETTINGS = {
    "parallelism.default": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
    "table.local-time-zone": "UTC",
    "pipeline.object-reuse": "true",  # faster, and safe for SQL
    # the defaults are for a few queries: each exchange and each window takes its part
    "taskmanager.memory.network.min": "512m",
    "taskmanager.memory.network.max": "512m",
    "taskmanager.memory.managed.size": "1g",
}


def run(path: str) -> dict[str, object]:
    with open(path, encoding="utf-8") as file:
        script = json.load(file)
    before, began = megabytes(), time.monotonic()
    settings = Configuration()
    for key, value in SETTINGS.items():
        settings.set_string(key, value)
    environment = TableEnvironment.create(
        EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(settings).build()
    )
    for table in script["tables"]:
        environment.execute_sql(table)
    statements = environment.create_statement_set()
    for insert in script["inserts"]:
        statements.add_insert_sql(insert)
    result = statements.execute()
    registered = time.monotonic()
    grown = megabytes() - before
    result.wait()
    return {"register": registered - began, "register_mb": grown, "process": time.monotonic() - registered}


def main() -> None:
    # whatever else is printed must not come between the answers
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        question = json.loads(line)
        answer: dict[str, object]
        try:
            answer = run(question["script"]) if question else {"ready": 1}
        except Exception as error:
            lines = [text.strip() for text in str(error).splitlines() if text.strip()]
            causes = [text for text in lines if "Caused by" in text]
            answer = {"error": (causes or lines or [type(error).__name__])[-1][:300]}
            print(error, file=sys.stderr)
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
