"""Start Spark on any machine: with or without a Java, a network or a writable current directory, and quietly.

    session = start_session("local[2]")
    ...
    stop_session()

All of it runs on the driver, in the user's Python process. The JVM is a child of that process, started by PySpark's own
launcher, which ties its life to ours: the JVM reads a pipe that we hold open and leaves when the pipe closes, which it
does even if we are killed. Whatever Spark writes goes to a scratch folder; whatever it says at start-up is kept back,
and becomes the message of a `SparkUnavailable` if it does not start.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import signal
import socket
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddyline.errors import SparkUnavailable
from eddyline.spark.java import Listener, Scratch, find_java, java_options
from eddyline.spark.pools import scheduling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
#: a socket's path has 107 characters at most, and its name takes some of them
_LONGEST_SOCKET_FOLDER = 60
#: what each kind of trouble at the start calls for; the first whose pattern is in Spark's message is shown
_REMEDIES = (
    (
        "(?i)master (url|must)",
        "masters are local[*], local[4], local-cluster[2,1,1024], spark://host:7077, yarn, k8s://https://…",
    ),
    ("(?i)memory|heap", "set the configuration spark.driver.memory to what this machine can give, for example 2g"),
    ("(?i)bind|in use", "leave spark.driver.port and spark.ui.port unset, so that Spark takes free ones"),
)


@dataclass
class _Running:
    """The session of this process and what has to go with it."""

    session: SparkSession
    master: str
    #: ends the JVM and removes what it wrote; nothing to do for a session that somebody else started
    end: Callable[[], None] | None
    #: a forked child inherits this object, but not the right to end the session
    owner: int = field(default_factory=os.getpid)


_running: _Running | None = None
_guard = threading.RLock()


def start_session(
    master: str | None = None, name: str = "eddyline", conf: Mapping[str, str] | None = None
) -> SparkSession:
    """The Spark session of this process, started if there is none yet.

    `conf` wins over our defaults; it counts when Spark starts, not for a session that is already there. A session that
    the user started is shared, with SQL settings of our own and the user's left alone.
    """
    global _running
    with _guard:
        if _running is not None and _alive(_running):
            _refuse_other(master, _running.master)
            return _running.session
        stop_session()
        settings = dict(conf or {})
        master = master or settings.get("spark.master")
        _running = _adopt(master) or _start(master or "local[*]", name, settings)
        return _running.session


def stop_session() -> None:
    """End the session and its JVM, if this process started one. The next `start_session` begins afresh."""
    global _running
    with _guard:
        running, _running = _running, None
        if running is not None and running.end is not None and running.owner == os.getpid():
            running.end()


def _alive(running: _Running) -> bool:
    return running.owner == os.getpid() and running.session.sparkContext._jsc is not None


def _adopt(master: str | None) -> _Running | None:
    """The user's own session: one process cannot have two Spark contexts."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is None:
        return None
    theirs = str(context.master)
    _refuse_other(master, theirs)
    session = SparkSession(context).newSession()
    for key, value in _sql_defaults(theirs).items():
        session.conf.set(key, value)
    return _Running(session, theirs, end=None)


def _refuse_other(master: str | None, running: str) -> None:
    if master not in (None, running):
        raise SparkUnavailable(
            f"Spark already runs in this process with master {running}, not {master}",
            hint="stop that session first, or leave the master out to share it",
        )


def _start(master: str, name: str, conf: dict[str, str]) -> _Running:
    from pyspark import SparkConf, SparkContext, java_gateway
    from pyspark.sql import SparkSession

    _check_reachable(master)
    java = find_java()
    scratch = Scratch()
    listener = Listener()
    previous = signal.getsignal(signal.SIGINT)
    gateway: Any = None

    def end() -> None:
        _end(gateway, listener, scratch, previous)

    try:
        settings = {"spark.app.name": name, **_defaults(master, scratch.path), **conf, "spark.master": master}
        settings["spark.driver.extraJavaOptions"] = java_options(scratch.path, conf)
        with _environment(_variables(master, settings, java.home(scratch.path), scratch.path)):
            spark_conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
            try:
                # A process group of its own: Ctrl-C in a terminal goes to the whole group, and a Java or a Python
                # worker that receives it dies with a stack trace.
                launch: Any = java_gateway.launch_gateway  # untyped
                gateway = launch(spark_conf, {"stdout": listener.inlet, "stderr": listener.inlet, "process_group": 0})
            finally:
                listener.close_inlet()
            session = SparkSession(SparkContext(conf=spark_conf, gateway=gateway))
        if not _is_local(master):
            session.sparkContext.addPyFile(str(_package_zip(scratch.path)))
    except Exception as error:
        if gateway is None:
            listener.join()
        reason = _last_words(listener.lines) if gateway is None else _java_reason(error)
        end()
        raise _unavailable(reason) from None
    except BaseException:
        end()
        raise
    listener.forward()
    atexit.register(stop_session)
    return _Running(session, master, end)


