"""What the loop of the chat adds to a turn over calling ``Runtime`` directly, and the memory of an idle conversation.

``python -m bench.loop [--turns 200] [--conversations 500]``. The model is an object in this process that answers at once, so what
is measured is ours: the prompt, the claims and messages in the store, the events. A turn is one program and one answer.
"""

import argparse
import asyncio
import gc
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from gristmill import Config, Runtime
from gristmill.chat.chat import Chat

CODE = "1 + 1"


class InstantModel(BaseChatModel):
    """Asks for one program in each turn, and then answers."""

    @property
    def _llm_type(self) -> str:
        return "instant"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], *, tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:  # fmt: skip
        """Ignores the tools."""
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any,
    ) -> ChatResult:  # fmt: skip
        raise NotImplementedError("the chat streams")

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None, **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:  # fmt: skip
        if isinstance(messages[-1], ToolMessage):
            yield ChatGenerationChunk(message=AIMessageChunk(content="It is 2."))
            return
        call = tool_call_chunk(name="execute_code", args='{"code": "1 + 1"}', id=f"call_{len(messages)}", index=0)
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[call]))


async def time_each(work: Callable[[], Any], rounds: int) -> float:
    """Returns the median milliseconds of one round."""
    took: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        await work()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def read_resident_mb() -> float:
    """Returns the resident memory of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def measure(turns: int, conversations: int) -> None:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as folder:
        async with Runtime.open(Config.model_validate({"store": {"path": folder}})) as runtime:
            chat = Chat(runtime, InstantModel())
            first = await chat.send("warm up", user="ann")

            async def take_turn() -> None:
                answer = await chat.send("count", user="ann", conversation=first.conversation)
                assert answer.text == "It is 2.", answer

            async def execute() -> None:
                assert (await runtime.execute(CODE, session="direct")).success

            await execute()
            direct, turn = await time_each(execute, turns), await time_each(take_turn, turns)
            print(f"Runtime.execute in a session  {direct:8.2f} ms")
            print(f"a turn of the chat            {turn:8.2f} ms, {turn - direct:.2f} ms more")

            before = read_resident_mb()
            for number in range(conversations):
                await chat.send("count", user=f"user{number}")
            grown = (read_resident_mb() - before) * 1000 / conversations
            print(f"an idle conversation          {grown:8.1f} kB of this process")


def main() -> None:
    """Reads the options and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--conversations", type=int, default=500)
    asked = parser.parse_args()
    asyncio.run(measure(asked.turns, asked.conversations))


if __name__ == "__main__":
    main()
