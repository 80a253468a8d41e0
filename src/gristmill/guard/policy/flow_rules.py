"""Flow rules: values from one server may not go to another. ``crm -> web.*`` is such a rule.

They recognise values, not meanings: `flow_labels` says which. They stop well-meant code reliably and hostile code only mostly;
servers whose data must never meet belong into different sessions.
"""

import codecs
import json
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from gristmill.config.sections.flows_section import FlowRule, add_tool_wildcard
from gristmill.errors import CallRefused, UpstreamError
from gristmill.guard.mask.json_leaves import collect_scalars
from gristmill.guard.policy.flow_labels import MOST_VALUES, FlowLabels
from gristmill.model import Handler, Json, ToolCall, ToolResult

MOST_CHARACTERS = 1_000_000
"""The most characters that are checked in one call; a larger call is refused, since its unchecked part may hold anything."""


MOST_FILE_CHARACTERS = 10_000_000
"""The most characters of a file that are remembered; after a larger one any value may be from there."""


@lru_cache(maxsize=4_096)
def _matches_tool(tool: str, pattern: str) -> bool:
    """Tells whether a tool matches a pattern. Cached: it is asked several times in each call, about few tools."""
    return fnmatchcase(tool, pattern)


def return_unchanged(value: Json) -> Json:
    """Returns the value unchanged; the ``resolve`` of sessions without masks."""
    return value


class FlowRules:
    """The flow rules, and the values that one session has seen.

    ``resolve`` returns the real value for a mask (``Redactor.unmask``), so that a rule holds for both. ``seen_before`` names
    tools or servers whose values the session got in an earlier process. Those values are not known here, so the rules about
    these sources refuse every call.
    """

    def __init__(
        self,
        rules: Sequence[str],
        *,
        resolve: Callable[[Json], Json] = return_unchanged,
        seen_before: Sequence[str] = (),
        most: int = MOST_VALUES,
    ) -> None:
        self._rules = tuple(zip(rules, map(FlowRule.parse, rules), strict=True))
        self._resolve = resolve
        self._labels = {rule.source: FlowLabels(most) for _, rule in self._rules}
        for tool in map(add_tool_wildcard, seen_before):
            self._mark_full(tool)

    def check(self, call: ToolCall) -> None:
        """Refuses a call that would send a value to a tool to which a rule forbids it to go.

        Raises:
            CallRefused: a rule forbids the call.
        """
        rules = [
            (text, rule) for text, rule in self._rules if _matches_tool(call.tool, rule.sink) and self._has_seen_source(rule)
        ]
        if not rules:
            return
        sent = self._resolve([dict(call.arguments), list(call.positional)])
        size = sum(len(leaf) for leaf in collect_scalars(sent, names=True) if type(leaf) is str)
        for text, rule in rules:
            labels = self._labels[rule.source]
            if labels.full:
                self._refuse_call(
                    call, text, f"this session has seen more values of {rule.source} than can be checked; start a new one"
                )
            if size > MOST_CHARACTERS:
                self._refuse_call(
                    call, text, f"its arguments are too large to be checked ({size:,} characters, {MOST_CHARACTERS:,} at most)"
                )
            if labels.contains_seen_value(sent):
                self._refuse_call(call, text, f"an argument holds a value that came from {rule.source}")

    def is_source(self, tool: str) -> bool:
        """Tells whether a rule is about the results of ``tool``."""
        return any(_matches_tool(tool, source) for source in self._labels)

    def remember(self, tool: str, value: Json) -> None:
        """Remembers the values in a result of ``tool``, if a rule is about it."""
        for source, labels in self._labels.items():
            if _matches_tool(tool, source):
                labels.remember(self._resolve(value))

    def remember_text(self, tool: str, text: str) -> None:
        """Remembers a text of ``tool`` that is not a result, such as its error: code may take it apart."""
        for labels in self._find_labels(tool):
            labels.remember_text(str(self._resolve(text)))

    def remember_file(self, tool: str, content: bytes) -> None:
        """Remembers what is in a file of ``tool``. In a file that is no text, any value may be."""
        text = _read_text(content) if self.is_source(tool) else None
        for labels in self._find_labels(tool):
            if text is None or len(text) > MOST_FILE_CHARACTERS:
                labels.mark_full()
                continue
            labels.remember_text(str(self._resolve(text)))
            labels.remember(self._resolve(_read_json(text)))

    def inherit(self, tools: Sequence[str], known: "FlowRules | None" = None) -> None:
        """Adds what another session has seen of ``tools``: the values that are ``known``, or else every value."""
        if known is None:
            for tool in map(add_tool_wildcard, tools):
                self._mark_full(tool)
            return
        for source, labels in self._labels.items():
            if source in known._labels:
                labels.merge(known._labels[source])

    def mark_unknown(self, tool: str) -> None:
        """Takes every value for one of ``tool`` from now on: what the session got from it cannot be looked into."""
        for labels in self._find_labels(tool):
            labels.mark_full()

    def _find_labels(self, tool: str) -> list[FlowLabels]:
        return [labels for source, labels in self._labels.items() if _matches_tool(tool, source)]

    def _mark_full(self, tool: str) -> None:
        """Marks the labels of all sources that a tool, or a pattern of tools, may belong to."""
        for source, labels in self._labels.items():
            if _matches_tool(tool, source) or _matches_tool(source, tool):
                labels.mark_full()

    def _has_seen_source(self, rule: FlowRule) -> bool:
        labels = self._labels[rule.source]
        return labels.full or len(labels) > 0

    @staticmethod
    def _refuse_call(call: ToolCall, rule: str, why: str) -> None:
        raise CallRefused(f"{call.tool} was not called: {why}", rule=f"flows.deny: {rule}")


class FlowLayer:
    """A layer that checks arguments and remembers results. It is outside of journal and cache, whose answers count, too."""

    def __init__(self, flows: FlowRules) -> None:
        self._flows = flows

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Refuses the call, or sends it and remembers its result with its files, or its error."""
        self._flows.check(call)
        try:
            result = await proceed(call)
        except UpstreamError as error:
            self._flows.remember_text(call.tool, str(error))
            raise
        self._flows.remember(call.tool, result.value)
        if result.is_error:
            self._flows.remember_text(call.tool, str(result.value))
        for content in result.files.values():
            self._flows.remember_file(call.tool, content)
        return result


def _read_text(content: bytes) -> str | None:
    """Returns the text in ``content``; None if it is another format."""
    encoding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text or content.startswith(b"%PDF-") else text


def _read_json(text: str) -> Json:
    try:
        return json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None