def _end(gateway: Any, listener: Listener, scratch: Scratch, previous: Any) -> None:
    """Stop the context, then its JVM, which PySpark would leave running with the memory it was started with."""
    from pyspark import SparkContext

    listener.mute()
    context = SparkContext._active_spark_context
    if context is not None:
        with contextlib.suppress(Exception):
            context.stop()
    handler = getattr(signal.getsignal(signal.SIGINT), "__qualname__", "")
    if handler.startswith("SparkContext.") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, previous)  # PySpark's would ask the dead context to cancel its jobs
    if gateway is not None:
        SparkContext._gateway = SparkContext._jvm = None
        with contextlib.suppress(Exception):
            gateway.shutdown()
        with contextlib.suppress(OSError):
            gateway.proc.stdin.close()
        try:
            gateway.proc.wait(timeout=20)
        except Exception:
            gateway.proc.kill()
            gateway.proc.wait()
    listener.join()
    scratch.remove()


# ---------------------------------------------------------------------------------------------------- settings


def _defaults(master: str, scratch: Path) -> dict[str, str]:
    settings = {
        "spark.driver.memory": f"{_driver_megabytes()}m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.python.worker.reuse": "true",
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        **_sql_defaults(master),
        **scheduling(scratch),
    }
    if _is_local(master):
        # the loopback is there without a network, and whatever the host name resolves to
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        settings["spark.local.dir"] = str(scratch / "blocks")
        # Spark's usual one starts a process (chmod) for every file of the offset and commit logs: 100 ms a batch
        settings["spark.sql.streaming.checkpointFileManagerClass"] = _CHECKPOINTS
        if hasattr(socket, "AF_UNIX") and len(str(scratch)) <= _LONGEST_SOCKET_FOLDER:
            # over TCP every task waits 40 ms for an acknowledgement that is sent late
            settings["spark.python.unix.domain.socket.enabled"] = "true"
            settings["spark.python.unix.domain.socket.dir"] = str(scratch)
    # what the administrator wrote into spark-defaults.conf is the user's wish too
    return {key: value for key, value in settings.items() if key not in _site_settings()}


def _sql_defaults(master: str) -> dict[str, str]:
    settings = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.streaming.pollingDelay": "10ms",
        # Spark goes on from its last batch or the one before; older offsets and commits are files that others list
        "spark.sql.streaming.minBatchesToRetain": "20",
        # plans are made anew for each batch, so it counts what planning costs and hardly ever brings in
        "spark.sql.constraintPropagation.enabled": "false",
        "spark.sql.ui.explainMode": "simple",
    }
    cores = _cores(master)
    if cores is not None:
        settings["spark.sql.shuffle.partitions"] = str(cores)
        # With a partition per core there is nothing to coalesce, and planning anew after each shuffle slows small
        # queries down. On a cluster, with Spark's own 200 partitions, it pays.
        settings["spark.sql.adaptive.enabled"] = "false"
    return settings


