"""Fifty conversations of two tenants at the same time: nothing crosses from one to another."""

import asyncio
from collections.abc import Generator

import pytest

from gristmill import BlockingRuntime
from gristmill.model import Identity
from gristmill.testing import ModelAnswer, ModelCall, ModelRequest, ModelServer
from tests.e2e.chat.open_chat import FUNCTIONS, build_config, open_chat, run_on

CONVERSATIONS = 50
CODE = "secret = context.secret\nopen('mine.txt', 'w').write(secret)\nsecret"
AGAIN = "(secret, open('mine.txt').read(), context.secret)"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    config = build_config(tmp_path_factory.mktemp("many"), sandbox={"sessions_kept": 64, "concurrency": 8})
    with BlockingRuntime(config, tools=FUNCTIONS) as opened:
        yield opened


def answer_turn(request: ModelRequest) -> ModelAnswer:
    """Runs a program in each turn, and repeats what it returned."""
    if request.tool_results:
        return ModelAnswer(f"It said {request.tool_results[0]}")
    return ModelAnswer("", [ModelCall("execute_code", {"code": AGAIN if request.turn else CODE})])


def test_nothing_crosses_between_fifty_conversations_of_two_tenants(runtime: BlockingRuntime) -> None:
    async def talk(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)

        async def converse(number: int) -> None:
            who = Identity(tenant=("acme", "evil")[number % 2], caller=f"user{number // 4}")
            secret = f"secret-{number:03}-end"
            first = await chat.send(f"keep {number}", identity=who, context={"secret": secret})
            second = await chat.send("again", identity=who, context={"secret": secret}, conversation=first.conversation)
            for answer in (first, second):
                assert answer.status == "answered", answer
                assert answer.text.count("secret-") == answer.text.count(secret), answer.text
            assert second.text.count(secret) == 3
            said = await chat.messages(first.conversation, identity=who)
            assert all(str(each.body).count("secret-") == str(each.body).count(secret) for each in said)
            other = Identity(tenant=("evil", "acme")[number % 2], caller=who.caller)
            assert first.conversation not in {each.id for each in await chat.conversations(identity=other)}

        await asyncio.gather(*(converse(number) for number in range(CONVERSATIONS)))
        whole = [
            len(await chat.conversations(identity=Identity(tenant=tenant, caller=f"user{number}")))
            for tenant in ("acme", "evil") for number in range(13)
        ]  # fmt: skip
        assert sum(whole) == CONVERSATIONS

    with ModelServer(answer_turn) as model:
        run_on(runtime, talk(model), 200)
        for request in model.requests:
            secrets = {part[:7] for part in str(request.body["messages"]).split("secret-")[1:]}
            assert len(secrets) <= 1
