"""A chat in a process of its own, to be killed: ``python -m tests.e2e.chat.chat_process SETTINGS``, settings as JSON.

It does one thing (``send``, ``decide`` or ``resume``) and prints the answer as one line of JSON. Its one tool appends a line to a file,
and stops for good before the line with the number ``stop_at``.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from gristmill import Config, Runtime
from gristmill.chat.chat import Chat


async def take_turn(settings: dict[str, Any]) -> None:
    """Takes one step of the conversation."""
    file = Path(settings["file"])

    async def write(row: int) -> dict[str, int]:
        """Write a row."""
        if row == settings.get("stop_at"):
            print(json.dumps({"stopped": row}), flush=True)
            await asyncio.Event().wait()
        with file.open("a") as rows:
            rows.write(f"{row}\n")
        return {"row": row}

    async with Runtime.open(Config.model_validate(settings["config"]), tools={"rows.write": write}) as runtime:
        chat = Chat(runtime, "openai:scripted", base_url=settings["model"])
        match settings["do"]:
            case "send":
                answer = await chat.send("write twenty rows", user="ann", context={"table": "orders"})
            case "decide":
                answer = await chat.decide(settings["conversation"], "all", user="ann")
            case _:
                answer = await chat.resume(settings["conversation"], user="ann")
        print(msgspec.json.encode(answer).decode(), flush=True)
        if settings.get("stays"):
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(take_turn(json.loads(sys.argv[1])))
