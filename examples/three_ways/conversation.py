"""What a conversation costs: every request sends again all that was said before."""

from collections.abc import Callable
from dataclasses import dataclass

NEW, AGAIN = 1.25, 0.1
"""Prices with prompt caching, per token: written to the cache once, read from it on every later request."""

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Tokens (o200k) of one conversation: ``cached`` is ``input`` at the prices of a cache, ``context`` the longest request."""

    requests: int
    input: int
    cached: float
    output: int
    context: int


class Conversation:
    """A model's context, request by request."""

    def __init__(self, count: Count, *beginning: str) -> None:
        self._count = count
        self._context = sum(map(count, beginning))
        self._sent = self._requests = self._input = self._output = 0
        self._cached = 0.0

    def hear(self, text: str) -> None:
        """Something new that the user says."""
        self._context += self._count(text)

    def answer(self, text: str, *results: str) -> None:
        """One request: all so far goes in, ``text`` comes out, and what the tools said to it stands in the next request."""
        self._requests += 1
        self._input += self._context
        self._cached += NEW * (self._context - self._sent) + AGAIN * self._sent
        self._sent = self._context
        said = self._count(text)
        self._output += said
        self._context += said + sum(map(self._count, results))

    def cost(self) -> Cost:
        """What it came to."""
        return Cost(
            requests=self._requests, input=self._input, cached=round(self._cached, 1), output=self._output, context=self._sent
        )
