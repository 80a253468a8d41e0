"""How long to wait for a shop that says "not now", and when to give up."""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

ATTEMPTS = 5
LONGEST_SECONDS = 30.0
"""A shop that wants us to wait longer is treated as one that does not answer."""
TOO_MANY = frozenset({429})
BUSY = frozenset({429, 503})

Sleep = Callable[[float], None]


class Answer(Protocol):
    """What the answers of both HTTP clients have."""

    @property
    def status_code(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def close(self) -> None: ...


A = TypeVar("A", bound=Answer)


def answered(send: Callable[[], A], rest: Sleep, busy: frozenset[int] = BUSY) -> A:
    """The first answer that is not ``busy``, or the last one. What must not happen twice is sent again only after TOO_MANY."""
    answer = send()
    for attempt in range(1, ATTEMPTS):
        if answer.status_code not in busy:
            break
        seconds = seconds_of(answer.headers.get("Retry-After"), attempt)
        if seconds > LONGEST_SECONDS:
            break
        answer.close()
        rest(seconds)
        answer = send()
    return answer


def seconds_of(retry_after: str | None, attempt: int) -> float:
    """What the header says (a number; a date is not worth parsing), else longer and longer."""
    try:
        return max(0.0, float(retry_after or ""))
    except ValueError:
        return min(2.0**attempt / 2, LONGEST_SECONDS)
