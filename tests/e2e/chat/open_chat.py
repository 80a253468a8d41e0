"""A runtime with three tools, and chats over it whose model is scripted behind the real protocols."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from gristmill import BlockingRuntime, Config, Runtime
from gristmill.chat.chat import Chat
from gristmill.chat.chat_events import ChatAnswer, ChatEvent, TurnAnswered
from gristmill.testing import ModelServer

written: list[tuple[int, str]] = []


def write(row: int, user: str = "") -> dict[str, int]:
    """Write a row."""
    written.append((row, user))
    return {"row": row}


def read(row: int) -> str:
    """Read a row."""
    return f"row {row}"


def list_rows() -> list[str]:
    """List all rows."""
    return [f"row {number} with a long text about nothing in particular" for number in range(200)]


FUNCTIONS: dict[str, Callable[..., Any]] = {"rows.write": write, "rows.read": read, "rows.list": list_rows}


def build_config(folder: Path, **sections: Mapping[str, Any]) -> Config:
    """Returns the configuration of a runtime whose writes are asked about."""
    chat = {"retry_seconds": 5, "prices": {"scripted": {"input": 3, "output": 15, "cached": 0.3}}, **sections.pop("chat", {})}
    return Config.model_validate({"policy": {"ask": ["rows.write"]}, "store": {"path": str(folder)}, "chat": chat, **sections})


def open_chat(
    runtime: Runtime, model: ModelServer, wire: str = "openai", settings: Mapping[str, Any] | None = None, **options: Any
) -> Chat:
    """Opens a chat with the scripted model; ``settings`` change those of the configuration."""
    address = model.openai_url if wire == "openai" else model.url
    config = runtime.config.chat.model_copy(update=dict(settings or {}))
    return Chat(runtime, f"{wire}:scripted", base_url=address, config=config, **options)


T = TypeVar("T")


def run_on(runtime: BlockingRuntime, work: Coroutine[Any, Any, T], seconds: float = 60.0) -> T:
    """Runs work on the loop of the runtime, to which its chats belong."""
    return asyncio.run_coroutine_threadsafe(work, runtime.runtime.loop).result(seconds)


async def collect(events: AsyncIterator[ChatEvent]) -> list[ChatEvent]:
    """Returns all events of a turn."""
    return [event async for event in events]


def read_answer(events: Sequence[ChatEvent]) -> ChatAnswer:
    """Returns the answer with which the events of a turn end."""
    assert isinstance(events[-1], TurnAnswered)
    return events[-1].answer
