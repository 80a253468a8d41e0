"""What a serving gateway counts, traces and notices."""

from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.ledger.audit.audit_entries import AuditFilter
from gristmill.ledger.otel_traces import Traces

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def home(state: Path, request: pytest.FixtureRequest) -> Path:
    folder = state / f"counts-{abs(hash(request.node.nodeid))}"
    folder.mkdir()
    return folder


def config(home: Path, **sections: Any) -> Config:
    return Config.model_validate({"sandbox": SandboxConfig(warm=0), "store": StoreConfig(path=home), **sections})


def look(query: str) -> str:
    """Look something up."""
    return f"{query}: ann@example.com"


def metric(text: str, name: str) -> float:
    return next((float(line.split()[-1]) for line in text.splitlines() if line.startswith(name)), 0.0)


async def test_masked_values_are_counted_once(home: Path) -> None:
    settings = config(home, policy={"allow": ["*"]})
    async with Runtime.open(settings, tools={"crm.look": look}, serving=True) as runtime:
        await runtime.execute("from servers import crm\nfound = crm.look(query='a')\nfound", session="s")
        first = metric(runtime.metrics.render().decode(), 'masked_values_total{kind="EMAIL"}')
        await runtime.execute("1", session="s")
        assert first == metric(runtime.metrics.render().decode(), 'masked_values_total{kind="EMAIL"}') >= 1


async def test_decisions_about_plans_are_counted(home: Path) -> None:
    settings = config(home, policy={"ask": ["*"]})
    async with Runtime.open(settings, tools={"crm.look": look}, serving=True) as runtime:
        for answer in ("all", "none", "none"):
            waiting = await runtime.execute("from servers import crm\ncrm.look(query='a')")
            assert waiting.plan is not None
            await runtime.approvals.decide(waiting.plan.id, answer, by="ann")
        text = runtime.metrics.render().decode()
    assert metric(text, 'approvals_total{decision="approved"}') == 1
    assert metric(text, 'approvals_total{decision="denied"}') == 2


async def test_a_runtime_that_serves_nobody_counts_nothing(home: Path) -> None:
    async with Runtime.open(config(home), tools={"crm.look": look}) as runtime:
        await runtime.execute("1")
        assert runtime.metrics.render() == b""


async def test_a_suspicious_definition_is_a_security_record(home: Path) -> None:
    def hidden() -> None:
        pass

    hidden.__doc__ = "Reads\u200b\u200b a file.\U000e0041"
    async with Runtime.open(config(home), tools={"odd.hidden": hidden}, serving=True) as runtime:
        await runtime.execute("1")
        await runtime.findings()
        await runtime._rooms.library.close()  # pyright: ignore[reportPrivateUsage] - whoever reviews is at work
        await runtime.audit.flush()
        found = await runtime.audit.list(AuditFilter(kind="security"), limit=10)
        assert {entry.record.tool for entry in found} == {"odd.hidden"}
        assert all((entry.record.rule or "").startswith("definition.") for entry in found)


async def test_calls_are_spans_inside_their_execution(home: Path) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    assert isinstance(trace.get_tracer_provider(), TracerProvider)
    settings = config(home, records={"traces": True}, policy={"allow": ["*"]})
    async with Runtime.open(settings, tools={"crm.look": look}) as runtime:
        assert isinstance(runtime._rooms.recorder.traces, Traces)  # pyright: ignore[reportPrivateUsage]
        for session in (None, "s", "s"):
            await runtime.execute("from servers import crm\ncrm.look(query='a')", session=session)
    spans = exporter.get_finished_spans()
    parents = {span.context.span_id for span in spans if span.context and span.name == "execute_tool execute_code"}
    calls = [span for span in spans if span.name == "tools/call look"]
    assert (len(parents), len(calls)) == (3, 3)
    assert {call.parent.span_id for call in calls if call.parent} == parents
