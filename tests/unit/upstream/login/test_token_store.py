"""Where secrets and tokens are kept, with a keyring in a dictionary."""

import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.fernet import Fernet

from gristmill.errors import ConfigError
from gristmill.upstream.login.encrypted_tokens import EncryptedTokens, load_key
from gristmill.upstream.login.system_keyring import SystemKeyring
from gristmill.upstream.login.token_store import KeyringTokens, choose_token_store


class _LockedError(Exception):
    pass


def _keyring(entries: dict[tuple[str, str], str], *, locked: bool = False) -> SystemKeyring:
    def get(service: str, name: str) -> str | None:
        if locked:
            raise _LockedError("locked: s3cret")
        return entries.get((service, name))

    def put(service: str, name: str, secret: str) -> None:
        entries[service, name] = secret

    errors = SimpleNamespace(KeyringError=_LockedError)
    return SystemKeyring(SimpleNamespace(get_password=get, set_password=put, errors=errors))


def test_tokens_go_to_the_keyring_when_there_is_one(tmp_path: Path) -> None:
    entries: dict[tuple[str, str], str] = {}
    store = choose_token_store(tmp_path, _keyring(entries))("crm")
    assert isinstance(store, KeyringTokens)
    assert store.read() is None
    store.write("text")
    assert store.read() == "text"
    assert entries == {("gristmill", "crm.oauth"): "text"}


def test_without_a_keyring_tokens_are_encrypted_and_only_ours(tmp_path: Path) -> None:
    store = choose_token_store(tmp_path / "tokens", None)("crm")
    assert isinstance(store, EncryptedTokens)
    assert store.read() is None
    store.write("access_token")
    assert choose_token_store(tmp_path / "tokens", None)("crm").read() == "access_token"
    for file in (tmp_path / "tokens").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert b"access_token" not in file.read_bytes()


def test_another_key_opens_nothing(tmp_path: Path) -> None:
    EncryptedTokens(tmp_path / "a", load_key(tmp_path / "key")).write("x")
    with pytest.raises(ConfigError, match="another key"):
        EncryptedTokens(tmp_path / "a", Fernet.generate_key()).read()


def test_a_locked_keyring_is_an_error_without_its_words() -> None:
    with pytest.raises(ConfigError) as caught:
        _keyring({}, locked=True).get("a", "b")
    assert "s3cret" not in str(caught.value)


def test_remembered_tools_are_loaded_without_the_protocol_library() -> None:
    code = "import sys, gristmill.upstream.listing.remembered_tools; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
