"""Models by one string: whose key goes where, what is missing, and what a turn costs."""

from pathlib import Path
from typing import Any

import pytest

from gristmill.chat.chat_models import name_key, open_model, price_usage
from gristmill.config.sections.chat_section import ChatConfig
from gristmill.errors import ConfigError
from gristmill.runtime.open import open_secrets
from gristmill.runtime.open.open_secrets import KeptSecrets
from gristmill.runtime.values.kept_conversations import ChatUsage

SERVER = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def forget_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MODEL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(open_secrets, "load_keyring", lambda: None)


def read_key(model: Any) -> str:
    return (getattr(model, "openai_api_key", None) or model.anthropic_api_key).get_secret_value()


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_key_of_a_provider_is_not_sent_to_another_address(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name_key(provider), "the key of the provider")
    assert read_key(open_model(f"{provider}:any", state=tmp_path)) == "the key of the provider"
    assert read_key(open_model(f"{provider}:any", state=tmp_path, base_url=SERVER)) == "none"
    monkeypatch.setenv("MODEL_API_KEY", "the key of the server")
    assert read_key(open_model(f"{provider}:any", state=tmp_path, base_url=SERVER)) == "the key of the server"


def test_a_key_that_was_given_to_gristmill_is_found_without_the_environment(tmp_path: Path) -> None:
    KeptSecrets(tmp_path / "secrets", None).write("gristmill", "ANTHROPIC_API_KEY", "kept")
    assert read_key(open_model("anthropic:any", state=tmp_path)) == "kept"


@pytest.mark.parametrize(("text", "said"), [
    ("any", "provider:name"), (":any", "provider:name"), ("openai:", "provider:name"),
    ("openai:any", "gristmill secrets set gristmill/OPENAI_API_KEY"), ("no_such_provider:any", "cannot be opened"),
    ("groq:any", "langchain-groq"),
])  # fmt: skip
def test_what_is_missing_is_said(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        open_model(text, state=tmp_path)


def test_ollama_is_reached_by_its_openai_protocol_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "box:11434")
    model: Any = open_model("ollama:qwen3", state=tmp_path)
    assert (model.model_name, model.openai_api_base) == ("qwen3", "http://box:11434/v1")


@pytest.mark.parametrize(("model", "money"), [
    ("anthropic:big-2", 0.00078), ("anthropic:big-2-mini", 0.0001), ("anthropic:other", None), ("openai:exact", 0.001),
])  # fmt: skip
def test_a_turn_costs_what_the_longest_name_that_fits_says(model: str, money: float | None) -> None:
    prices = {
        "big": {"input": 9, "output": 9}, "big-2": {"input": 1, "output": 2, "cached": 0.3}, "big-2-mini": {"input": 0.1},
        "openai:exact": {"input": 1},
    }  # fmt: skip
    used = ChatUsage(input_tokens=1_000, output_tokens=100, cached_tokens=600)
    found = price_usage(used, model, ChatConfig.model_validate({"prices": prices}))
    assert found == (None if money is None else pytest.approx(money))
