"""Where data may go, with every layer in place: flow rules, masks, the gateway's own credentials, and what is on record."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from gristmill.config.tree import Config
from gristmill.ledger.audit.audit_entries import AuditFilter
from gristmill.model import Json, Outcome
from gristmill.runtime.open.gateway_credentials import find_credentials
from gristmill.testing import CallTool, FakePool, Program, fake_runtime

MAIL = "ann.smith@crm-of.example.org"
_sent: list[str] = []


def customer() -> dict[str, str]:
    """A customer."""
    return {"mail": MAIL, "code": "Blue-Heron-77"}


def post(text: str) -> str:
    """Send text away."""
    _sent.append(text)
    return "posted"


def run(path: Path, program: Program, *, times: int = 1, **sections: Any) -> tuple[list[Outcome], list[Mapping[str, Any]]]:
    """What ``program`` comes to, and the audit of it."""
    config = Config.model_validate({"store": {"path": path}, "policy": {"default": "allow"}, **sections})

    async def work() -> tuple[list[Outcome], list[Mapping[str, Any]]]:
        tools = {"crm.customer": customer, "web.post": post}
        async with fake_runtime(config, FakePool(program=program), tools=tools) as runtime:
            outcomes = [await runtime.execute("1", caller="ann", tenant="acme") for _ in range(times)]
            await runtime._rooms.recorder.audit.flush()  # pyright: ignore[reportPrivateUsage]
            entries = await runtime._rooms.recorder.audit.list(AuditFilter(tenant="acme"))  # pyright: ignore[reportPrivateUsage]
            return outcomes, [entry.fields() for entry in entries]

    _sent.clear()
    return asyncio.run(work())


def sends(field: str) -> Program:
    async def program(tools: CallTool) -> Json:
        found = await tools("crm.customer")
        return [found, await tools("web.post", text=f"about {found[field]}")]

    return program


@pytest.mark.requirement("T31")
@pytest.mark.parametrize("mode", ["off", "output", "full"])
@pytest.mark.parametrize("field", ["mail", "code"])
def test_what_came_from_one_server_does_not_go_to_another_against_a_rule(tmp_path: Path, mode: str, field: str) -> None:
    (outcome,), audit = run(tmp_path, sends(field), flows={"deny": ["crm -> web.*"]}, mask={"mode": mode})
    assert (outcome.status, outcome.error_type, _sent) == ("failed", "CallRefused", [])
    assert [one["rule"] for one in audit if one.get("tool") == "web.post"] == ["flows.deny: crm -> web.*"]


def test_without_such_a_rule_the_real_value_arrives(tmp_path: Path) -> None:
    run(tmp_path, sends("mail"), mask={"mode": "full"})
    assert _sent == [f"about {MAIL}"]


@pytest.mark.requirement("T30")
@pytest.mark.parametrize("mode", ["off", "output", "full"])
def test_what_is_on_record_is_masked_in_every_mode_and_names_its_tenant(tmp_path: Path, mode: str) -> None:
    (outcome,), audit = run(tmp_path, sends("mail"), mask={"mode": mode})
    assert (MAIL in json.dumps(asdict(outcome))) == (mode == "off")
    assert MAIL not in json.dumps(audit)
    assert [(one["kind"], one["caller"]) for one in audit] == [("execution", "ann"), ("call", "ann"), ("call", "ann")]


def test_an_execution_that_could_not_be_taken_in_leaves_no_readable_code(tmp_path: Path) -> None:
    config = Config.model_validate({"store": {"path": tmp_path}})

    async def work() -> Mapping[str, Any]:
        async with fake_runtime(config) as runtime:
            assert (await runtime.execute(f"'{MAIL}'", session="a\nb")).status == "refused"
            await runtime._rooms.recorder.audit.flush()  # pyright: ignore[reportPrivateUsage]
            found = await runtime._rooms.recorder.audit.list(AuditFilter(kind="execution"))  # pyright: ignore[reportPrivateUsage]
            return found[0].fields()

    record = asyncio.run(work())
    assert ("code" in record, len(record["code_hash"])) == (False, 64)


def test_references_that_are_named_like_secrets_are_the_gateways_credentials() -> None:
    servers = {
        "a": {"command": "x", "env": {"GITHUB_TOKEN": "${env:GH}", "DATA": "${env:HOME}"}, "args": ["--key=${env:API_KEY}"]},
        "b": {"url": "https://b.example/mcp", "headers": {"Authorization": "Bearer ${env:B:-fallback-value}"}},
    }
    environ = {"GH": "ghp-value", "HOME": "/home/ann", "API_KEY": "k-value", "OTHER_SECRET": "not ours"}
    found = find_credentials(Config.model_validate({"servers": servers}), environ)
    assert found == {"ghp-value", "k-value", "fallback-value"}
