"""How much may leave: calls, bytes and calls at the same time, with a clock of our own."""

from typing import Any

import anyio
import pytest

from gristmill.config.sections.quota_section import QuotaConfig
from gristmill.errors import LimitExceeded
from gristmill.guard.quota import quota_layer as quota
from gristmill.guard.quota.quota_layer import QuotaLayer
from gristmill.model import Identity, ToolCall, ToolResult


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def made(clock: Clock | None = None, **config: Any) -> QuotaLayer:
    return QuotaLayer(QuotaConfig.model_validate(config), clock or Clock())


def call(
    tool: str = "crm.get", session: str | None = "s", caller: str = "local", tenant: str = "local", **arguments: Any
) -> ToolCall:
    return ToolCall(id=1, tool=tool, arguments=arguments, session=session, identity=Identity(tenant=tenant, caller=caller))


async def answer(_call: ToolCall) -> ToolResult:
    return ToolResult(value="x" * 100)


def send(layer: QuotaLayer, sent: ToolCall | None = None) -> ToolResult:
    async def run() -> ToolResult:
        return await layer(sent or call(), answer)

    return anyio.run(run)


def refused(layer: QuotaLayer, sent: ToolCall | None = None) -> str:
    with pytest.raises(LimitExceeded) as caught:
        send(layer, sent)
    return caught.value.limit


def test_a_session_has_its_calls_and_gets_them_back_with_time() -> None:
    clock = Clock()
    layer = made(clock, session_calls_per_minute=2)
    send(layer)
    send(layer)
    assert refused(layer) == "quota.session_calls_per_minute"
    clock.now += 30
    send(layer)
    assert refused(layer) == "quota.session_calls_per_minute"


def test_a_bucket_never_holds_more_than_a_minutes_worth() -> None:
    clock = Clock()
    layer = made(clock, session_calls_per_minute=1)
    clock.now += 10_000
    send(layer)
    refused(layer)


def test_a_clock_that_jumps_back_gives_nothing_and_takes_nothing() -> None:
    clock = Clock()
    layer = made(clock, session_calls_per_minute=2)
    send(layer)
    clock.now -= 500
    send(layer)
    refused(layer)


def test_sessions_do_not_share_and_calls_without_one_count_for_their_caller() -> None:
    layer = made(session_calls_per_minute=1)
    for sent in (call(session="a"), call(session="b"), call(session=None, caller="bob"), call(session=None, caller="ann")):
        send(layer, sent)
    refused(layer, call(session=None, caller="bob"))


@pytest.mark.requirement("T45", "T46")
@pytest.mark.parametrize("session", ["main", None])
def test_tenants_whose_sessions_or_callers_have_the_same_name_do_not_share(session: str | None) -> None:
    layer = made(session_calls_per_minute=1, bytes_per_minute=1_000_000)
    for tenant in ("acme", "evil"):
        send(layer, call(session=session, caller="ann", tenant=tenant))
    assert refused(layer, call(session=session, caller="ann", tenant="evil")) == "quota.session_calls_per_minute"


@pytest.mark.requirement("T45")
def test_a_thousand_calls_of_one_tenant_delay_another_by_one() -> None:
    served: list[str] = []

    async def run() -> None:
        layer, go_on = made(concurrent_calls=1), anyio.Event()

        async def note(sent: ToolCall) -> ToolResult:
            served.append(sent.identity.tenant)
            await go_on.wait()
            return ToolResult(value=None)

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                for tenant in ("noisy",) * 1_000 + ("quiet",) * 3:
                    group.start_soon(layer, call(tenant=tenant), note)
                await anyio.wait_all_tasks_blocked()
                go_on.set()

    anyio.run(run)
    assert len(served) == 1_003
    assert [place for place, tenant in enumerate(served) if tenant == "quiet"] == [2, 4, 6]


