"""A state folder of release 0.1.0 is opened by this version: all of it is there, on both databases. See tests/data/state-0.1.0."""

import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

from gristmill import Config, Runtime
from gristmill.errors import Conflict, NotFound
from gristmill.ledger.ledger_keys import load_key
from gristmill.ledger.record_seal import RecordSeal
from gristmill.model import LOCAL_IDENTITY
from gristmill.runtime.open.open_records import open_config_store, open_records, read_store_version
from gristmill.runtime.open.session_stores import SkillScope
from gristmill.serve.access_tokens import TokenRegister
from gristmill.serve.cli.verbs.setup.doctor_checks import check_store
from gristmill.store.postgres import Postgres
from gristmill.store.schema.migrations import MIGRATIONS
from gristmill.store.sqlite import Sqlite
from tests.data.make_state import BETWEEN, SEARCHES, make_config
from tests.servers import postgres

pytestmark = pytest.mark.anyio

ARCHIVES = Path(__file__).parents[2] / "data" / "state-0.1.0"
NEWEST = MIGRATIONS[-1].number


@dataclass(frozen=True, slots=True)
class Old:
    """A state folder that 0.1.0 left, with what is known about it."""

    home: Path
    config: Config
    facts: dict[str, Any]
    url: str | None

    def notes(self) -> list[str]:
        """Returns the writes that have arrived at the server since the upgrade."""
        return (self.home / "notes.txt").read_text().splitlines()


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, state: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Old]:
    home = state / f"upgrade-{uuid4().hex}"
    with tarfile.open(ARCHIVES / f"{request.param}.tar.gz") as archive:
        archive.extractall(home, filter="data")
    home.chmod(0o755)
    (home / "notes.txt").touch()
    if os.geteuid() == 0:
        for path in (home / "state" / "workspaces").rglob("*"):
            os.chown(path, 65_534, 65_534)  # as the release left them; archives keep no owners
    url = load_dump(request.getfixturevalue("postgres_server"), home) if request.param == "postgres" else None
    monkeypatch.setenv("STATE_URL", url or "")
    yield Old(home, make_config(home, url), json.loads((home / "facts.json").read_text()), url)
    shutil.rmtree(home)


