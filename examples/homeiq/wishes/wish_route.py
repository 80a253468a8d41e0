"""``POST /automations``: a wish in plain words, answered by the model that ``HOMEIQ_MODEL`` names."""

import logging
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from fastapi import APIRouter, HTTPException
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, ConfigDict, Field

from examples.homeiq.automation import Automations
from examples.homeiq.wishes.wish_chain import WishAnswer, WishChain

_log = logging.getLogger(__name__)
MODEL, EXECUTOR = "HOMEIQ_MODEL", "MCP_CODE_EXECUTOR_URL"
USUAL_EXECUTOR = "http://127.0.0.1:8030"


class Wish(BaseModel):
    """A wish in plain words."""

    model_config = ConfigDict(extra="forbid")
    wish: str = Field(min_length=3, max_length=2_000)


def open_model(name: str) -> BaseChatModel:
    """A model of any provider, by its name; its key and address are those of the environment."""
    model: Any = init_chat_model(name, timeout=60, max_retries=2)
    return model


def open_chain(house: Automations) -> WishChain:
    """The chain that the environment names: a model, its key, and the address of the executor.

    Raises:
        ValueError: it names no model, or one that cannot be used.
    """
    name = os.environ.get(MODEL)
    if not name:
        raise ValueError(f"set {MODEL} to a model such as openai:gpt-5-mini or anthropic:claude-haiku-4-5, and its key")
    try:
        model = open_model(name)
    except Exception as error:  # every provider has errors of its own for a missing key or package
        raise ValueError(f"{MODEL}={name} cannot be used: {error}") from None
    return WishChain(os.environ.get(EXECUTOR, USUAL_EXECUTOR), model, house)


def make_router(house: Automations, open_wishes: Callable[[Automations], WishChain] = open_chain) -> APIRouter:
    """The route; the chain is opened with the first wish, so that the tools also serve without a model."""
    router = APIRouter()
    opened = cache(lambda: open_wishes(house))

    @router.post("/automations")
    async def answer_wish(wish: Wish) -> WishAnswer:
        """Turns a wish in plain words into a Home Assistant automation that was checked against the devices of the house."""
        try:
            chain = opened()
        except ValueError as error:
            raise HTTPException(503, str(error)) from None
        try:
            return await chain.answer(wish.wish)
        except ToolError as error:
            raise HTTPException(502, str(error)) from None
        except Exception as error:  # every provider has errors of its own; they may quote a request
            _log.exception("a wish was not answered")
            raise HTTPException(502, f"the model did not answer ({type(error).__name__}): try again, or check its key") from None

    return router
