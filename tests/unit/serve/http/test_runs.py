"""What is told of a run while it is under way."""

import asyncio

from gristmill.config.sections.serve_section import Scope
from gristmill.events import CallFinished, CallStarted, OutputWritten
from gristmill.model import Outcome
from gristmill.runs.finished_shelf import ShelfRules
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.runs import LINE_CHARACTERS, Run, Runs


def run() -> Run:
    return Run(id="e", tenant="t", caller="c", session=None, began=0.0)


def test_the_last_line_is_the_last_one_that_says_something() -> None:
    one = run()
    one.hear(OutputWritten(execution="e", text="first\n  second  \n\n"))
    assert one.line == "second"
    one.hear(OutputWritten(execution="e", text="\n \n"))
    assert one.line == "second"
    one.hear(OutputWritten(execution="e", text="x" * 10_000))
    assert one.line == "x" * LINE_CHARACTERS


def test_calls_are_open_until_they_are_answered() -> None:
    one = run()
    for number, tool in ((1, "crm.find"), (2, "mail.send")):
        one.hear(CallStarted(execution="e", call=number, tool=tool))
    one.hear(CallFinished(execution="e", call=1, tool="crm.find", ok=False))
    assert list(one.open_calls.values()) == ["mail.send"]


def test_whoever_watches_hears_of_every_step() -> None:
    one, told = run(), list[int]()
    one.on_change = lambda: told.append(1)
    one.hear(OutputWritten(execution="e", text="a"))
    one.hear(CallStarted(execution="e", call=1, tool="crm.find"))
    assert told == [1, 1]


def test_what_last_ended_is_known_of_whoever_may_see_it_as_long_as_it_is_kept() -> None:
    now = [0.0]
    outcome = Outcome(
        id="e", status="ok", success=True, output="", result=None, error=None, error_type=None, limit=None, execution_time_ms=0.0,
        memory_mb=0.0, tools_called=(), isolation="namespaces", truncated=False, state="fresh",
    )  # fmt: skip

    async def use() -> None:
        runs = Runs(ShelfRules(seconds=10.0, most=10, bytes=1_000_000), background=1, clock=lambda: now[0])

        async def end(id_: str, caller: str) -> None:
            one = Run(id=id_, tenant="t", caller=caller, session=None, began=0.0)
            one.task = asyncio.create_task(asyncio.sleep(0, outcome))
            runs.admit(one)
            await one.task
            runs.ended(one)

        def last(name: str, *scopes: Scope, tenant: str = "t") -> float | None:
            return runs.last_ended(Principal(name=name, tenant=tenant, scopes=frozenset(scopes)))

        for at, caller in ((1.0, "ann@t"), (2.0, "bob@t"), (3.0, "ann@t")):
            now[0] = at
            await end(str(at), caller)
        assert (last("ann"), last("bob"), last("bob", "read"), last("eve", "admin", tenant="x")) == (3.0, 2.0, 3.0, None)
        now[0] = 12.5
        await end("later", "carl@t")
        assert (last("ann"), last("bob"), last("carl")) == (3.0, None, 12.5)

    asyncio.run(use())
