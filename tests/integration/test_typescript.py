"""Programs in TypeScript: the same rules, sessions, plans and limits as for Python, because the channel is the same."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from gristmill import Outcome, Runtime
from gristmill.config.tree import Config

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


deleted: list[int] = []


def get_expenses(user_id: int, limit: int = 3) -> list[dict[str, Any]]:
    """List expenses."""
    return [{"amount": number * 1.5, "user": user_id} for number in range(limit)]


def delete_expense(expense_id: int) -> dict[str, int]:
    """Delete an expense."""
    deleted.append(expense_id)
    return {"id": expense_id + 1}


def fail_always() -> str:
    """Fail."""
    raise ValueError("no such luck")


TOOLS = {"pam.get_expenses": get_expenses, "pam.delete_expense": delete_expense, "pam.fail_always": fail_always}


@pytest.fixture(scope="module")
async def runtime(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Runtime]:
    folder: Path = tmp_path_factory.mktemp("typescript")
    policy = {"allow": ["pam.get_*", "pam.fail_*"], "ask": ["pam.delete_*"]}
    config = Config.model_validate({"store": {"path": folder}, "policy": policy, "sandbox": {"limits": {"seconds": 30}}})
    async with Runtime.open(config, tools=TOOLS) as opened:
        yield opened


async def run(runtime: Runtime, code: str | None, **options: Any) -> Outcome:
    return await runtime.execute(code, language="typescript", **options)


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("const a: number = 20; interface X { y: string }\na * 2 + 2", 42),
        ("return [1, 2].map((x) => x * 2)", [2, 4]),
        ("await new Promise((done) => setTimeout(done, 1)); 'late'", "late"),
        ("enum Color { Red = 3 }\nColor.Red", 3),
        ("new Map([['a', new Set([1])]])", {"a": [1]}),
        ("undefined", None),
        (
            "({ when: new Date(0), big: 12345678901234567890n, not: NaN })",
            {"when": "1970-01-01T00:00:00.000Z", "big": "12345678901234567890", "not": None},
        ),
        ('import { join } from "node:path";\njoin("a", "b")', "a/b"),
        ("const f = async () => 7;\nf()", 7),
        ("await Deno.writeTextFile('a.txt', 'x'); await Deno.readTextFile('a.txt')", "x"),
    ],
)
async def test_a_program_has_a_result(runtime: Runtime, code: str, result: Any) -> None:
    outcome = await run(runtime, code)
    assert (outcome.status, outcome.result, outcome.error) == ("ok", result, None)


@pytest.mark.parametrize(
    "call",
    [
        'import { get_expenses } from "./servers/pam"; await get_expenses({ user_id: 7 })',
        'import * as p from "servers/pam"; await p.get_expenses({ user_id: 7 })',
        'import get_expenses from "./servers/pam/get_expenses.ts"; await get_expenses({ user_id: 7 })',
        "await servers.pam.get_expenses({ user_id: 7 })",
        "await tools.pam.get_expenses({ user_id: 7 })",
        "await codemode.pam.get_expenses({ user_id: 7 })",
        "await pam.get_expenses({ user_id: 7 })",
        "await mcp__pam__get_expenses({ user_id: 7 })",
        'await callTool("pam.get_expenses", { user_id: 7 })',
        'await callTool("pam", "get_expenses", { user_id: 7 })',
        'await callMCPTool("pam.get_expenses", { user_id: 7 })',
        "await pam.get_expenses(7)",
        "(await Promise.all([1, 2].map(() => pam.get_expenses({ user_id: 7 }))))[1]",
    ],
)
async def test_a_tool_is_called_in_the_ways_that_models_write(runtime: Runtime, call: str) -> None:
    outcome = await run(runtime, call)
    assert (outcome.error, outcome.tools_called) == (None, ("pam.get_expenses",))
    assert outcome.result == get_expenses(7)


async def test_printed_text_is_output_and_context_is_there(runtime: Runtime) -> None:
    outcome = await run(runtime, "console.log('a', { b: [1] }); console.error('c'); context.user", context={"user": 7})
    assert (outcome.output, outcome.result) == ("a { b: [ 1 ] }\nc\n", 7)


async def test_a_session_keeps_its_names_and_python_has_its_own(runtime: Runtime) -> None:
    first = await run(
        runtime,
        "const x: number = 5; let { y } = { y: [1] }; function f(a: number) { return a * x }\nclass A { z = 1 }",
        session="s",
    )
    second = await run(runtime, "y.push(2); [f(2), y, new A().z]", session="s")
    python = await runtime.execute("x = 1\nx", session="s")
    third = await run(runtime, "x", session="s")
    assert (first.status, second.result, second.state) == ("ok", [10, [1, 2], 1], "kept")
    assert (python.result, third.result) == (1, 5)


async def test_an_error_names_the_line_of_the_program(runtime: Runtime) -> None:
    outcome = await run(runtime, "const a = 1;\nfunction f(): never {\n  throw new RangeError('too far');\n}\nf()")
    assert (outcome.status, outcome.error_type) == ("failed", "RangeError")
    assert outcome.error == "RangeError: too far\n    at program.ts:3 in f\n    at program.ts:5"


async def test_a_program_that_does_not_parse_says_where(runtime: Runtime) -> None:
    outcome = await run(runtime, "const a = 1;\n\nconst b = ;")
    assert (outcome.status, outcome.error_type) == ("failed", "SyntaxError")
    assert outcome.error == "SyntaxError: Expression expected\n    at program.ts:3\n      const b = ;"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("await pam.fail_always()", "ToolError: "),
        ("pam.fail_always(); 1", "ToolError: "),
        ("Promise.reject(new Error('lost')); 1", "Error: lost"),
        ("await fetch('http://127.0.0.1/')", "NotCapable: "),
        ("prompt('name?')", "Error: prompt() needs a person"),
        ("const a: any = {}; a.a = a; a", "TypeError: a value that contains itself"),
    ],
)
async def test_a_program_fails_with_its_error(runtime: Runtime, code: str, error: str) -> None:
    outcome = await run(runtime, code)
    assert outcome.status == "failed"
    assert (outcome.error or "").startswith(error)


async def test_an_error_of_a_tool_can_be_caught(runtime: Runtime) -> None:
    outcome = await run(runtime, "try { await pam.fail_always() } catch (error) { return [error.name, error.tool] }")
    assert outcome.result == ["ToolError", "pam.fail_always"]


async def test_calls_that_need_approval_are_planned_and_made_once(runtime: Runtime) -> None:
    code = (
        "const first = await pam.delete_expense({ expense_id: 1 });\nawait pam.delete_expense({ expense_id: first.id });\n'done'"
    )
    asked = await run(runtime, code)
    assert (asked.status, deleted) == ("awaiting_approval", [])
    assert asked.plan is not None
    assert [call.arguments for call in asked.plan.calls] == [{"expense_id": 1}, {"expense_id": {"$planned": [1, "id"]}}]
    await runtime.approvals.decide(asked.plan.id, "all", by="ann")
    for _ in range(2):
        resumed = await runtime.execute(None, resume=asked.id)
        assert (resumed.status, resumed.result, deleted) == ("ok", "done", [1, 2])


async def test_a_plan_stops_where_a_result_must_be_known(runtime: Runtime) -> None:
    asked = await run(runtime, "const r = await pam.delete_expense({ expense_id: 9 }); for (const x of r) console.log(x)")
    assert asked.status == "awaiting_approval"
    assert asked.plan is not None
    assert "the plan ends here" in (asked.plan.stopped or "")


@pytest.mark.parametrize(
    ("code", "limits", "limit"),
    [
        ("while (true) {}", {"seconds": 1}, "seconds"),
        ("const a = []; while (true) a.push(new Uint8Array(1e7).fill(1))", {"memory_mb": 128}, "memory_mb"),
        ("const a = []; while (true) a.push({ b: [a.length] })", {"memory_mb": 64}, "memory_mb"),
        ("for (let i = 0; i < 9; i++) await pam.get_expenses({ user_id: i })", {"calls": 5}, "calls"),
        ("'x'.repeat(2_000_000)", {"result_bytes": 1_000}, "result_bytes"),
    ],
)
async def test_a_limit_ends_the_program(runtime: Runtime, code: str, limits: dict[str, Any], limit: str) -> None:
    outcome = await run(runtime, code, limits=limits)
    assert (outcome.status, outcome.limit) == ("limited", limit)


async def test_a_session_that_exceeds_its_time_says_so_and_begins_anew(runtime: Runtime) -> None:
    await run(runtime, "const kept = 1", session="slow")
    ended = await run(runtime, "while (true) {}", session="slow", limits={"seconds": 1})
    after = await run(runtime, "typeof kept", session="slow")
    assert (ended.status, ended.limit) == ("limited", "seconds")
    assert (after.result, "variables of this session are gone" in " ".join(after.advice)) == ("undefined", True)


async def test_typescript_is_recognised_where_nothing_is_said(runtime: Runtime) -> None:
    outcome = await runtime.execute("const rows = await pam.get_expenses({ user_id: 1 });\nconsole.log(rows.length)")
    assert (outcome.status, outcome.output) == ("ok", "3\n")
    assert (await runtime.execute("rows = [1]\nlen(rows)")).result == 1


async def test_wrong_names_are_advised_before_anything_runs(runtime: Runtime) -> None:
    outcome = await run(runtime, "await pam.get_expensez({ user_id: 1 })")
    assert any("write get_expenses" in line for line in outcome.advice)
