"""Results and arguments in the forms that programs expect: attributes, conversions, parsed JSON; told, approved and recorded."""

import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from gristmill import BlockingRuntime, Config, Runtime
from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.model import Plan


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


CODE_PACKAGES = Path(sys.prefix) / "code"
"""Where `make setup` put pandas."""


def get_expenses(count: int = 3, categories: list[str] | None = None, filters: dict[str, Any] | None = None) -> Any:
    return [{"id": number, "amount": number * 1.5, "user": {"name": "Ann"}, "tags": categories} for number in range(count)]


def echo(value: Any = None, amount: float = 0, day: str = "") -> Any:
    return {"value": value, "amount": amount, "day": day, "done": True, "number": 5}


def create_page(number: int, title: str = "") -> Any:
    return {"page": {"id": number}}


TOOLS = {"pam.get_expenses": get_expenses, "pam.echo": echo, "wiki.create_page": create_page}


@pytest.fixture(scope="module")
def pam(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    folder = tmp_path_factory.mktemp("pam")
    folder.chmod(0o755)
    config = Config(
        sandbox=SandboxConfig(warm=1, venv=CODE_PACKAGES),
        policy=PolicyConfig(default="allow", ask=("wiki.*",)),
        store=StoreConfig(path=folder / "state"),
    )
    with BlockingRuntime(config, tools=TOOLS) as runtime:
        yield runtime


def result(runtime: BlockingRuntime, code: str) -> Any:
    outcome = runtime.execute("from servers import pam, wiki\n" + code)
    assert outcome.status == "ok", outcome.error
    return outcome.result


def test_rows_are_read_by_attribute_and_by_key(pam: BlockingRuntime) -> None:
    code = "rows = pam.get_expenses()\n[rows[1].amount + rows[1]['amount'], rows[2].user.name, type(rows[0]) == dict, rows[0]]"
    row = {"id": 0, "amount": 0.0, "user": {"name": "Ann"}, "tags": None}
    assert result(pam, code) == [3.0, "Ann", True, row]


def test_the_error_names_the_key_that_was_meant(pam: BlockingRuntime) -> None:
    for code, kind in (("row['amuont']", "KeyError"), ("row.amuont", "AttributeError")):
        outcome = pam.execute(f"from servers import pam\nrow = pam.get_expenses()[0]\n{code}")
        assert outcome.error_type == kind
        assert (outcome.error or "").endswith("it has id, amount, user, tags; did you mean 'amount'?")


def test_parallel_answers_have_the_attributes_of_their_values(pam: BlockingRuntime) -> None:
    code = """import asyncio
first = pam.echo(value=1)
both = await asyncio.gather(pam.echo(value=2), pam.echo(value=first))
[first.number, first.done, first.value, both[0].value, both[1].value.value]"""
    assert result(pam, code) == [5, True, 1, 2, 1]


def test_a_table_of_rows_is_made_as_of_dictionaries(pam: BlockingRuntime) -> None:
    code = """import pandas as pd, numpy as np
rows = pam.get_expenses(count=4)
frame = pd.DataFrame(rows)
flat = pd.json_normalize(rows)
sent = pam.echo(value={"table": frame[["id"]], "total": frame.amount.sum(), "most": np.int64(3), "none": pd.NA}, day=pd.Timestamp("2026-01-02"))
[list(frame.columns), float(frame.amount.sum()), list(flat.columns), sent.value, sent.day]"""
    assert result(pam, code) == [
        ["id", "amount", "user", "tags"],
        9.0,
        ["id", "amount", "tags", "user.name"],
        {"table": [{"id": 0}, {"id": 1}, {"id": 2}, {"id": 3}], "total": 9.0, "most": 3, "none": None},
        "2026-01-02T00:00:00",
    ]


def test_arguments_are_converted_and_the_caller_is_told(pam: BlockingRuntime) -> None:
    outcome = pam.execute(
        "import datetime, decimal, json\nfrom servers import pam\n"
        "rows = pam.get_expenses(count='2', categories='fuel')\n"
        "sent = pam.echo(amount=decimal.Decimal('2.50'), day=datetime.date(2026, 1, 2))\n"
        "[json.loads(rows)[1]['tags'], sent.amount, sent.day]"
    )
    assert outcome.result == [["fuel"], 2.5, "2026-01-02"]
    assert outcome.advice == (
        "pam.get_expenses: count was given as string and sent as integer",
        "pam.get_expenses: categories was given as string and sent as array",
        "pam.echo: amount was given as string and sent as number",
        "json.loads got a value that is parsed already and gave it back: use results as they are",
        "arguments that JSON has no form for were converted: dates and times as ISO 8601 text, decimal numbers as text or number",
    )
    assert pam.execute("from servers import pam\npam.echo(value=1).value").advice == ()


@pytest.mark.parametrize("arguments", ["count='two'", "count=2.5", "categories='a,b'", "filters='x'", "count=None, filters=3"])
def test_a_real_mismatch_is_refused_before_the_call_leaves(pam: BlockingRuntime, arguments: str) -> None:
    code = f"from mcp_client import ToolError\nfrom servers import pam\ntry:\n    r = pam.get_expenses({arguments})\nexcept ToolError as e:\n    r = e.code\nr"
    assert pam.execute(code).result == "refused.call"


@pytest.mark.anyio
async def test_approvers_records_and_direct_calls_see_the_converted_call(tmp_path: Path) -> None:
    shown: list[Any] = []

    async def approve(plan: Plan) -> Any:
        shown.extend(call.arguments for call in plan.calls)
        return "all"

    tmp_path.chmod(0o755)
    policy = PolicyConfig(default="allow", ask=("wiki.*",))
    config = Config(sandbox=SandboxConfig(warm=0), policy=policy, store=StoreConfig(path=tmp_path / "state"))
    code = "from servers import wiki\npage = wiki.create_page('7')\nwiki.create_page(number=page.page.id, title='b').page.id"
    async with Runtime.open(config, tools=TOOLS) as runtime:
        outcome = await runtime.execute(code, approve=approve)
        direct = await runtime.call("pam.get_expenses", {"count": "1", "categories": None})
        await runtime.audit.flush()
        arguments = [entry.record.arguments for entry in await runtime.audit.list() if entry.record.kind == "call"]
    assert (outcome.status, outcome.result) == ("ok", 7), outcome.error
    assert shown == [{"number": 7}, {"number": {"$planned": [1, "page", "id"]}, "title": "b"}]
    assert (len(direct.result), direct.advice) == (1, ("pam.get_expenses: count was given as string and sent as integer",))
    assert {"count": 1, "categories": None} in arguments
    assert {"number": 7} in arguments
    assert {"number": "7"} not in arguments