def load_dump(server: postgres.Server, home: Path) -> str:
    """Loads the dump into a database of its own; returns the address."""
    name, password = f"d{uuid4().hex}", quote(postgres.PASSWORD, safe="")
    place = f"postgresql://mill:{password}@127.0.0.1:{server.port}"
    with psycopg.connect(f"{place}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # pyright: ignore[reportArgumentType, reportCallIssue]
    with psycopg.connect(f"{place}/{name}", autocommit=True) as connection:
        connection.execute("DROP SCHEMA public")
    command = [str(postgres.programs() / "psql"), "-qX", "-vON_ERROR_STOP=1", "-f", str(home / "database.sql"), f"{place}/{name}"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return f"{place}/{name}"


async def value(runtime: Runtime, code: str, **options: Any) -> Any:
    outcome = await runtime.execute(code, **options)
    assert outcome.status == "ok", outcome
    return outcome.result


@pytest.mark.requirement("U1")
async def test_sessions_files_values_and_skills_are_there(old: Old) -> None:
    async with Runtime.open(old.config) as runtime:
        read = "from session import kv\n[kv['k'], open('kept.txt').read()]"
        assert await value(runtime, read, session="ann") == [[1, None, "ü"], "kept"]
        other = {"tenant": "acme", "caller": "bob@acme", "session": "ann"}
        assert await value(runtime, "open('other.txt').read()", **other) == "of acme"
        assert await value(runtime, "from skills import double\ndouble(4)") == 12
        skills = runtime.session_stores.skills
        scope = SkillScope(identity=LOCAL_IDENTITY)
        (skill,) = await skills.list(scope)
        assert [each.version for each in await skills.versions(skill.name, scope)] == [1, 2]
        assert skills.tampered == []


@pytest.mark.requirement("U1")
async def test_the_audit_and_the_accounts_are_whole_and_go_on(old: Old) -> None:
    async with open_records(old.config) as audit:
        before = await audit.verify()
        assert (before.ok, before.records) == (True, SEARCHES + 20), before  # read as it was left, before the upgrade
    async with Runtime.open(old.config) as runtime:
        assert (await runtime.stats()).searches == SEARCHES
        await value(runtime, "1")
        await runtime.audit.flush()
        after = await runtime.audit.verify()
        assert (after.ok, after.records) == (True, before.records + 1), after
        assert (await runtime.audit.show(old.facts["finished"])).entry.record.status == "ok"


@pytest.mark.requirement("U1", "U3")
async def test_a_finished_run_is_resumed_from_its_record_and_its_outcome_is_kept(old: Old) -> None:
    async with Runtime.open(old.config) as runtime:
        kept = await runtime.outcome(old.facts["finished"])
        assert kept is not None
        assert (kept.status, kept.result) == ("ok", "noted finished")
        assert await value(runtime, "", resume=old.facts["finished"]) == "noted finished"
    assert old.notes() == []


@pytest.mark.requirement("U1", "U3")
async def test_a_run_that_was_interrupted_goes_on_and_repeats_no_write(old: Old) -> None:
    async with Runtime.open(old.config) as runtime:
        said = await value(runtime, "", resume="between", context={"waits": False})
        assert said == ["noted between 1", "noted between 2"]
        assert old.notes() == ["between 2"]
        lost = await runtime.execute(resume="in-flight")
        assert lost.plan is not None
        assert (lost.status, [call.was_lost for call in lost.plan.calls]) == ("awaiting_approval", [True])
        assert old.notes() == ["between 2"], "whether the lost write was made is a question for a person"


@pytest.mark.requirement("U1")
async def test_plans_and_decisions_hold(old: Old) -> None:
    async with Runtime.open(old.config) as runtime:
        (waiting,) = await runtime.approvals.list()
        assert (waiting.id, waiting.execution) == (old.facts["waiting_plan"], old.facts["waiting"])
        assert [(call.tool, call.arguments) for call in waiting.plan.calls] == [("notes.send_note", {"text": "waiting"})]
        assert await value(runtime, "", resume=old.facts["decided"]) == ["noted before decided", "noted sent decided"]
        await runtime.approvals.decide(waiting.id, "all", by="eve")
        assert await value(runtime, "", resume=waiting.execution) == ["noted before waiting", "noted sent waiting"]
    assert old.notes() == ["sent decided", "sent waiting"]


@pytest.mark.requirement("U1")
async def test_tokens_masks_pins_and_learned_types_are_there(old: Old) -> None:
    async with open_config_store(old.config) as store:
        who = await TokenRegister(store).verify(old.facts["token"])
        assert (who.name, who.tenant, who.scopes) == ("ann", "acme", {"execute", "read"})
    pins = (old.home / "state" / "known" / "pins.json").read_bytes()
    async with Runtime.open(old.config) as runtime:
        await runtime.settled(30)
        assert await runtime.changes() == ()
        assert "learned from 1 call" in (await runtime.describe("notes.find_person")).text
        find = "from servers import notes\nstr(notes.find_person(number=7))"
        assert await value(runtime, find, session="ann") == old.facts["masked"]
    assert (old.home / "state" / "known" / "pins.json").read_bytes() == pins


async def test_the_version_is_known_before_and_after_and_a_copy_is_kept(old: Old) -> None:
    older = await check_store(old.config)
    assert (older.ok, "schema version 1; the next start brings it to" in older.seen) == (True, True), older
    found = await read_store_version(old.config)
    assert found is not None
    assert (found.number, found.is_empty) == (0, False), "the first release recorded no version"
    async with open_config_store(old.config) as store:
        assert [each.number for each in (await store.read_version()).applied] == list(range(1, NEWEST + 1))
    newest = await check_store(old.config)
    assert (newest.ok, newest.seen.endswith(f"schema version {NEWEST}")) == (True, True), newest
    copy = old.home / "state" / f"gristmill.db.before-{NEWEST}"
    assert copy.exists() == (old.url is None)
    if copy.exists():
        with closing(sqlite3.connect(copy)) as file:
            tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master")}
            assert "schema_version" not in tables
            assert file.execute("SELECT count(at) FROM journal").fetchone() == (10,)
            assert file.execute("SELECT count(*) FROM audit").fetchone() == (SEARCHES + 20,)


async def list_schema(config: Config) -> tuple[set[Any], set[Any]]:
    """Returns the columns and the indexes of a store."""
    driver = Postgres if config.store.url else Sqlite
    indexes = {
        Postgres: "SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND indexname NOT LIKE '%_pkey'",
        Sqlite: "SELECT name FROM sqlite_master WHERE type = 'index' AND name NOT LIKE 'sqlite_%'",
    }
    async with open_config_store(config) as store:
        return set(await store.read(driver.tables_query)), set(await store.read(indexes[driver]))


async def test_the_schema_is_the_one_that_a_new_store_has(old: Old, tmp_path: Path) -> None:
    assert await list_schema(old.config) == await list_schema(make_config(tmp_path, None))


@pytest.mark.requirement("U3")
async def test_a_run_recorded_without_its_context_names_its_writes_and_goes_on_only_with_its_code(old: Old) -> None:
    """Versions before 0.1.0 recorded the text of the program alone."""
    seal = RecordSeal(load_key(old.home / "state"))
    async with open_config_store(old.config) as store:
        sealed = seal.seal(BETWEEN.encode(), "run/between")
        await store.write(("UPDATE runs SET code = ? WHERE id = 'between'", (sealed,)))
    async with Runtime.open(old.config) as runtime:
        with pytest.raises(Conflict, match=r"Writes on record: notes\.add_note \(made\)\. Do not execute the code anew"):
            await runtime.execute(resume="between")
        with pytest.raises(NotFound) as stranger:
            await runtime.execute(resume="between", caller="mallory")
        assert "notes.add_note" not in str(stranger.value)
        assert old.notes() == []
        said = await value(runtime, BETWEEN, resume="between", context={"waits": False})
        assert (said, old.notes()) == (["noted between 1", "noted between 2"], ["between 2"])
