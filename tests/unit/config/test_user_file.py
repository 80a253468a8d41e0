"""The user's own configuration lies under the project's."""

from pathlib import Path

import pytest

from gristmill.config.sources import find_user_file, list_config_files
from gristmill.config.tree import Config, load_config
from gristmill.errors import ConfigError


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.delenv("GRISTMILL_USER_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def load(user: str, project: str | None = None) -> Config:
    file = find_user_file()
    assert file is not None
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(user)
    if project is not None:
        Path("gristmill.toml").write_text(project)
    return load_config()


def test_it_counts_in_every_folder_and_the_project_wins() -> None:
    user = "[sandbox]\nwarm = 1\nconcurrency = 9\n[servers.mine]\ncommand = 'a'\n"
    assert load(user).sandbox.warm == 1
    config = load(user, "[sandbox]\nwarm = 2\n[servers.theirs]\ncommand = 'b'\n")
    assert (config.sandbox.warm, config.sandbox.concurrency) == (2, 9)
    assert list(config.servers) == ["mine", "theirs"]


def test_a_server_of_the_project_replaces_the_users_as_a_whole() -> None:
    user = "[servers.db]\ncommand = 'a'\nargs = ['--mine']\nenv = { LEVEL = 'x' }\n"
    db = load(user, "[servers.db]\nurl = 'https://db.example/mcp'\n").servers["db"]
    assert (db.command, db.args, db.env, db.url) == (None, (), {}, "https://db.example/mcp")


def test_a_project_can_switch_a_server_of_the_user_off() -> None:
    db = load("[servers.db]\ncommand = 'a'\n", "[servers.db]\nenabled = false\n").servers["db"]
    assert (db.command, db.enabled) == ("a", False)


def test_a_project_cannot_loosen_what_the_user_denies() -> None:
    user = "[policy]\ndefault = 'ask'\ndeny = ['crm.delete']\n"
    policy = load(user, "[policy]\ndefault = 'allow'\ndeny = ['crm.drop']\nallow = ['crm.*']\n").policy
    assert (policy.default, policy.deny, policy.allow) == ("ask", ("crm.delete", "crm.drop"), ("crm.*",))
    assert load(user, "[policy]\ndefault = 'deny'\n").policy.default == "deny"
    assert load("", "[policy]\ndefault = 'allow'\n").policy.default == "allow"


def test_it_can_be_another_file_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load("[sandbox]\nwarm = 1\n")
    monkeypatch.setenv("GRISTMILL_USER_CONFIG", "")
    assert load_config().sandbox.warm == 4
    assert len(list_config_files()) == 1
    other = tmp_path / "other.toml"
    other.write_text("[sandbox]\nwarm = 3\n")
    monkeypatch.setenv("GRISTMILL_USER_CONFIG", str(other))
    assert load_config().sandbox.warm == 3


def test_a_fault_in_it_is_named() -> None:
    with pytest.raises(ConfigError, match=r"config/gristmill/gristmill\.toml is not valid TOML"):
        load("warm = ")


def test_the_same_file_is_not_merged_with_itself() -> None:
    file = find_user_file()
    assert file is not None
    load("[policy]\ndeny = ['crm.delete']\n")
    assert load_config(file).policy.deny == ("crm.delete",)
