"""Problems of a program, each with its place and what to write instead, and the refusal that lists them all."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from gristmill.errors import CodeRefused

MOST_NAMES = 12


class ProgramProblem(Struct, frozen=True, kw_only=True):
    """One problem of a program. ``certain`` when every run of the program fails because of it; otherwise it is advice."""

    line: int
    column: int
    message: str
    fix: str
    certain: bool

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}; {self.fix}"


def build_refusal(problems: Sequence[ProgramProblem], *, rule: str = "code.check") -> CodeRefused | None:
    """Builds the error for code that must not run, with all its problems; None when all of them are advice."""
    if not any(problem.certain for problem in problems):
        return None
    lines = [f"{problem}" if problem.certain else f"{problem} (perhaps)" for problem in problems]
    return CodeRefused("\n".join(["nothing was run:", *lines]), rule=rule)


def join_names(names: Iterable[str]) -> str:
    """Joins the first names, and says how many more there are."""
    every = list(names)
    more = f" and {len(every) - MOST_NAMES} more" if len(every) > MOST_NAMES else ""
    return (", ".join(every[:MOST_NAMES]) or "nothing") + more
