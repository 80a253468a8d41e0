"""Spans: one per execution, one per call inside it, with the names of the conventions and nothing of the contents."""

import subprocess
import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from gristmill.errors import UpstreamTimeout
from gristmill.ledger.otel_traces import Traces
from gristmill.ledger.trace import NoTraces


def traced() -> tuple[Traces, InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Traces(provider), exporter


def test_a_call_is_a_child_of_its_execution_and_both_have_their_conventional_names() -> None:
    traces, exporter = traced()
    with traces.open_execution_span("e1", "ann") as ended:
        with traces.open_call_span("crm.find", 7):
            pass
        ended("ok")
    call, execution = exporter.get_finished_spans()
    assert (execution.name, call.name, call.kind) == ("execute_tool execute_code", "tools/call find", SpanKind.CLIENT)
    assert call.parent is not None
    assert execution.context is not None
    assert call.parent.span_id == execution.context.span_id
    assert dict(call.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "find",
        "gristmill.server": "crm",
        "gen_ai.tool.call.id": "7",
    }
    assert dict(execution.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "execute_code",
        "gen_ai.tool.type": "extension",
        "gen_ai.conversation.id": "ann",
        "gristmill.execution.id": "e1",
        "gristmill.execution.status": "ok",
    }
    assert (execution.status.is_ok, call.status.is_ok) == (True, True)


def test_a_failure_is_noted_by_its_code_and_never_by_its_message() -> None:
    traces, exporter = traced()

    def run() -> None:
        with traces.open_execution_span("e1") as ended, traces.open_call_span("crm.find", 1):
            ended("failed")
            raise UpstreamTimeout("ann@example.org did not answer")

    with pytest.raises(UpstreamTimeout):
        run()
    call, execution = exporter.get_finished_spans()
    assert (call.attributes or {})["error.type"] == "upstream.timeout"
    assert (call.status.is_ok, execution.status.is_ok) == (False, False)
    assert "ann@" not in call.to_json() + execution.to_json()


def test_tracing_that_is_off_imports_nothing() -> None:
    program = (
        "import sys\nfrom gristmill.ledger.trace import NoTraces\nwith NoTraces().open_execution_span('e') as ended: ended('ok')\n"
        "print('opentelemetry' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_tracing_that_is_off_takes_the_same_calls() -> None:
    with NoTraces().open_execution_span("e1", "s") as ended, NoTraces().open_call_span("a.b", 1) as called:
        ended("ok")
        called("")


def test_what_a_request_begins_belongs_to_the_trace_it_came_with() -> None:
    traces, exporter = traced()
    headers = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    with traces.continue_trace(headers), traces.open_execution_span("e1"):
        pass
    with traces.open_execution_span("e2"):
        pass
    first, second = exporter.get_finished_spans()
    assert first.context is not None
    assert second.context is not None
    assert f"{first.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert second.context.trace_id != first.context.trace_id
    with NoTraces().continue_trace(headers):
        pass
