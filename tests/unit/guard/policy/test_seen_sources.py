"""What is stored of the sources that sessions and skills have seen, and when it is deleted."""

from pathlib import Path

import pytest

from gristmill.guard.policy.seen_sources import SeenSources, name_files_scope, name_skill_scope
from gristmill.store.open_store import open_store

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("T94")]
DAY = 86_400.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_records_of_skills_that_are_gone_are_deleted_and_no_others(tmp_path: Path) -> None:
    now = [0.0]
    store = await open_store(tmp_path)
    try:
        seen = SeenSources(store, lambda: now[0])
        scopes = [name_skill_scope("acme", "gone"), name_skill_scope("acme", "kept"), name_files_scope("f"), "skill acme gone"]
        await seen.record_tools(scopes, ("crm.get",))
        columns = "tenant, level, owner, name, version, source, requires, tested, caller, created, hash, seal"
        values = ("acme", "user", "ann", "kept", 1, "def kept(): ...", "[]", 0, "ann", 0.0, "h", "s")
        await store.write((f"INSERT INTO skills ({columns}) VALUES ({', '.join('?' * len(values))})", values))
        await seen.forget_gone_skills()
        assert [await seen.list_seen_tools(scope) for scope in scopes] == [("crm.get",)] * 4, "records of today stay"
        now[0] = 2 * DAY
        await seen.forget_gone_skills()
        assert [await seen.list_seen_tools(scope) for scope in scopes] == [(), *[("crm.get",)] * 3]
    finally:
        await store.close()
