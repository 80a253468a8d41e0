"""Accounts of a server are servers of their own."""

from pathlib import Path

import pytest

from gristmill.config.tree import Config, load_config
from gristmill.errors import ConfigError

GMAIL = """
[servers.gmail]
command = "gmail-mcp"
args = ["--stdio"]
env = { LEVEL = "warn", TOKEN = "${env:NONE}" }
confine = {}
[servers.gmail.work]
env = { TOKEN = "${keyring:gmail/work}" }
[servers.gmail.home]
env = { TOKEN = "${keyring:gmail/home}" }
args = []
enabled = false
[servers.crm]
url = "https://crm.example/mcp"
headers = { X-Team = "a" }
"""


def load(folder: Path, text: str) -> Config:
    (folder / "gristmill.toml").write_text(text)
    return load_config(folder / "gristmill.toml")


def test_each_account_has_what_the_server_says_and_its_own(tmp_path: Path) -> None:
    servers = load(tmp_path, GMAIL).servers
    work, home = servers["gmail_work"], servers["gmail_home"]
    assert list(servers) == ["gmail_work", "gmail_home", "crm"]
    assert (work.command, work.args, work.enabled, home.args, home.enabled) == ("gmail-mcp", ("--stdio",), True, (), False)
    assert work.env == {"LEVEL": "warn", "TOKEN": "${keyring:gmail/work}"}
    assert home.env == {"LEVEL": "warn", "TOKEN": "${keyring:gmail/home}"}
    assert work.confine is not None


def test_an_account_of_an_address_joins_its_headers(tmp_path: Path) -> None:
    servers = load(tmp_path, GMAIL + "[servers.crm.eu]\nheaders = { Authorization = 'Bearer ${env:EU}' }\n").servers
    assert servers["crm_eu"].headers == {"X-Team": "a", "Authorization": "Bearer ${env:EU}"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("[servers.gmail_work]\ncommand = 'x'\n", "gmail.work becomes the server gmail_work, which exists already"),
        ("[servers.gmail.'7 up']\nenv = {}\n", "the name of an account is a letter"),
        ("[servers.gmail.third]\ncomand = 'x'\n", "servers.gmail_third.comand: unknown key"),
        ("[servers.gmail.confin]\nread = ['/']\n", "gmail.confin: unknown key; did you mean confine?"),
        ("[servers.gmail.Environment]\nA = '1'\n", "did you mean env?"),
        ("[servers.crm.header]\nA = '1'\n", "did you mean headers?"),
        ("[servers.crm.eu]\nheaders = { Authorization = 'Bearer abc' }\n", "holds a secret in plain text"),
        ("[servers.files]\ncomand = 'x'\n", "servers.files.comand: unknown key"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, more: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, GMAIL + more)
    assert words in caught.value.message


def test_a_configuration_in_code_has_accounts_too() -> None:
    config = Config.model_validate({"servers": {"a": {"command": "x", "b": {"args": ["1"]}, "c": {}}}})
    assert {name: server.args for name, server in config.servers.items()} == {"a_b": ("1",), "a_c": ()}
