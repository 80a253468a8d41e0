"""Remembers the last programs of each caller: which failed and how, which names they made, which shapes their results had."""

import ast
import hashlib
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from typing import TypeVar

from msgspec import Struct, field

from gristmill.guard.program.check_program import parse_program
from gristmill.model import Identity
from gristmill.runtime.hints.result_samples import ResultSample

MOST_CALLERS = 200
MOST_PROGRAMS, MOST_FAILURES, MOST_SAMPLES = 4, 16, 8
"""How much is remembered of each caller; the oldest is forgotten first."""
MOST_PROGRAM_CHARACTERS = 10_000
"""A longer program is not remembered."""

K = TypeVar("K")
V = TypeVar("V")


class CallerMemory(Struct):
    """What is remembered of one caller."""

    programs: deque[str] = field(default_factory=lambda: deque[str](maxlen=MOST_PROGRAMS))
    """The last programs that ran without a session."""
    failures: OrderedDict[str, int] = field(default_factory=OrderedDict[str, int])
    """How often a program failed in the same way, by a digest of both."""
    samples: OrderedDict[str, ResultSample] = field(default_factory=OrderedDict[str, ResultSample])
    """The shape of the last result of each tool."""

    def note_failure(self, code: str, error: str) -> int:
        """Notes that ``code`` failed with ``error``; returns how often it has done so."""
        text = " ".join(code.split())
        digest = hashlib.blake2b(f"{text}\0{error}".encode(errors="replace"), digest_size=16).hexdigest()
        count = self.failures.pop(digest, 0) + 1
        _keep_newest(self.failures, digest, count, MOST_FAILURES)
        return count

    def note_samples(self, samples: Mapping[str, ResultSample]) -> None:
        """Notes the shapes of the results of a run, by tool."""
        for tool, sample in samples.items():
            self.samples.pop(tool, None)
            _keep_newest(self.samples, tool, sample, MOST_SAMPLES)

    def note_program(self, code: str) -> None:
        """Notes a program that ran without a session."""
        if len(code) <= MOST_PROGRAM_CHARACTERS:
            self.programs.append(code)

    def made_name(self, name: str) -> bool:
        """Tells whether one of the last programs made the variable, function or import ``name``."""
        return any(name in _list_bound_names(code) for code in self.programs)


class RememberedPrograms:
    """The memories of all callers, in this process."""

    def __init__(self) -> None:
        self._callers: OrderedDict[Identity, CallerMemory] = OrderedDict()

    def of_caller(self, identity: Identity) -> CallerMemory:
        """Returns the memory of a caller; one that has not come for long is forgotten for it."""
        found = self._callers.get(identity)
        if found is None:
            found = CallerMemory()
            _keep_newest(self._callers, identity, found, MOST_CALLERS)
        else:
            self._callers.move_to_end(identity)
        return found


def _keep_newest(kept: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    kept[key] = value
    if len(kept) > most:
        kept.popitem(last=False)


def _list_bound_names(code: str) -> frozenset[str]:
    try:
        return frozenset(_find_bound_names(parse_program(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()


def _find_bound_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=alias):
                yield (alias or name).partition(".")[0]
            case _:
                pass
