"""A server behind OAuth, with an issuer at another address, and a person played by an HTTP client."""

import json
import stat
import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from gristmill.config.sections.servers_section import OAuthConfig, ServerConfig
from gristmill.errors import UpstreamError, UpstreamUnavailable
from gristmill.upstream.login.browser_login import log_in_with_browser
from gristmill.upstream.login.encrypted_tokens import EncryptedTokens, load_key
from gristmill.upstream.open_upstreams import open_upstreams
from gristmill.upstream.secret_references import SecretReferences
from tests.integration.upstream.conftest import call, web, world

pytestmark = pytest.mark.anyio


async def _approve(url: str) -> None:
    """What a person does in a browser."""
    async with httpx2.AsyncClient() as browser:
        redirect = await browser.get(url)
        await browser.get(redirect.headers["location"])


def _place(folder: Path) -> Any:
    key = load_key(folder / "key")
    return lambda name: EncryptedTokens(folder / f"{name}.tokens", key)  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType]


async def _stats(at: dict[str, str]) -> dict[str, Any]:
    async with httpx2.AsyncClient() as client:
        return (await client.get(at["issuer"] + "/stats")).json()


def _locked(at: dict[str, str], **settings: Any) -> ServerConfig:
    return ServerConfig(url=at["locked"] + "/mcp", oauth=OAuthConfig(**settings))


async def test_without_a_login_the_error_says_how_to_log_in(tmp_path: Path) -> None:
    async with web() as at, open_upstreams({"crm": _locked(at)}, world(open_token_store=_place(tmp_path))) as upstreams:
        with pytest.raises(UpstreamUnavailable, match="run gristmill login crm"):
            await call(upstreams, "crm.add", a=1, b=2)


async def test_a_login_is_kept_encrypted_and_used_by_the_next_start(tmp_path: Path) -> None:
    async with web() as at:
        config = _locked(at)
        count = await log_in_with_browser("crm", config, SecretReferences(environ={}), _place(tmp_path), _approve)
        assert count == 6
        file = tmp_path / "crm.tokens"
        assert b"access_token" not in file.read_bytes()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        async with open_upstreams({"crm": config}, world(open_token_store=_place(tmp_path))) as upstreams:
            assert await call(upstreams, "crm.add", a=1, b=2) == 3
        assert await _stats(at) | {"clients": []} == {"register": 1, "authorize": 1, "refresh": 0, "clients": []}


async def test_a_token_that_is_over_is_refreshed_at_its_issuer_after_a_restart(tmp_path: Path) -> None:
    async with web("short") as at:
        config = _locked(at)
        await log_in_with_browser("crm", config, SecretReferences(environ={}), _place(tmp_path), _approve)
        async with open_upstreams({"crm": config}, world(open_token_store=_place(tmp_path))) as upstreams:
            assert await call(upstreams, "crm.add", a=1, b=2) == 3
        stats = await _stats(at)
        assert (stats["authorize"], stats["refresh"] > 0) == (1, True)


async def test_a_token_that_ends_while_we_run_is_refreshed(tmp_path: Path) -> None:
    async with web("short") as at:
        config = _locked(at)
        store = _place(tmp_path)("crm")
        await log_in_with_browser("crm", config, SecretReferences(environ={}), _place(tmp_path), _approve)
        record = json.loads(store.read())
        store.write(json.dumps(record | {"expires_at": time.time() + 32}))  # good now, over in two seconds
        async with open_upstreams({"crm": config}, world(open_token_store=_place(tmp_path))) as upstreams:
            await call(upstreams, "crm.add", a=1, b=2)
            assert (await _stats(at))["refresh"] == 0
            while (await _stats(at))["refresh"] == 0:
                assert await call(upstreams, "crm.add", a=1, b=2) == 3
                await anyio.sleep(0.1)


async def test_calls_behind_a_login_go_side_by_side(tmp_path: Path) -> None:
    async with web() as at:
        config = _locked(at).model_copy(update={"call_seconds": 10})
        await log_in_with_browser("crm", config, SecretReferences(environ={}), _place(tmp_path), _approve)
        async with (
            open_upstreams({"crm": config}, world(open_token_store=_place(tmp_path))) as upstreams,
            anyio.create_task_group() as tasks,
        ):
            await call(upstreams, "crm.add", a=1, b=2)
            for _ in range(2):
                tasks.start_soon(call, upstreams, "crm.meet")


async def test_a_client_id_metadata_document_makes_registration_unnecessary(tmp_path: Path) -> None:
    document = "https://example.com/gristmill/client.json"
    async with web("documents") as at:
        config = _locked(at, client_metadata_url=document)
        await log_in_with_browser("crm", config, SecretReferences(environ={}), _place(tmp_path), _approve)
        stats = await _stats(at)
        assert (stats["register"], stats["clients"]) == (0, [document])


async def test_a_client_registered_by_hand_is_used_as_it_is(tmp_path: Path) -> None:
    async with web() as at:
        await log_in_with_browser(
            "crm", _locked(at, client_id="by-hand"), SecretReferences(environ={}), _place(tmp_path), _approve
        )
        stats = await _stats(at)
        assert (stats["register"], stats["clients"]) == (0, ["by-hand"])


async def test_an_answer_from_another_issuer_is_refused(tmp_path: Path) -> None:
    async with web("wrong_issuer") as at:
        with pytest.raises(UpstreamError):
            await log_in_with_browser("crm", _locked(at), SecretReferences(environ={}), _place(tmp_path), _approve)
        assert "access_token" not in (_place(tmp_path)("crm").read() or "")


async def test_a_login_that_nobody_completes_ends(tmp_path: Path) -> None:
    async def walk_away(_url: str) -> None:
        await anyio.lowlevel.checkpoint()

    async with web() as at:
        with pytest.raises(UpstreamError):
            await log_in_with_browser("crm", _locked(at), SecretReferences(environ={}), _place(tmp_path), walk_away, seconds=0.1)
