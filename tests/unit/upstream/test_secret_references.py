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


def test_variables_are_passed_on_by_name_and_their_secrets_masked() -> None:
    environ = {
        "AWS_REGION": "eu", "AWS_SECRET_ACCESS_KEY": "s3cr3t", "LC_ALL": "C", "OTHER": "x", "A.S": "y",
        "HTTPS_PROXY": "http://me:pa%24sword@p:1",
    }  # fmt: skip
    secrets = SecretReferences(environ=environ)
    passed = secrets.pass_on(("AWS_*", "LC_ALL", "A?S", "HTTPS_PROXY"))
    assert passed.keys() == {"AWS_REGION", "AWS_SECRET_ACCESS_KEY", "LC_ALL", "HTTPS_PROXY"}
    assert secrets.mask("eu s3cr3t pa%24sword pa$sword x") == "eu *** *** *** x"
    assert secrets.pass_on(()) == {}
