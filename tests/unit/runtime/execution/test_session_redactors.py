"""Masks belong to a session or a run, and outlive the process."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gristmill.guard.mask.detector import Detector
from gristmill.runtime.execution import session_redactors as redactors
from gristmill.runtime.execution.session_redactors import MOST_OPEN, SessionRedactors
from gristmill.store.base import Store
from gristmill.store.open_store import open_store

pytestmark = pytest.mark.anyio
MAIL = "ann@example.org"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    opened = await open_store(tmp_path)
    yield opened
    await opened.close()


def _redactors(store: Store, key: bytes = b"k" * 32) -> SessionRedactors:
    return SessionRedactors(Detector(), store, key, lambda: 0.0)


async def test_a_mask_stands_for_the_same_value_in_the_next_process(store: Store) -> None:
    masked = (await _redactors(store).get_redactor("session s", is_new=True)).mask(MAIL)
    again = await _redactors(store).get_redactor("session s", is_new=False)
    assert (again.unmask(masked), again.mask(MAIL)) == (MAIL, masked)


async def test_scopes_do_not_know_each_others_masks(store: Store) -> None:
    here = _redactors(store)
    masked = (await here.get_redactor("run a", is_new=True)).mask(MAIL)
    other = await here.get_redactor("run b", is_new=False)
    assert other.unmask(masked) == masked
    assert other.mask(MAIL) != masked


async def test_what_masks_stand_for_is_not_readable_in_the_store(store: Store) -> None:
    (await _redactors(store).get_redactor("run a", is_new=True)).mask(MAIL)
    await store.flush()
    rows = await store.read("SELECT value FROM masks")
    assert len(rows) == 1
    assert isinstance(rows[0][0], bytes)
    assert MAIL.encode() not in rows[0][0]


async def test_the_one_used_longest_ago_goes_and_comes_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_OPEN > 2
    monkeypatch.setattr(redactors, "MOST_OPEN", 2)
    here = _redactors(store)
    first = await here.get_redactor("run a", is_new=True)
    masked = first.mask(MAIL)
    for scope in ("run b", "run c"):
        await here.get_redactor(scope, is_new=True)
    back = await here.get_redactor("run a", is_new=False)
    assert (back is first, back.unmask(masked)) == (False, MAIL)
