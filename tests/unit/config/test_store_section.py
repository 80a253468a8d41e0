"""The store's address and key are never in the configuration in plain text."""

import pytest
from pydantic import ValidationError

from gristmill.config.tree import StoreConfig


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://mill:${env:PGPASSWORD}@db/mill",
        "postgres://mill@db/mill",
        "${env:DATABASE_URL}",
        "postgresql:///mill?password=${env:P}",
    ],
)
def test_addresses_with_references_are_accepted(url: str) -> None:
    assert StoreConfig(url=url).url == url


@pytest.mark.parametrize(
    "url", ["postgresql://mill:hunter2@db/mill", "postgresql:///mill?password=hunter2", "mysql://db", "/var/lib"]
)
def test_plain_passwords_and_other_addresses_are_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ValidationError) as refused:
        StoreConfig(url=url)
    assert "hunter2" not in str(refused.value)


def test_a_key_in_plain_text_is_refused() -> None:
    with pytest.raises(ValidationError):
        StoreConfig(key="k" * 32)
