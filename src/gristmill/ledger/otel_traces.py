"""Creates OpenTelemetry spans. Imported only when tracing is on: its packages are an extra.

Spans contain no arguments, code or results, because spans leave the machine.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.context import attach, detach, get_current
from opentelemetry.propagate import extract
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer

from gristmill.errors import Error
from gristmill.ledger import trace_names as names
from gristmill.ledger.trace import NoTraces, ReportEnding


class Traces(NoTraces):
    """Creates spans with the tracer of ``provider``."""

    def __init__(self, provider: trace.TracerProvider) -> None:
        self._tracer: Tracer = provider.get_tracer("gristmill")

    @contextmanager
    def open_execution_span(
        self,
        id: str,  # noqa: A002
        session: str | None = None,
        arm: str | None = None,
    ) -> Generator[ReportEnding]:
        """Opens the span of an execution; calls made within it are its children. ``failed`` and similar statuses are errors."""
        given = {names.OPERATION: names.EXECUTE_TOOL, names.TOOL_NAME: names.CODE_TOOL, names.EXECUTION: id}
        given |= {names.TOOL_TYPE: names.EXTENSION} | ({names.CONVERSATION: session} if session else {})
        given |= {names.ARM: arm} if arm else {}
        with self._open_span(names.EXECUTION_SPAN, SpanKind.INTERNAL, given) as span:

            def report_ending(status: str) -> None:
                span.set_attribute(names.STATUS, status)
                if status not in ("ok", "awaiting_approval"):
                    _mark_failed(span, status)

            yield report_ending

    @contextmanager
    def open_call_span(self, tool: str, number: int, within: Any = None) -> Generator[ReportEnding]:
        """Opens the span of a tool call; a Gristmill error that passes through is recorded by its code."""
        server, _, name = tool.partition(".")
        given = {names.OPERATION: names.EXECUTE_TOOL, names.METHOD: names.TOOLS_CALL, names.TOOL_NAME: name}
        given |= {names.SERVER: server, names.TOOL_CALL_ID: str(number)}
        with self._open_span(names.name_call_span(name), SpanKind.CLIENT, given, within) as span:

            def report_ending(error: str) -> None:
                if error:
                    _mark_failed(span, error)

            yield report_ending

    def get_context(self) -> Any:
        """Returns the context of the span that is open now."""
        return get_current()

    @contextmanager
    def continue_trace(self, headers: Mapping[str, str]) -> Generator[None]:
        """Continues the trace that the headers of a request name, for all work inside this context."""
        token = attach(extract(headers))
        try:
            yield
        finally:
            detach(token)

    @contextmanager
    def _open_span(self, name: str, kind: Any, given: dict[str, str], within: Any = None) -> Generator[Span]:
        # Messages of exceptions may contain tool answers, so the library must not record them by itself.
        options: dict[str, Any] = {"record_exception": False, "set_status_on_exception": False, "context": within}
        with self._tracer.start_as_current_span(name, kind=kind, attributes=given, **options) as span:
            try:
                yield span
            except BaseException as error:
                _mark_failed(span, error.code if isinstance(error, Error) else type(error).__qualname__)
                raise


def open_otel_traces() -> Traces:
    """Opens traces to the target that OpenTelemetry's own variables name, or to the provider that the host program has set."""
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        trace.set_tracer_provider(_create_provider())
    return Traces(trace.get_tracer_provider())


def _create_provider() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # pyright: ignore[reportMissingImports]
        OTLPSpanExporter,  # pyright: ignore[reportUnknownVariableType]
    )

    resource = Resource.create()  # reads OpenTelemetry's own variables; without them the service has no name
    if str(resource.attributes.get("service.name", "unknown_service")).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": "gristmill"}))
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))  # pyright: ignore[reportUnknownArgumentType]
    return provider


def _mark_failed(span: Span, error: str) -> None:
    span.set_attribute(names.ERROR_TYPE, error)
    span.set_status(StatusCode.ERROR)
