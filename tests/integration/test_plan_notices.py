"""A plan that waits is told elsewhere: once, without arguments, in the form that was asked for."""

import asyncio
import json
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from gristmill import Config, Runtime
from gristmill.runtime.recording import plan_notices
from gristmill.upstream.http.post_notice import post_notice

pytestmark = pytest.mark.anyio
CODE = "from servers import crm\ncrm.write(text='dora@example.com')\ncrm.write(text='2')"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Hook(HTTPServer):
    """A chat that takes notices; the first answers are those of ``answers``."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taker)
        self.taken: list[dict[str, Any]] = []
        self.answers: list[int] = []
        self.url = f"http://127.0.0.1:{self.server_port}/hook"


class Taker(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        hook = self.server
        assert isinstance(hook, Hook)
        hook.taken.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(hook.answers.pop(0) if hook.answers else 200)
        self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def hook() -> Generator[Hook]:
    with Hook() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join(timeout=10)


def write(text: str) -> str:
    """Write."""
    return text


async def ask(tmp_path: Path, hook: Hook, **notify: str) -> tuple[str, str]:
    """The plan and the execution of a run that asked twice about the same."""
    policy = {"ask": ["crm.*"], "notify": {"url": hook.url, **notify}}
    config = Config.model_validate(
        {"store": {"path": tmp_path}, "policy": policy, "serve": {"public_url": "https://mill.example"}}
    )
    async with Runtime.open(config, tools={"crm.write": write}) as runtime:
        outcome = await runtime.execute(CODE, caller="ann <b>")
        again = await runtime.execute(resume=outcome.id, caller="ann <b>")
        assert outcome.plan is not None
        assert again.plan is not None
        assert outcome.plan.id == again.plan.id
        async with asyncio.timeout(20):
            while not hook.taken:
                await asyncio.sleep(0.01)
        return outcome.plan.id, outcome.id


async def test_a_new_plan_is_told_once_without_its_arguments(tmp_path: Path, hook: Hook) -> None:
    plan, execution = await ask(tmp_path, hook)
    (told,) = hook.taken
    assert (told["event"], told["approval"], told["execution"]) == ("approval.waiting", plan, execution)
    assert (told["calls"], told["tools"], told["caller"]) == (2, {"crm.write": 2}, "ann <b>")
    assert told["url"] == f"https://mill.example/dashboard/#/approvals/{plan}"
    assert "dora" not in json.dumps(told)


async def test_a_chat_gets_one_text_in_which_names_are_no_markup(tmp_path: Path, hook: Hook) -> None:
    plan, _ = await ask(tmp_path, hook, format="slack")
    url = f"https://mill.example/dashboard/#/approvals/{plan}"
    assert hook.taken == [{"text": f"ann &lt;b&gt; asks to make 2 calls (crm.write x 2), within 60 min: {url}"}]


async def test_a_service_that_fails_is_tried_again_and_one_that_refuses_or_sends_elsewhere_is_not(hook: Hook) -> None:
    hook.answers = [503, 429, 200]
    assert await post_notice(hook.url, {"text": "1"}, pauses=(0, 0))
    assert len(hook.taken) == 3
    for status in (404, 302):
        hook.taken.clear()
        hook.answers = [status]
        assert not await post_notice(hook.url, {"text": "2"}, pauses=(0, 0))
        assert len(hook.taken) == 1
    hook.answers = [500] * 3
    assert not await post_notice(hook.url, {"text": "3"}, pauses=(0, 0))
    assert not await post_notice("http://127.0.0.1:1/", {"text": "4"}, pauses=(0,))


@pytest.mark.parametrize("url", ["http://chat.example/hook", "ftp://x", "chat"])
def test_an_address_that_would_send_in_the_open_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="https://"):
        Config.model_validate({"policy": {"notify": {"url": url}}})


async def test_notices_that_cannot_leave_are_dropped_beyond_a_number(
    tmp_path: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(plan_notices, "MOST_WAITING", 1)
    stuck = asyncio.Event()

    async def post(_url: str, _body: object) -> bool:
        await stuck.wait()
        return True

    config = Config.model_validate({"store": {"path": tmp_path}, "policy": {"ask": ["crm.*"]}})
    async with Runtime.open(config, tools={"crm.write": write}) as runtime:
        notices = plan_notices.PlanNotices(lambda: hook.url, "json", post, lambda _id: None)
        runtime.approvals.on_new_plan = notices
        for number in range(3):
            assert (await runtime.execute(CODE + f"\n{number}")).status == "awaiting_approval"
        await notices.close()
    assert sum("one more is dropped" in record.message for record in caplog.records) == 2
