"""What code says, without where it is written: a program that is started again has the same functions.

The pickle of a function cannot tell: in it are the file and the lines, sets in the order of this process, numbers that
cloudpickle draws for classes, and references instead of values wherever two of them are one object by chance.
"""

from __future__ import annotations

import copyreg
import dis
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, type(...), type(NotImplemented))
_GLOBALS = frozenset({"LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL"})
#: what Python adds to a class by itself, or says where it is written; dataclasses write their defaults into __doc__
_NOT_CODE = frozenset(
    {
        "__dict__",
        "__doc__",
        "__firstlineno__",
        "__module__",
        "__qualname__",
        "__static_attributes__",
        "__weakref__",
        "_abc_impl",
    }
)
_HEAP_TYPE = 1 << 9  # the flag of classes that are made while a program runs
_PROTOCOL = 4  # how objects are taken apart


def identity_of(code: Any) -> str:
    """The same for the same code with the same values around it, in whichever process; in hexadecimal digits.

    What cloudpickle would send by its name alone counts by its name alone.
    """
    from pyspark import cloudpickle

    try:
        return _Reader().digest(code).hex()
    except Exception:  # many objects, each in the one before; or one that does not like to be looked at
        return sha256(cloudpickle.dumps(code)).hexdigest()  # type: ignore[no-untyped-call]


class _Reader:
    def __init__(self) -> None:
        self._inside: dict[int, int] = {}  # by id, how deep the objects lie that are being read
        self._done: dict[int, tuple[Any, bytes]] = {}  # by id; an object that is held keeps its id

    def digest(self, value: Any) -> bytes:
        if type(value) in _PLAIN:
            return _hashed(type(value).__name__, [_text(value)])
        found = self._done.get(id(value))
        if found is not None:
            return found[1]
        if id(value) in self._inside:  # a function that calls itself, for one
            return _hashed("again", [str(self._inside[id(value)]).encode()])
        self._inside[id(value)] = len(self._inside)
        try:
            result = self._read(value)
        finally:
            del self._inside[id(value)]
        self._done[id(value)] = value, result
        return result

    def _all(self, kind: str, values: Iterable[Any]) -> bytes:
        return _hashed(kind, map(self.digest, values))

    def _read(self, value: Any) -> bytes:
        if isinstance(value, CodeType):
            return self._code(value)
        if isinstance(value, FunctionType | type | ModuleType) and (name := _name_elsewhere(value)) is not None:
            return _hashed("name", [name.encode()])
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, ModuleType):
            return self._all("module", [value.__name__, *_sorted(vars(value), lambda name: name.startswith("__"))])
        kind = type(value)
        if kind in (tuple, list):
            return self._all(kind.__name__, value)
        if kind is dict:
            return self._all("dict", (part for item in value.items() for part in item))
        if kind in (set, frozenset):
            return _hashed(kind.__name__, sorted(map(self.digest, value)))
        if kind is CellType:
            return self._all("cell", _content(value))
        if kind is MethodType:
            return self._all("method", (value.__func__, value.__self__))
        if kind is property:
            return self._all("property", (value.fget, value.fset, value.fdel))
        if kind in (staticmethod, classmethod):
            return self._all(kind.__name__, (value.__func__,))
        if kind is BuiltinFunctionType and isinstance(value.__self__, ModuleType | None):
            return _hashed("name", [f"{value.__module__}.{value.__qualname__}".encode()])
        return self._object(value)

    def _code(self, code: CodeType) -> bytes:
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        return self._all("code", (counts, names, code.co_code, code.co_exceptiontable, code.co_consts))

    def _function(self, function: FunctionType) -> bytes:
        known = function.__globals__
        used = [(name, known[name]) for name in sorted(set(_globals_of(function.__code__))) if name in known]
        given = (function.__defaults__, function.__kwdefaults__, _annotations(function))
        around = list(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        return self._all("function", (function.__code__, given, around, used, _sorted(vars(function))))

    def _class(self, class_: type) -> bytes:
        inside = _sorted(vars(class_), _NOT_CODE.__contains__)
        return self._all("class", (class_.__name__, type(class_), class_.__bases__, inside))

    def _object(self, value: Any) -> bytes:
        """Anything else: what it is made of when it is pickled."""
        try:
            own = copyreg.dispatch_table.get(type(value))
            made: Any = value.__reduce_ex__(_PROTOCOL) if own is None else own(value)
        except Exception:
            made = ""
        if isinstance(made, str):  # it has a name, or cloudpickle has a way of its own
            return self._all("pickle", (type(value), _pickled(value), getattr(value, "__wrapped__", None)))
        how, arguments, *rest = made
        state, items, pairs = (*rest, None, None, None)[:3]
        return self._all("object", (type(value), how, arguments, state, list(items or ()), list(pairs or ())))


def _hashed(kind: str, parts: Iterable[bytes]) -> bytes:
    """Each part has its length in front, so that no two lists of parts are one."""
    made = sha256(kind.encode())
    for part in parts:
        made.update(b"%d:" % len(part))
        made.update(part)
    return made.digest()


def _text(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    return (f"{value:x}" if type(value) is int else repr(value)).encode()  # decimals of a long int are refused


def _annotations(function: FunctionType) -> Any:
    try:
        return function.__annotations__
    except Exception:  # newer Pythons look names up only now, and some are known to checkers of types alone
        return None


def _sorted(found: Mapping[str, Any], is_left_out: Callable[[str], bool] = lambda name: False) -> list[tuple[str, Any]]:
    return [(name, found[name]) for name in sorted(found) if not is_left_out(name)]


def _content(cell: CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # nothing is in it yet
        return ()


def _globals_of(code: CodeType) -> Iterator[str]:
    """The names that code looks up in its module, also inside of functions that it makes."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in _GLOBALS:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_of(constant)


def _name_elsewhere(value: Any) -> str | None:
    """The name under which another process can import it; None if it is sent as it is, as cloudpickle would do."""
    if isinstance(value, ModuleType):
        return value.__name__ if sys.modules.get(value.__name__) is value and not _by_value(value.__name__) else None
    place, name = value.__module__, value.__qualname__
    if isinstance(value, type) and not value.__flags__ & _HEAP_TYPE:
        return f"{place}.{name}"  # Python's own, of which some have no name in their module
    found: Any = sys.modules.get(place or "")
    if found is None or place == "__main__" or _by_value(place):
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{place}.{name}" if found is value else None


def _by_value(module: str) -> bool:
    from pyspark import cloudpickle

    registered = cloudpickle.list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    parts = module.split(".")
    return any(".".join(parts[:count]) in registered for count in range(1, len(parts) + 1))


def _pickled(value: Any) -> bytes:
    from pyspark import cloudpickle

    try:
        return bytes(cloudpickle.dumps(value, _PROTOCOL))  # type: ignore[no-untyped-call]
    except Exception:  # all of it together could be pickled, so this is left out there
        return b""
