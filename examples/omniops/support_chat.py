"""``python -m examples.omniops.support_chat``: the chat of the support, over HTTP; its conversations are in the analytics too.

A model answers with code, the code runs with the customer's number and the domain as context, and the answer comes back:
``POST /chat {"message": ..., "customer_id": 17, "domain": "orders"}``.
"""

import argparse
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from anyio import to_thread
from fastapi import FastAPI, HTTPException, Request
from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict, Field
from starlette.middleware.trustedhost import TrustedHostMiddleware

from examples.http_service import THIS_MACHINE, serve_app
from examples.omniops.kept_chats import KeptChats
from examples.omniops.stored import chosen_records
from examples.opening import app_config
from examples.serving import Listening
from gristmill import Runtime
from gristmill.chat.chat import Chat
from gristmill.chat.chat_events import ChatAnswer
from gristmill.errors import Conflict, Error, NotFound

PORT = 8034
MODEL, ADDRESS = "OMNIOPS_MODEL", "OMNIOPS_MODEL_URL"
STATE = Path("~/.local/state/gristmill-omniops/chat")
CustomerId = Annotated[int, Field(ge=1, le=2_000_000_000)]
Domain = Literal["orders", "products", "sales"]


class Message(BaseModel):
    """What a person of the support writes about a customer; ``conversation`` goes on with one."""

    model_config = ConfigDict(extra="forbid")
    message: str = Field(min_length=1, max_length=20_000, pattern=r"\S")
    customer_id: CustomerId
    domain: Domain = "orders"
    conversation: str | None = Field(default=None, max_length=64)


class Program(BaseModel):
    """A program that the model wrote, and how it ended."""

    code: str
    status: str
    tools: tuple[str, ...]


class Said(BaseModel):
    """An answer: the number under which the analytics know the conversation is ``record``."""

    conversation: str
    record: int
    status: str
    text: str
    programs: list[Program]
    input_tokens: int
    output_tokens: int


class Closing(BaseModel):
    """How a conversation ended."""

    model_config = ConfigDict(extra="forbid")
    status: Literal["resolved", "escalated", "open"]
    rating: int | None = Field(default=None, ge=1, le=5)


def build_chat_app(
    open_chat: Callable[[], AbstractAsyncContextManager[Chat]], kept: KeptChats, names: tuple[str, ...] = ()
) -> FastAPI:
    """Builds the service. ``open_chat`` opens the gateway with the model for as long as it runs."""

    @asynccontextmanager
    async def run_chat(app: FastAPI) -> AsyncGenerator[None]:
        async with open_chat() as opened:
            app.state.chat = opened
            yield

    app = FastAPI(title="omniops-chat", lifespan=run_chat)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*THIS_MACHINE, *names])

    @app.post("/chat")
    async def chat(request: Request, asked: Message) -> Said:
        """Answers a message about a customer, whose number programs have as ``context.customerId``."""
        talk: Chat = request.app.state.chat
        context = {"customerId": asked.customer_id, "domain": asked.domain}
        try:
            user = name_user(asked.customer_id)
            answer = await talk.send(asked.message, context=context, user=user, conversation=asked.conversation)
        except NotFound:
            raise HTTPException(404, "this customer has no such conversation") from None
        except Conflict as error:
            raise HTTPException(409, error.message) from None
        except Error as error:
            raise HTTPException(503, f"{error.code}: {error.message}") from None
        keep = partial(kept.add_turn, answer.conversation, asked.customer_id, asked.domain, asked.message, answer.text)
        return _view(answer, await to_thread.run_sync(keep))

    @app.get("/chat/conversations")
    async def conversations(request: Request, customer_id: CustomerId) -> list[dict[str, str | int]]:
        """Lists the conversations about a customer, newest first."""
        talk: Chat = request.app.state.chat
        found = await talk.conversations(user=name_user(customer_id))
        return [{"conversation": each.id, "title": each.title, "turns": each.turns} for each in found]

    @app.post("/chat/conversations/{conversation}/close")
    async def close(request: Request, conversation: str, customer_id: CustomerId, ending: Closing) -> dict[str, int]:
        """Records how a conversation ended, for the analytics."""
        talk: Chat = request.app.state.chat
        try:
            await talk.conversation_of(conversation, user=name_user(customer_id))
        except NotFound:
            raise HTTPException(404, "this customer has no such conversation") from None
        return {"record": await to_thread.run_sync(kept.close, conversation, ending.status, ending.rating)}

    @app.get("/health")
    async def health() -> dict[str, str]:
        """Says that the service answers."""
        return {"status": "ok"}

    return app


def name_user(customer: int) -> str:
    """The name under which the gateway keeps the conversations about a customer."""
    return f"customer-{customer}"


def _view(answer: ChatAnswer, record: int) -> Said:
    programs = [Program(code=each.code, status=each.status, tools=each.tools_called) for each in answer.programs]
    return Said(
        conversation=answer.conversation, record=record, status=answer.status, text=answer.text, programs=programs,
        input_tokens=answer.usage.input_tokens, output_tokens=answer.usage.output_tokens,
    )  # fmt: skip


@asynccontextmanager
async def open_support(state: Path, model: str | BaseChatModel, base_url: str | None = None) -> AsyncGenerator[Chat]:
    """Opens the gateway over the three servers, and a chat whose model answers with code blocks."""
    async with Runtime.open(app_config("omniops", state=state)) as runtime:
        yield Chat(runtime, model, mode="blocks", base_url=base_url)


def main() -> None:
    """Serves until the process is told to end."""
    parser = argparse.ArgumentParser(prog="python -m examples.omniops.support_chat", description="The chat of the support.")
    parser.add_argument("--http", type=int, default=PORT, metavar="PORT", help=f"port ({PORT})")
    parser.add_argument("-m", "--model", default=os.environ.get(MODEL), help=f"such as openai:gpt-5-mini (default: {MODEL})")
    parser.add_argument("--state", type=Path, default=STATE, help=f"folder for conversations (default: {STATE})")
    chosen = parser.parse_args()
    if not chosen.model:
        parser.error(f"name a model with -m or {MODEL}")
    kept = KeptChats(chosen_records(None, is_read_only=False), lambda: datetime.now(UTC))
    opened = partial(open_support, chosen.state.expanduser(), chosen.model, os.environ.get(ADDRESS))
    serve_app(build_chat_app(opened, kept), Listening(port=chosen.http))


if __name__ == "__main__":
    main()