@pytest.mark.requirement("T45")
def test_whoever_gives_up_in_the_line_keeps_nobody_waiting() -> None:
    async def run() -> list[str]:
        layer, go_on, served = made(concurrent_calls=1), anyio.Event(), list[str]()

        async def note(sent: ToolCall) -> ToolResult:
            served.append(sent.identity.tenant)
            await go_on.wait()
            return ToolResult(value=None)

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(layer, call(tenant="first"), note)
                await anyio.wait_all_tasks_blocked()
                async with anyio.create_task_group() as leaving:
                    leaving.start_soon(layer, call(tenant="gone"), note)
                    leaving.start_soon(layer, call(tenant="called and gone"), note)
                    await anyio.wait_all_tasks_blocked()
                    leaving.cancel_scope.cancel()
                    go_on.set()
                group.start_soon(layer, call(tenant="last"), note)
            await layer(call(tenant="later"), note)
            assert layer._gates["crm"].users == 0  # pyright: ignore[reportPrivateUsage]
        return served

    assert anyio.run(run) == ["first", "last", "later"]


def test_a_server_is_spared_whoever_calls() -> None:
    layer = made(server_calls_per_minute=100, servers={"crm": {"calls_per_minute": 1}})
    send(layer, call(session="a"))
    assert refused(layer, call(session="b")) == "quota.server_calls_per_minute"
    send(layer, call("web.get", session="b"))


def test_bytes_of_arguments_and_answers_count() -> None:
    clock = Clock()
    layer = made(clock, bytes_per_minute=120)
    send(layer, call(text="y" * 50))
    assert refused(layer) == "quota.bytes_per_minute"
    clock.now += 60
    send(layer)


def test_zero_is_no_limit() -> None:
    layer = made(session_calls_per_minute=0, server_calls_per_minute=0, bytes_per_minute=0, concurrent_calls=0)
    for _ in range(50):
        send(layer)


def test_the_defaults_leave_an_ordinary_run_alone() -> None:
    layer = made()
    for _ in range(1_000):
        send(layer)


def test_no_more_calls_than_allowed_are_under_way_and_the_rest_follow() -> None:
    under_way: list[int] = []
    most = 0

    async def slow(_call: ToolCall) -> ToolResult:
        nonlocal most
        under_way.append(1)
        most = max(most, len(under_way))
        await anyio.lowlevel.checkpoint()
        under_way.pop()
        return ToolResult(value=None)

    async def run() -> None:
        layer = made(concurrent_calls=2)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                for _ in range(7):
                    group.start_soon(layer, call(), slow)

    anyio.run(run)
    assert (most, under_way) == (2, [])


def test_waiting_for_a_place_ends() -> None:
    async def run() -> None:
        layer = made(servers={"crm": {"concurrent_calls": 1}}, wait_seconds=0)
        entered, leave = anyio.Event(), anyio.Event()

        async def stuck(_call: ToolCall) -> ToolResult:
            entered.set()
            await leave.wait()
            return ToolResult(value=None)

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(layer, call(), stuck)
                await entered.wait()
                with pytest.raises(LimitExceeded) as caught:
                    await layer(call(), answer)
                assert (caught.value.limit, caught.value.value) == ("quota.concurrent_calls", 1)
                leave.set()
            await layer(call(), answer)

    anyio.run(run)


def test_a_place_is_given_back_when_a_call_fails_or_is_cancelled() -> None:
    async def run() -> None:
        layer = made(concurrent_calls=1, wait_seconds=0)

        async def fails(_call: ToolCall) -> ToolResult:
            raise ZeroDivisionError

        async def hangs(_call: ToolCall) -> ToolResult:
            await anyio.sleep_forever()
            return ToolResult(value=None)

        with pytest.raises(ZeroDivisionError):
            await layer(call(), fails)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await layer(call(), hangs)
        await layer(call(), answer)

    anyio.run(run)


def test_names_made_up_by_code_do_not_fill_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota, "MOST_BUCKETS", 10)
    monkeypatch.setattr(quota, "MOST_GATES", 10)
    layer = made(server_calls_per_minute=1)
    for number in range(50):
        send(layer, call(f"made_up_{number}.x"))
    assert len(layer._servers._buckets) == 10  # pyright: ignore[reportPrivateUsage]
    assert len(layer._gates) == 10  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("value", [2**80, "\ud800", {1, 2}, float("nan")])
def test_a_value_that_cannot_be_measured_is_no_failure(value: object) -> None:
    send(made(), call(value=value))
