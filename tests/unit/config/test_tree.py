"""Configuration: defaults, file, environment, flags, and clear refusals."""

from pathlib import Path

import pytest

from gristmill.config.sections.base import Section, read_field_sentences
from gristmill.config.tree import Config, find_default_state_dir, load_config
from gristmill.errors import ConfigError
from gristmill.model import Limits


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str) -> Path:
    file = Path("gristmill.toml")
    file.write_text(text)
    return file


def test_empty_is_safe() -> None:
    config = load_config()
    assert config.sandbox.isolation == "namespaces"
    assert config.sandbox.limits.to_limits() == Limits()


def test_the_file_here_is_found() -> None:
    write("[sandbox]\nwarm = 7\n")
    assert load_config().sandbox.warm == 7


def test_environment_outranks_file_and_flags_outrank_both(monkeypatch: pytest.MonkeyPatch) -> None:
    file = write("[sandbox]\nwarm = 1\nconcurrency = 2\n[sandbox.limits]\nseconds = 5\ncalls = 6\n")
    monkeypatch.setenv("GRISTMILL_SANDBOX__CONCURRENCY", "3")
    monkeypatch.setenv("GRISTMILL_SANDBOX__LIMITS__SECONDS", "9")
    config = load_config(file, sandbox={"limits": {"seconds": 1}})
    assert (config.sandbox.warm, config.sandbox.concurrency) == (1, 3)
    assert (config.sandbox.limits.seconds, config.sandbox.limits.calls) == (1, 6)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[sandbox]\nwarn = 1", "sandbox.warn: unknown key; did you mean warm?"),
        ("[sandbox.limits]\nmemory = 1", "sandbox.limits.memory: unknown key; did you mean memory_mb?"),
        ("[zzz]\nx = 1", "zzz: unknown key; known keys: "),
        ("[sandbox]\nwarm = -1", "sandbox.warm"),
        ("[sandbox]\nisolation = 'none'", "sandbox.isolation"),
        ("[sandbox]\npackages = ['--index-url=x']", "not a package requirement"),
        ("not toml", "not valid TOML"),
    ],
)
def test_what_cannot_be_used_is_named(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(text))
    assert words in caught.value.message


def test_a_missing_file_is_an_error_only_when_it_was_asked_for() -> None:
    load_config()
    with pytest.raises(ConfigError, match="cannot read"):
        load_config("elsewhere.toml")


def test_state_lives_where_the_platform_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    assert Config().state_dir == Path("/somewhere/gristmill") == find_default_state_dir()


def test_every_key_says_what_it_means() -> None:
    def missing(section: type[Section], path: str) -> list[str]:
        found = [path + name for name in section.model_fields if not read_field_sentences(section).get(name)]
        for name, field in section.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
                found += missing(field.annotation, f"{path}{name}.")
        return found

    assert missing(Config, "") == []
