"""Opens the model that a string names. Keys come from the environment or the keyring, and go nowhere but to the provider."""

import importlib.util
import os
from pathlib import Path
from typing import Any, cast

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from gristmill.config.sections.chat_section import ChatConfig, PriceConfig
from gristmill.errors import ConfigError
from gristmill.runtime.open.open_secrets import open_secrets
from gristmill.runtime.values.kept_conversations import ChatUsage

OWN_KEY = "MODEL_API_KEY"
"""The name of the key for a service at ``base_url``: the key of a provider is never sent to another address."""
SERVICE = "gristmill"
OLLAMA_ADDRESS = "http://127.0.0.1:11434"
_KEY_NAMES = {"google_genai": "GOOGLE_API_KEY", "azure_openai": "AZURE_OPENAI_API_KEY", "huggingface": "HUGGINGFACEHUB_API_TOKEN"}


def open_model(text: str, *, state: Path, base_url: str = "") -> BaseChatModel:
    """Opens the model ``provider:name``, at the provider or at ``base_url``.

    Raises:
        ConfigError: the string names no model, its package is not installed, or there is no key.
    """
    provider, colon, name = text.partition(":")
    if not colon or not provider or not name:
        raise ConfigError(f'the model {text!r} is not of the form "provider:name", such as "anthropic:claude-sonnet-5"')
    if provider == "ollama" and importlib.util.find_spec("langchain_ollama") is None:
        # Ollama speaks OpenAI's protocol, too.
        provider, base_url = "openai", f"{base_url or os.environ.get('OLLAMA_HOST') or OLLAMA_ADDRESS}".rstrip("/")
        base_url = base_url if base_url.startswith(("http://", "https://")) else f"http://{base_url}"
        base_url = base_url if base_url.endswith("/v1") else f"{base_url}/v1"
    # Waiting and trying again are ours, so that a person sees them.
    options: dict[str, Any] = {} if provider == "ollama" else {"max_retries": 0}
    if base_url:
        options["base_url"] = base_url
    if provider == "openai":
        options |= {"stream_usage": True, "use_responses_api": False, "stream_chunk_timeout": None}
    if (key := _find_key(provider, state, at_own_address=bool(base_url))) is not None:
        options["api_key"] = key
    try:
        model: Any = cast("Any", init_chat_model)(name, model_provider=provider, **options)
        return cast("BaseChatModel", model)
    except ImportError as error:
        raise ConfigError(f"the model {text} needs another package: {error}") from None
    except Exception as error:  # each provider checks its settings in its own way
        hint = f"set {name_key(provider)}, or run `gristmill secrets set {SERVICE}/{name_key(provider)}`"
        raise ConfigError(f"the model {text} cannot be opened ({type(error).__name__}): {hint}") from None


def name_key(provider: str) -> str:
    """Returns the name under which the key of a provider is looked up, in the environment and among the kept secrets."""
    return _KEY_NAMES.get(provider, f"{provider.upper()}_API_KEY")


def describe_model(model: BaseChatModel) -> str:
    """Returns the name of a model that was given as an object."""
    any_model: Any = model
    name = getattr(any_model, "model_name", None) or getattr(any_model, "model", None)
    return str(name or type(model).__name__)[:200]


def price_usage(usage: ChatUsage, model: str, config: ChatConfig) -> float | None:
    """Returns the money that ``usage`` costs; None where the price of the model is not configured."""
    names = (model, model.partition(":")[2])
    fitting = [key for key in config.prices if any(name.startswith(key) for name in names)]
    if not fitting:
        return None
    price: PriceConfig = config.prices[max(fitting, key=len)]
    cached = price.input if price.cached is None else price.cached
    fresh = max(0, usage.input_tokens - usage.cached_tokens)
    return round((fresh * price.input + usage.cached_tokens * cached + usage.output_tokens * price.output) / 1_000_000, 9)


def _find_key(provider: str, state: Path, *, at_own_address: bool) -> str | None:
    """Returns the key to pass; None if the provider's package reads it from the environment, or needs none."""
    if not at_own_address and os.environ.get(name_key(provider)):
        return None
    name = OWN_KEY if at_own_address else name_key(provider)
    found = os.environ.get(name) or open_secrets(state).read(SERVICE, name)
    if found is None and at_own_address and provider != "ollama":
        return "none"  # the packages insist on a key, which a server of one's own does not read
    return found
