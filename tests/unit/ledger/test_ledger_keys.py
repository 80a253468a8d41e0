"""The ledger's key is made once, for its owner alone; what it seals opens only where it belongs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gristmill.errors import ConfigError, StoreUnavailable
from gristmill.ledger.ledger_keys import KEY_FILE, derive_key, load_key
from gristmill.ledger.record_seal import RecordSeal


def test_a_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    key = load_key(tmp_path / "state")
    assert load_key(tmp_path / "state") == key
    assert load_key(tmp_path / "other") != key
    assert (tmp_path / "state" / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "state").iterdir()] == [KEY_FILE]


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    load_key(tmp_path)
    (tmp_path / KEY_FILE).chmod(0o640)
    with pytest.raises(ConfigError):
        load_key(tmp_path)


def test_who_only_looks_makes_no_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        load_key(tmp_path, make=False)
    assert list(tmp_path.iterdir()) == []


def test_a_configured_key_wins_and_must_be_long_enough(tmp_path: Path) -> None:
    assert load_key(tmp_path, "k" * 32) == b"k" * 32
    with pytest.raises(ConfigError):
        load_key(tmp_path, "short")


def test_keys_for_different_purposes_differ() -> None:
    assert derive_key(b"k" * 32, "seal") != derive_key(b"k" * 32, "audit")


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda sealed: sealed[:-1],
    "changed": lambda sealed: sealed[:-1] + bytes([sealed[-1] ^ 1]),
    "empty": lambda _sealed: b"",
    "beginning only": lambda sealed: sealed[:10],
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_does_not_open(change: str) -> None:
    seal = RecordSeal(b"k" * 32)
    sealed = seal.seal(b"plain", "here")
    assert (seal.open(sealed, "here"), b"plain" in sealed) == (b"plain", False)
    with pytest.raises(StoreUnavailable):
        seal.open(CHANGES[change](sealed), "here")


def test_what_is_sealed_for_one_place_does_not_open_in_another_nor_with_another_key() -> None:
    sealed = RecordSeal(b"k" * 32).seal(b"plain", "here")
    for seal, place in ((RecordSeal(b"k" * 32), "there"), (RecordSeal(b"x" * 32), "here")):
        with pytest.raises(StoreUnavailable):
            seal.open(sealed, place)
