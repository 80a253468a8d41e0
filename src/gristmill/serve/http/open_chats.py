"""Opens the chats of the HTTP door, one per configured model, when the first request needs them."""

from typing import TYPE_CHECKING

from gristmill.errors import ConfigError, NotFound
from gristmill.serve.http.http_door import HttpDoor

if TYPE_CHECKING:
    from gristmill.chat.chat import Chat

GATEWAY_MODEL = "gristmill"
"""The name under which clients of OpenAI's protocol reach the configured model."""


def list_models(door: HttpDoor) -> tuple[str, ...]:
    """Returns the configured models, the first choice first; none if the chat is closed."""
    config = door.runtime.config.chat
    return tuple(dict.fromkeys((config.model, *config.others))) if config.model else ()


def open_chat(door: HttpDoor, model: str | None = None) -> "Chat":
    """Returns the chat with a model.

    Raises:
        NotFound: the chat is closed, or the model is not one of those that are configured.
        ConfigError: the packages of the chat are not installed, or there is no key for the model.
    """
    models = list_models(door)
    if not models:
        raise NotFound("the chat is closed: set chat.model in the configuration, such as anthropic:claude-sonnet-5")
    chosen = models[0] if model in (None, "", GATEWAY_MODEL) else model
    if chosen not in models:
        raise NotFound(f"the model {chosen[:80]!r} is not configured here", near=models[:5])
    if chosen not in door.chats:
        try:
            from gristmill.chat.chat import Chat
        except ImportError as error:
            raise ConfigError(f"the chat needs more packages: pip install 'gristmill[chat]' ({error})") from None
        door.chats[chosen] = Chat(door.runtime, chosen, runs=door.served)
    return door.chats[chosen]
