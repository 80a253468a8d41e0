"""A span per execution and one per call inside it, where OpenTelemetry is on; otherwise nothing is imported or made.

No arguments, code or results are put into spans: they leave the house.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from gristmill.errors import ConfigError, Error
from gristmill.ledger import trace_names as names

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider

Ended = Callable[[str], None]
"""Say how it ended, before the span does."""


class NoTraces:
    """Makes no spans."""

    @contextmanager
    def execution(self, id: str, session: str | None = None) -> Generator[Ended]:  # noqa: A002, ARG002
        """The span of an execution; tell it the status."""
        yield _nobody

    def call(self, tool: str, number: int, within: Any = None) -> AbstractContextManager[Ended]:  # noqa: ARG002
        """The span of a tool call (``server.tool``); tell it the code of an error, if there was one."""
        return _NOTHING

    def here(self) -> Any:
        """Where we are, for calls that are made elsewhere: ``within``."""
        return None

    def arrived(self, headers: Mapping[str, str]) -> AbstractContextManager[None]:  # noqa: ARG002
        """What is done meanwhile belongs to the trace that the headers of a request name."""
        return _NOWHERE


class Traces(NoTraces):
    """Makes spans with the tracer of ``provider``."""

    def __init__(self, provider: "TracerProvider") -> None:
        self._tracer: Tracer = provider.get_tracer("gristmill")

    @contextmanager
    def execution(self, id: str, session: str | None = None) -> Generator[Ended]:  # noqa: A002
        """The span of an execution; calls made within it are its children. ``failed`` and its kin are errors."""
        from opentelemetry.trace import SpanKind

        given = {names.OPERATION: names.EXECUTE_TOOL, names.TOOL_NAME: names.CODE_TOOL, names.EXECUTION: id}
        given |= {names.TOOL_TYPE: names.EXTENSION} | ({names.CONVERSATION: session} if session else {})
        with self._span(names.EXECUTION_SPAN, SpanKind.INTERNAL, given) as span:

            def ended(status: str) -> None:
                span.set_attribute(names.STATUS, status)
                if status not in ("ok", "awaiting_approval"):
                    _fail(span, status)

            yield ended

    @contextmanager
    def call(self, tool: str, number: int, within: Any = None) -> Generator[Ended]:
        """The span of a tool call; an error of ours that passes is noted by its code."""
        from opentelemetry.trace import SpanKind

        server, _, name = tool.partition(".")
        given = {names.OPERATION: names.EXECUTE_TOOL, names.METHOD: names.TOOLS_CALL, names.TOOL_NAME: name}
        given |= {names.SERVER: server, names.TOOL_CALL_ID: str(number)}
        with self._span(names.call_span(name), SpanKind.CLIENT, given, within) as span:

            def ended(error: str) -> None:
                if error:
                    _fail(span, error)

            yield ended

    def here(self) -> Any:
        """The context of the span that is open now."""
        from opentelemetry.context import get_current

        return get_current()

    @contextmanager
    def arrived(self, headers: Mapping[str, str]) -> Generator[None]:
        """What is done meanwhile belongs to the trace that the headers of a request name."""
        from opentelemetry.context import attach, detach
        from opentelemetry.propagate import extract

        token = attach(extract(headers))
        try:
            yield
        finally:
            detach(token)

    @contextmanager
    def _span(self, name: str, kind: Any, given: dict[str, str], within: Any = None) -> "Generator[Span]":
        # Messages of exceptions may hold what tools answered, so the library must not record them by itself.
        options: dict[str, Any] = {"record_exception": False, "set_status_on_exception": False, "context": within}
        with self._tracer.start_as_current_span(name, kind=kind, attributes=given, **options) as span:
            try:
                yield span
            except BaseException as error:
                _fail(span, error.code if isinstance(error, Error) else type(error).__qualname__)
                raise


def open_traces() -> Traces:
    """Traces to where OpenTelemetry's own environment variables say, or to the provider that the host program has set.

    Raises:
        ConfigError: the extra is not installed.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider

        if not isinstance(trace.get_tracer_provider(), TracerProvider):
            trace.set_tracer_provider(_provider())
        return Traces(trace.get_tracer_provider())
    except ImportError:
        raise ConfigError("records.traces needs OpenTelemetry: pip install 'gristmill[otel]'") from None


def _provider() -> "TracerProvider":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # pyright: ignore[reportMissingImports]
        OTLPSpanExporter,  # pyright: ignore[reportUnknownVariableType]
    )
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create()  # by OpenTelemetry's own variables; without one it has no name
    if str(resource.attributes.get("service.name", "unknown_service")).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": "gristmill"}))
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))  # pyright: ignore[reportUnknownArgumentType]
    return provider


def _fail(span: "Span", error: str) -> None:
    from opentelemetry.trace import StatusCode

    span.set_attribute(names.ERROR_TYPE, error)
    span.set_status(StatusCode.ERROR)


def _nobody(_ended: str) -> None:
    """For callers who are not traced."""


_NOTHING = nullcontext[Ended](_nobody)
_NOWHERE = nullcontext[None](None)
