"""Variables of other executors set our limits; ours win, and misspelt ones are named."""

import logging
from pathlib import Path

import pytest

from gristmill.config import tree
from gristmill.config.foreign_variables import FOREIGN_VARIABLES, find_service_url, read_foreign_variables
from gristmill.config.tree import Config, load_config
from gristmill.errors import ConfigError
from gristmill.http_client.async_client import AsyncClient

DOCS = Path(__file__).parents[3] / "docs" / "guides" / "limits.md"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no warning given yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tree, "_warned_of", set[str]())
    return tmp_path


def test_the_variables_of_a_small_executor_are_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"EXECUTION_TIMEOUT": "12.5", "MAX_MEMORY_MB": "128", "MAX_CPU_PERCENT": "50.0"}.items():
        monkeypatch.setenv(name, value)
    limits = load_config().sandbox.limits
    assert (limits.seconds, limits.memory_mb, limits.cpu_percent) == (12.5, 128, 50)


def test_the_variables_of_a_hub_are_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "MCP2_SANDBOX_TIMEOUT": "5",
        "MCP2_MEMORY_LIMIT_MB": "512",
        "MCP2_CPU_PERCENT": "50",
        "MCP2_WORKSPACE_MB": "70",
        "MCP2_FILE_MB": "7",
        "MCP2_MAX_OUTPUT_TOKENS": "600",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    config = load_config()
    limits = config.sandbox.limits
    assert (limits.seconds, limits.memory_mb, limits.cpu_percent, limits.workspace_mb, limits.file_mb) == (5, 512, 50, 70, 7)
    assert config.shaping.output_tokens == 600


def test_ours_win_in_the_file_in_the_environment_and_as_a_flag(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "gristmill.toml").write_text("[sandbox.limits]\nmemory_mb = 64\n")
    monkeypatch.setenv("GRISTMILL_SANDBOX__LIMITS__SECONDS", "3")
    for name in ("MAX_MEMORY_MB", "EXECUTION_TIMEOUT"):
        monkeypatch.setenv(name, "not even a number")  # not looked at
    monkeypatch.setenv("MAX_CPU_PERCENT", "50")
    limits = load_config(sandbox={"limits": {"cpu_percent": 20}}).sandbox.limits
    assert (limits.seconds, limits.memory_mb, limits.cpu_percent) == (3, 64, 20)


@pytest.mark.parametrize("text", ["30s", "-1", "0", "nan", "inf", "1e300"])
def test_a_limit_that_is_no_positive_number_is_an_error_that_names_the_variable(text: str) -> None:
    with pytest.raises(ConfigError, match=r"EXECUTION_TIMEOUT is .* GRISTMILL_SANDBOX__LIMITS__SECONDS"):
        read_foreign_variables({"EXECUTION_TIMEOUT": text}, [])


def test_a_limit_out_of_range_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_MEMORY_MB", "2")
    with pytest.raises(ConfigError, match="MAX_MEMORY_MB"):
        load_config()


def test_an_empty_variable_sets_nothing_and_a_fraction_is_cut() -> None:
    assert read_foreign_variables({"EXECUTION_TIMEOUT": " "}, []) == {}
    assert read_foreign_variables({"MAX_CPU_PERCENT": "50.9"}, []) == {"sandbox": {"limits": {"cpu_percent": 50}}}


def test_every_variable_sets_a_key_that_exists_and_stands_in_the_guide() -> None:
    guide = DOCS.read_text(encoding="utf-8")
    for name, where in FOREIGN_VARIABLES.items():
        section = Config()
        for part in where:
            section = getattr(section, part)
        assert any(f"`{name}`" in line and f"`{'.'.join(where)}`" in line for line in guide.splitlines()), name


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("GRISTMILL_SANDBOX_WARM", "did you mean GRISTMILL_SANDBOX__WARM?"),
        ("GRISTMILL_WARM", "did you mean GRISTMILL_SANDBOX__WARM?"),
        ("GRISTMILL_TIMEOUT", "did you mean GRISTMILL_SANDBOX__LIMITS__SECONDS?"),
        ("GRISTMILL_TOKENS", "did you mean GRISTMILL_TOKEN?"),
        ("MCP2_TIMOUT", "did you mean MCP2_TIMEOUT?"),
        ("MCP2_NETWORK", "docs/reference/config.md"),
        ("CODE_EXECUTION_MAX_MEMORY", "did you mean GRISTMILL_SANDBOX__LIMITS__MEMORY_MB?"),
        ("MCP_CODE_EXECUTOR_URI", "did you mean MCP_CODE_EXECUTOR_URL?"),
    ],
)
def test_an_unknown_variable_is_named_once_with_the_nearest_one(
    name: str, meant: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(name, "1")
    with caplog.at_level(logging.WARNING):
        load_config()
        load_config()
    told = [record.getMessage() for record in caplog.records if name in record.getMessage()]
    assert len(told) == 1
    assert meant in told[0]


@pytest.mark.parametrize(
    "name", ["GRISTMILL_TOKEN", "GRISTMILL_PORT", "GRISTMILL_PORT_8030_TCP_ADDR", "GRISTMILL_SERVICE_HOST", "GRISTMILL_CRM_KEY"]
)
def test_known_and_referenced_variables_are_not_warned_about(
    name: str, place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (place / "gristmill.toml").write_text('[servers.crm]\ncommand = "crm"\nenv = { KEY = "${env:GRISTMILL_CRM_KEY}" }\n')
    monkeypatch.setenv(name, "1")
    with caplog.at_level(logging.WARNING):
        load_config()
    assert name not in caplog.text


def test_clients_find_the_service_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    both = {"GRISTMILL_URL": "http://ours:1", "MCP_CODE_EXECUTOR_URL": "http://theirs:2"}
    assert find_service_url(both, "http://x") == "http://ours:1"
    assert find_service_url({"GRISTMILL_URL": ""}, "http://x") == "http://x"
    monkeypatch.setenv("MCP_CODE_EXECUTOR_URL", both["MCP_CODE_EXECUTOR_URL"])
    assert str(AsyncClient()._client.base_url) == "http://theirs:2"  # pyright: ignore[reportPrivateUsage]
    assert str(AsyncClient("http://given:3")._client.base_url) == "http://given:3"  # pyright: ignore[reportPrivateUsage]
