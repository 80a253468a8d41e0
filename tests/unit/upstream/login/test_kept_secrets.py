"""Secrets in the keyring, or else in encrypted files."""

from pathlib import Path

import pytest

from gristmill.errors import ConfigError
from gristmill.upstream.login.kept_secrets import KeptSecrets, split_secret_name


class MemoryKeyring:
    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def put(self, service: str, name: str, secret: str) -> None:
        self.kept[service, name] = secret

    def remove(self, service: str, name: str) -> None:
        del self.kept[service, name]


def test_without_a_keyring_a_secret_lies_encrypted_in_a_file_of_its_own(tmp_path: Path) -> None:
    secrets = KeptSecrets(tmp_path / "secrets", None)
    secrets.write("crm", "key", "very-secret")
    assert (secrets.read("crm", "key"), secrets.read("crm", "other")) == ("very-secret", None)
    assert all(b"very-secret" not in file.read_bytes() for file in (tmp_path / "secrets").iterdir())
    assert (secrets.forget("crm", "key"), secrets.forget("crm", "key"), secrets.read("crm", "key")) == (True, False, None)


def test_a_secret_of_a_file_moves_to_the_keyring_when_it_is_set_again(tmp_path: Path) -> None:
    KeptSecrets(tmp_path, None).write("crm", "key", "old")
    keyring = MemoryKeyring()
    secrets = KeptSecrets(tmp_path, keyring)
    assert secrets.read("crm", "key") == "old"
    secrets.write("crm", "key", "new")
    assert (secrets.read("crm", "key"), KeptSecrets(tmp_path, None).read("crm", "key")) == ("new", None)
    assert (secrets.forget("crm", "key"), keyring.kept) == (True, {})


def test_names_are_of_the_form_service_and_name() -> None:
    assert (split_secret_name("token"), split_secret_name("crm/a/b")) == (("gristmill", "token"), ("crm", "a/b"))
    for name in ("", "/x", "x/", "a}b", "a\nb"):
        with pytest.raises(ConfigError):
            split_secret_name(name)