def _site_settings() -> set[str]:
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(os.environ.get("SPARK_HOME", ""), "conf")
    try:
        lines = Path(folder, "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return {re.split(r"[\s=:]", line.strip(), maxsplit=1)[0] for line in lines if not line.lstrip().startswith("#")}


def _is_local(master: str) -> bool:
    return re.match(r"local(\[|-cluster\[|$)", master) is not None


def _cores(master: str) -> int | None:
    """How many tasks run at once, where the master says so.

    >>> _cores("local"), _cores("local[3]"), _cores("local[3,2]"), _cores("local-cluster[2,4,1024]"), _cores("yarn")
    (1, 3, 3, 8, None)
    """
    if master == "local":
        return 1
    if cluster := re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*]", master):
        return max(1, int(cluster[1]) * int(cluster[2]))
    threads = re.fullmatch(r"local\[(\d+|\*)(?:\s*,\s*\d+)?]", master)
    if threads is None:
        return None
    return _processors() if threads[1] == "*" else max(1, int(threads[1]))


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _driver_megabytes() -> int:
    """A quarter of what the machine or its container has: the workers' Arrow buffers live outside the heap."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # "max" where there is no limit
            total = min(total, int(Path(limit).read_text(encoding="ascii")))
    return max(1024, min(4096, total // 4 // 2**20))


def _variables(master: str, settings: Mapping[str, str], java_home: Path, scratch: Path) -> dict[str, str | None]:
    """The environment that the JVM and the Python half of Spark are to be started in; None removes a variable."""
    python = settings.get("spark.pyspark.python")
    if python is None and not _is_local(master):
        python = os.environ.get("PYSPARK_PYTHON")  # the cluster's Python may live at another path than ours
    variables: dict[str, str | None] = {
        "JAVA_HOME": str(java_home),
        "PYSPARK_PYTHON": python or sys.executable or "python3",
        "SPARK_HOME": _spark_home(master, scratch, ours=python is None),
        # these two turn PySpark into a client of somebody else's server
        "SPARK_REMOTE": None,
        "SPARK_CONNECT_MODE_ENABLED": None,
        # and these hand it somebody else's JVM
        "PYSPARK_GATEWAY_PORT": None,
        "PYSPARK_GATEWAY_SECRET": None,
    }
    if _is_local(master):
        variables |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": None, "SPARK_LOCAL_DIRS": None}
    return variables


def _spark_home(master: str, scratch: Path, ours: bool) -> str:
    """SPARK_HOME if it is of PySpark's own version, else PySpark's own jars. `ours`: the workers run this very Python.

    On one machine it is a home of links. The workers of a `local-cluster` keep files in SPARK_HOME/work, which may
    be read-only and is never the place. And where the workers' Python has PySpark installed, it had better not find
    Spark's copy in a zip file first: from there every process compiles what it imports, which takes a second.
    """
    import pyspark

    home = Path(pyspark.__file__).parent
    wanted = os.environ.get("SPARK_HOME")
    if wanted and any(Path(wanted, "jars").glob(f"spark-core_*-{pyspark.__version__}.jar")):
        home = Path(wanted)
    if not _is_local(master):
        return str(home)
    left_out = {"work", "python"} if ours and home == Path(pyspark.__file__).parent else {"work"}
    links = scratch / "spark"
    links.mkdir(exist_ok=True)
    for entry in home.iterdir():
        if entry.name not in left_out:
            (links / entry.name).symlink_to(entry)
    return str(links)


@contextlib.contextmanager
def _environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set for the start only: programs that the user's process starts later must not inherit it."""
    before = {key: os.environ.get(key) for key in variables}

    def apply(values: Mapping[str, str | None]) -> None:
        for key, value in values.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value

    apply(variables)
    try:
        yield
    finally:
        apply(before)


def _package_zip(scratch: Path) -> Path:
    """This package, for executors on machines that do not have it."""
    package = Path(__file__).parent.parent
    target = scratch / f"{package.name}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(package.rglob("*")):
            if file.is_file() and not any(part == "__pycache__" or part[0] == "." for part in file.parts[-3:]):
                archive.write(file, file.relative_to(package.parent))
    return target


# ------------------------------------------------------------------------------------------------------ errors


def _check_reachable(master: str) -> None:
    """Spark tries a standalone master for a minute and then fails with something else; two seconds tell us."""
    hosts = re.fullmatch(r"spark://(.+)", master)
    if hosts is None:
        return
    trouble = ""
    for host in hosts[1].split(","):
        name, _, port = host.rpartition(":")
        try:
            socket.create_connection((name, int(port)), timeout=2).close()
            return
        except (OSError, ValueError) as error:
            trouble = getattr(error, "strerror", None) or str(error)
    raise SparkUnavailable(
        f"no Spark master answers at {master}: {trouble}", hint="start it, or use the master local[*] on this machine"
    )


def _java_reason(error: Exception) -> str:
    """What the running JVM threw, the innermost exception of it, in one line."""
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if cause is None:
        return (str(error).splitlines() or [type(error).__name__])[0]
    while cause.getCause() is not None:
        cause = cause.getCause()
    message = str(cause.getMessage() or "").strip()
    # "nope" alone says little, "ClassNotFoundException: nope" says enough
    return _plain(message if " " in message else str(cause.toString()))


def _last_words(lines: list[str]) -> str:
    """What a JVM that did not come up, or the script that starts it, said last that is of use."""
    useful = [line for line in lines if line and not _NOISE.match(line)]
    telling = [line for line in useful if re.search(r"(?i)\berror|exception|caused by", line)]
    return _plain((telling or useful or ["its JVM ended without a word"])[-1])


#: frames of stack traces, and lines that announce or follow the one that says what is wrong
_NOISE = re.compile(
    r"\s+at |\s*\.\.\. \d+ more|WARNING|Run with --help|To adjust logging level|Setting default log level"
    r"|Error: A fatal exception has occurred|Error: Could not create|Error occurred during initialization"
)


def _plain(text: str) -> str:
    """The first line, without the packages of exceptions and what goes before them.

    >>> _plain("Error: org.apache.spark.SparkException: Master must be there\\n at")
    'Master must be there'
    """
    line = text.strip().splitlines()[0]
    line = re.sub(r"^(Caused by: |Error: |Exception in thread \S+ |spark: ERROR )+", "", line)
    return re.sub(r"^org\.apache\.spark\.SparkException: |^(\w+\.)+(?=[A-Z]\w+(Exception|Error)\b)", "", line)


def _unavailable(reason: str) -> SparkUnavailable:
    remedy = next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, reason)), None)
    return SparkUnavailable(f"Spark does not start: {reason}", hint=remedy)
