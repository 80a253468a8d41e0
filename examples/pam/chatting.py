"""PAM's chat: ``chat(message, context, stream)`` over the gateway's WebSocket, and a command that asks one question.

``python -m examples.pam.chatting "What did I spend on fuel in May?" --user 7`` talks to ``gristmill serve --http``.
"""

import argparse
import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from websockets.asyncio.client import connect

from gristmill.harmless_text import neutralize_text

URL, TOKEN = "PAM_CHAT_URL", "GRISTMILL_TOKEN"
USUAL_URL = "ws://127.0.0.1:8030/ws"
SECONDS = 300.0
"""How long nothing may be heard of an answer."""


class ChatRefused(Exception):
    """The gateway did not begin the turn; the text says why."""


async def chat(message: str, context: Mapping[str, Any], stream: bool = False, **options: Any) -> Any:
    """Returns the answer, or with ``stream`` its events as they happen; ``conversation`` among the options goes on with one."""
    events = _take_turn({"type": "chat", "ref": "1", "message": message, "context": dict(context), **options})
    return events if stream else [event async for event in events][-1]["answer"]


async def _take_turn(asked: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any]]:
    headers = {"Authorization": f"Bearer {os.environ[TOKEN]}"} if os.environ.get(TOKEN) else {}
    async with connect(os.environ.get(URL, USUAL_URL), additional_headers=headers, proxy=None) as socket:
        await socket.send(json.dumps(asked))
        while True:
            event = json.loads(await asyncio.wait_for(socket.recv(), SECONDS))
            if event["type"] == "problem":
                raise ChatRefused(event["problem"]["message"])
            yield event
            if event["type"] == "answer":
                return


async def main() -> int:
    """Prints what the model says, and what its programs call."""
    parser = argparse.ArgumentParser(prog="python -m examples.pam.chatting", description="Ask PAM one question.")
    parser.add_argument("message")
    parser.add_argument("--user", type=int, default=7, help="whose records programs see as context.user_id (7)")
    parser.add_argument("--conversation", help="the conversation to go on with")
    chosen = parser.parse_args()
    more = {"conversation": chosen.conversation} if chosen.conversation else {}
    try:
        async for event in await chat(chosen.message, {"user_id": chosen.user}, stream=True, **more):
            match event["type"]:
                case "text":
                    print(neutralize_text(event["text"]), end="", flush=True)
                case "call_finished":
                    print(f"\n[{event['tool']}, {event['ms']:.0f} ms]", end="")
                case "approval":
                    print("\n[waits for approval: gristmill approvals]", end="")
                case "answer":
                    print(f"\n[{event['answer']['status']}, conversation {event['answer']['conversation']}]")
                case _:
                    pass
    except (OSError, ChatRefused) as error:
        parser.error(f"{error} (is the gateway there? see examples/pam/README.md)")
    return 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
