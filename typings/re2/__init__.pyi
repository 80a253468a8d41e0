"""The part of google-re2 that is used here; the package brings no types."""

from collections.abc import Iterator

class error(Exception): ...  # noqa: N801

class Options:
    never_nl: bool
    log_errors: bool

class Match:
    def start(self) -> int: ...
    def end(self) -> int: ...

class Pattern:
    def search(self, text: str) -> Match | None: ...
    def finditer(self, text: str) -> Iterator[Match]: ...

def compile(pattern: str, options: Options | None = None) -> Pattern: ...  # noqa: A001
