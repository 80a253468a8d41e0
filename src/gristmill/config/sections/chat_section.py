"""The `chat` section of the configuration: the model in front of the tools, its turns, and what is kept of conversations."""

from typing import Literal

from pydantic import Field

from gristmill.config.sections.base import Section


class PriceConfig(Section):
    """What a model costs, in US dollars per million tokens."""

    input: float = Field(default=0.0, ge=0, le=100_000)
    """Input tokens."""
    output: float = Field(default=0.0, ge=0, le=100_000)
    """Output tokens."""
    cached: float | None = Field(default=None, ge=0, le=100_000)
    """Input tokens that the provider read from its cache; without it they cost as much as others."""


class ChatConfig(Section):
    """The model in front of the tools. Its key is never here: it comes from the environment or the keyring."""

    model: str = ""
    """The model as `provider:name`, such as `anthropic:claude-sonnet-5` or `ollama:qwen3`; empty leaves the chat closed."""
    others: tuple[str, ...] = ()
    """Further models that clients of the HTTP service may name instead."""
    base_url: str = ""
    """The address of the model's service, if it is not the provider's own: any server that speaks OpenAI's protocol."""
    mode: Literal["code", "hybrid", "direct", "auto", "blocks"] = "code"
    """What the model is offered: programs, programs and the tools in `direct`, only those, what costs less, or code blocks."""
    direct: tuple[str, ...] = ()
    """Tools (`server.tool`) that the modes `hybrid` and `direct` offer without a program."""
    fill: tuple[str, ...] = ()
    """Arguments that direct calls take from the message's context, such as `user_id`: the model neither sees nor gives them."""
    instructions: str = Field(default="", max_length=20_000)
    """What the model is told first, before how tools are used."""
    steps: int = Field(default=20, ge=1, le=200)
    """Requests to the model in one turn."""
    failures: int = Field(default=3, ge=2, le=20)
    """Identical failures in a row after which a turn is stopped, because the model repeats itself."""
    model_seconds: float = Field(default=120.0, gt=0, le=3_600)
    """Seconds without a word of the model after which its request counts as lost."""
    retries: int = Field(default=3, ge=0, le=20)
    """Further attempts when the provider fails or limits the rate."""
    retry_seconds: float = Field(default=60.0, ge=0, le=3_600)
    """The longest time that is waited when the provider says after how long to ask again."""
    history_tokens: int = Field(default=12_000, ge=500, le=1_000_000)
    """Tokens of earlier turns that the model gets; of a longer conversation the first turns become a summary."""
    fallback: Literal["answer", "fail"] = "answer"
    """When code cannot be run at all: the model answers without it and says so, or the turn fails."""
    client_gone: Literal["stop", "keep"] = "stop"
    """What happens to a turn whose client has left: its program is stopped, or it goes on and the answer is kept."""
    concurrency: int = Field(default=64, ge=1, le=10_000)
    """Turns of one tenant at the same time."""
    days: float = Field(default=90.0, gt=0, le=36_500)
    """Days without use after which a conversation is deleted."""
    per_caller: int = Field(default=1_000, ge=1, le=1_000_000)
    """Conversations of one caller; the oldest makes room for the next."""
    conversation_mb: int = Field(default=32, ge=1, le=10_000)
    """Megabytes that one conversation may grow to."""
    prices: dict[str, PriceConfig] = Field(default_factory=dict[str, PriceConfig])
    """Prices by the name of the model as in `model`, with or without its provider; the longest beginning that fits counts."""
