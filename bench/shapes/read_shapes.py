"""Reads shapes from their TOML files, runs one, and says what differs from what must happen.

A file is a class of shapes (``repair.toml``) with one ``[[shape]]`` per program:

- ``name``: what is special about it, in a few words; unique in the file.
- ``code``: the program as the model wrote it. ``before``: programs that ran in the same session before it.
- ``output``: what it prints, without white space at its ends. ``result``: its last expression; for null, leave it out.
- ``status``: ``ok`` if it is left out, or ``failed`` where ``error`` is given. ``error``: a part of the error.
- ``advice``: a part of one of the lines of advice.
- ``repaired``: parts of the repairs, in order; none must be made where it is left out.
- ``calls``: the tools that were called, in order of their first call.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from gristmill import BlockingRuntime, Outcome

FOLDER = Path(__file__).parent


class Shape(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One program and what must happen; see the top of this file."""

    name: str
    code: str
    before: tuple[str, ...] = ()
    output: str | UnsetType = UNSET
    result: Any = UNSET
    status: str = ""
    error: str = ""
    advice: str = ""
    repaired: tuple[str, ...] = ()
    calls: tuple[str, ...] | UnsetType = UNSET


class _ShapeFile(Struct, frozen=True, forbid_unknown_fields=True):
    shape: tuple[Shape, ...]


def list_classes() -> list[str]:
    """Returns the classes of shapes, which are the names of the files."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read_shapes(kind: str) -> tuple[Shape, ...]:
    """Returns the shapes of one class."""
    return msgspec.convert(tomllib.loads((FOLDER / f"{kind}.toml").read_text("utf-8")), _ShapeFile).shape


def run_shape(runtime: BlockingRuntime, kind: str, shape: Shape) -> list[str]:
    """Runs one shape; returns what differs from what must happen."""
    session = f"{kind}-{shape.name}"[:60] if shape.before else None
    for code in shape.before:
        runtime.execute(code, session=session)
    return list(_find_differences(shape, runtime.execute(shape.code, session=session)))


def _find_differences(shape: Shape, outcome: Outcome) -> Iterator[str]:
    status = shape.status or ("failed" if shape.error else "ok")
    if outcome.status != status:
        yield f"status {outcome.status}, not {status}: {outcome.error}"
    if shape.error not in str(outcome.error):
        yield f"error {outcome.error!r} without {shape.error!r}"
    if shape.advice and not any(shape.advice in line for line in outcome.advice):
        yield f"advice {outcome.advice!r} without {shape.advice!r}"
    if shape.output is not UNSET and outcome.output.strip() != shape.output.strip():
        yield f"output {outcome.output!r}, not {shape.output!r}"
    if shape.result is not UNSET and outcome.result != shape.result:
        yield f"result {outcome.result!r}, not {shape.result!r}"
    if shape.calls is not UNSET and outcome.tools_called != shape.calls:
        yield f"calls {outcome.tools_called!r}, not {shape.calls!r}"
    as_said = len(outcome.repaired) == len(shape.repaired) and all(map(str.__contains__, outcome.repaired, shape.repaired))
    if not as_said:
        yield f"repaired {outcome.repaired!r}, not {shape.repaired!r}"
