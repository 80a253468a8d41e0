"""References resolve, and what they resolved to is masked everywhere."""

import pytest

from gristmill.errors import ConfigError
from gristmill.upstream.secret_references import SecretReferences

ENVIRON = {"TOKEN": "tok-123456", "SHORT": "ab"}


def test_references_become_values() -> None:
    secrets = SecretReferences(environ=ENVIRON, keyring=lambda service, name: f"{service}+{name}")
    assert secrets.resolve("Bearer ${env:TOKEN}") == "Bearer tok-123456"
    assert secrets.resolve("${keyring:crm/key}!") == "crm+key!"
    assert secrets.resolve("${env:MISSING:-fallback} $HOME") == "fallback $HOME"


def test_values_that_were_given_out_are_masked_and_never_printed() -> None:
    secrets = SecretReferences(environ=ENVIRON)
    secrets.resolve("${env:TOKEN}${env:SHORT}")
    assert secrets.mask("failed with tok-123456 and ab") == "failed with *** and ab"
    assert "tok-123456" not in repr(secrets)


@pytest.mark.parametrize("text", ["${env:MISSING}", "${keyring:a/b}", "${keyring:nothing}"])
def test_a_reference_that_leads_nowhere_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError):
        SecretReferences(environ={}).resolve(text)


def test_an_entry_that_the_keyring_lacks_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no entry a/b"):
        SecretReferences(environ={}, keyring=lambda _service, _name: None).resolve("${keyring:a/b}")
