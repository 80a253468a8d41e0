"""OpenTelemetry spans: one per execution and one per call inside it. When tracing is off, nothing is imported or created.

Spans contain no arguments, code or results, because spans leave the machine.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from gristmill.errors import ConfigError

ReportEnding = Callable[[str], None]
"""Tells a span how its work ended, before the span is closed."""


class NoTraces:
    """Creates no spans."""

    @contextmanager
    def open_execution_span(
        self,
        id: str,  # noqa: A002, ARG002
        session: str | None = None,  # noqa: ARG002
        arm: str | None = None,  # noqa: ARG002
    ) -> Generator[ReportEnding]:
        """Opens the span of an execution; the caller gives the status to the yielded function."""
        yield _ignore_ending

    def open_call_span(self, tool: str, number: int, within: Any = None) -> AbstractContextManager[ReportEnding]:  # noqa: ARG002
        """Opens the span of a tool call (``server.tool``); the caller gives the code of an error to the yielded function."""
        return _NO_SPAN

    def get_context(self) -> Any:
        """Returns the current trace context, to be passed as ``within`` for calls made in other tasks."""
        return None

    def continue_trace(self, headers: Mapping[str, str]) -> AbstractContextManager[None]:  # noqa: ARG002
        """Continues the trace that the headers of a request name, for all work inside this context."""
        return _NO_TRACE


def open_traces() -> NoTraces:
    """Opens traces to the target that OpenTelemetry's own variables name, or to the provider that the host program has set.

    Raises:
        ConfigError: the extra is not installed.
    """
    try:
        from gristmill.ledger.otel_traces import open_otel_traces

        return open_otel_traces()
    except ImportError:
        raise ConfigError("records.traces needs OpenTelemetry: pip install 'gristmill[otel]'") from None


def _ignore_ending(_ended: str) -> None:
    """Ignores the ending of work that is not traced."""


_NO_SPAN = nullcontext[ReportEnding](_ignore_ending)
_NO_TRACE = nullcontext[None](None)
