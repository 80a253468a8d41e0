"""Flow rules: what came from one server may not go to another. ``crm -> web.*`` is such a rule.

It recognises values, not meanings: ``labels`` says what it can see. It is a fence for code that means well and a hurdle for code
that does not; what must never meet belongs into different sessions.
"""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from gristmill.errors import CallRefused
from gristmill.guard.mask.json_leaves import scalars
from gristmill.guard.policy.flow_labels import MOST_VALUES, Labels
from gristmill.model import Handler, Json, ToolCall, ToolResult
from gristmill.values import dataclass

MOST_CHARACTERS = 1_000_000
"""What is checked of one call; a larger one is refused, since what was not looked at may hold anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRule:
    """Values of tools that match ``source`` may not reach tools that match ``sink``; both are patterns of ``server.tool``."""

    source: str
    sink: str

    @classmethod
    def parse(cls, text: str) -> "FlowRule":
        """Read ``source -> sink``; a server's name alone means all of its tools.

        Raises:
            ValueError: it is not of that form.
        """
        source, arrow, sink = (part.strip() for part in text.partition("->"))
        if not (arrow and source and sink) or "->" in sink or any(part.split() != [part] for part in (source, sink)):
            raise ValueError(f'{text!r} is not of the form "server -> server.tool", such as "crm -> web.*"')
        return cls(source=_all_tools(source), sink=_all_tools(sink))


def _all_tools(pattern: str) -> str:
    return pattern if "." in pattern else f"{pattern}.*"


@lru_cache(maxsize=4_096)
def _matches(tool: str, pattern: str) -> bool:
    """Asked several times for every call, and of few tools."""
    return fnmatchcase(tool, pattern)


def as_it_is(value: Json) -> Json:
    """A ``resolve`` for sessions without masks."""
    return value


class Flows:
    """The rules and what one session has seen.

    ``resolve`` gives the real value for a mask (``Redactor.unmask``), so that a rule holds for both. ``seen_before`` names tools
    or servers whose values the session got in an earlier process, which nothing here remembers: their rules refuse every call.
    """

    def __init__(
        self,
        rules: Sequence[str],
        *,
        resolve: Callable[[Json], Json] = as_it_is,
        seen_before: Sequence[str] = (),
        most: int = MOST_VALUES,
    ) -> None:
        self._rules = tuple(zip(rules, map(FlowRule.parse, rules), strict=True))
        self._resolve = resolve
        self._labels = {rule.source: Labels(most) for _, rule in self._rules}
        for tool in map(_all_tools, seen_before):
            for source, labels in self._labels.items():
                labels.full |= _matches(tool, source) or _matches(source, tool)

    def check(self, call: ToolCall) -> None:
        """Refuse a call that carries a value where no rule lets it go.

        Raises:
            CallRefused: a rule forbids it.
        """
        rules = [(text, rule) for text, rule in self._rules if _matches(call.tool, rule.sink) and self._has_seen(rule)]
        if not rules:
            return
        sent = self._resolve([dict(call.arguments), list(call.positional)])
        size = sum(len(leaf) for leaf in scalars(sent, names=True) if type(leaf) is str)
        for text, rule in rules:
            labels = self._labels[rule.source]
            if labels.full:
                self._refuse(call, text, f"this session has seen more of {rule.source} than can be told apart; start a new one")
            if size > MOST_CHARACTERS:
                self._refuse(
                    call, text, f"its arguments are too large to be checked ({size:,} characters, {MOST_CHARACTERS:,} at most)"
                )
            if labels.holds(sent):
                self._refuse(call, text, f"an argument holds a value that came from {rule.source}")

    def is_source(self, tool: str) -> bool:
        """Whether a rule is about what ``tool`` answers."""
        return any(_matches(tool, source) for source in self._labels)

    def remember(self, tool: str, value: Json) -> None:
        """Note the values that ``tool`` answered with, if a rule is about it."""
        for source, labels in self._labels.items():
            if _matches(tool, source):
                labels.remember(self._resolve(value))

    def _has_seen(self, rule: FlowRule) -> bool:
        labels = self._labels[rule.source]
        return labels.full or len(labels) > 0

    @staticmethod
    def _refuse(call: ToolCall, rule: str, why: str) -> None:
        raise CallRefused(f"{call.tool} was not called: {why}", rule=f"flows.deny: {rule}")


class FlowLayer:
    """Checks what goes out and remembers what comes back. Stands outside of journal and cache, whose answers count too."""

    def __init__(self, flows: Flows) -> None:
        self._flows = flows

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Refuse, or pass on and remember."""
        self._flows.check(call)
        result = await proceed(call)
        self._flows.remember(call.tool, result.value)
        return result
