"""Makes a state folder as a release leaves it: what an upgrade must bring forward. See README.md beside the archives.

Run it in a checkout of that release: ``PYTHONPATH=. .venv/bin/python PATH/make_state.py sqlite|postgres ARCHIVE``. It uses public
names only, which every release has. The archive holds the state folder, ``facts.json`` with what a test needs to know about it, and
for PostgreSQL ``database.sql``, a dump of the database.
"""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gristmill import Config, Runtime

SERVER = Path(__file__).resolve().parents[1] / "servers" / "notes.py"
FAR = 4_102_444_800.0
"""The year 2100: approvals in the archive must not expire before the tests read them."""
SAVE = """
def double(n: int) -> int:
    "Double a number."
    return n * {factor}
from skills import save
save(double, level="user")
"""
SEARCHES = 1_000
"""Each is a record of the audit, and every thousandth record has an anchor."""
BETWEEN = """
import time
from servers import notes
said = [notes.add_note(text="between 1")]
while context["waits"]:
    time.sleep(0.1)
said.append(notes.add_note(text="between 2"))
said
"""
IN_FLIGHT = 'from servers import notes\nnotes.add_note(text="flight 1")\nnotes.add_note(text="never")'
ASKS = 'from servers import notes\n[notes.add_note(text="before {name}"), notes.send_note(text="{name}")]'


def make_config(home: Path, url: str | None) -> Config:
    """The configuration that the state is made with; a test opens it with the same rules."""
    return Config.model_validate(
        {
            "store": {"path": home / "state", "url": url and "${env:STATE_URL}"},
            "sandbox": {"warm": 0},
            "sessions": {"days": 36_500},  # the archive must not age
            "records": {"journal_days": 0, "audit_days": 0},
            "servers": {"notes": {"command": sys.executable, "args": [str(SERVER), str(home / "notes.txt")]}},
            "policy": {"allow": ["notes.add_note", "notes.find_person"], "ask": ["notes.send_note"], "approval_minutes": 43_200},
        }
    )


async def fill(config: Config) -> dict[str, Any]:
    """Leaves one of everything, and tells the ids."""
    async with Runtime.open(config, serving=True) as runtime:
        await runtime.settled(30)
        for factor in (2, 3):
            await succeed(runtime, SAVE.format(factor=factor))
        await succeed(
            runtime, "from session import kv\nkv['k'] = [1, None, 'ü']\nopen('kept.txt', 'w').write('kept')", session="ann"
        )
        await succeed(runtime, "open('other.txt', 'w').write('of acme')", session="ann", tenant="acme", caller="bob@acme")
        for _ in range(SEARCHES):
            await runtime.search("find a person")
        finished = await succeed(runtime, 'from servers import notes\nnotes.add_note(text="finished")', promised=True)
        masked = await succeed(runtime, "from servers import notes\nstr(notes.find_person(number=7))", session="ann")
        waiting = await runtime.execute(ASKS.format(name="waiting"))
        decided = await runtime.execute(ASKS.format(name="decided"))
        assert waiting.plan, waiting
        assert decided.plan, decided
        await runtime.approvals.decide(decided.plan.id, "all", by="eve")
        await runtime.audit.flush()
        return {
            "finished": finished.id,
            "masked": str(masked.result),
            "waiting": waiting.id,
            "waiting_plan": waiting.plan.id,
            "decided": decided.id,
            "decided_plan": decided.plan.id,
        }


async def succeed(runtime: Runtime, code: str, **options: Any) -> Any:
    """Executes a program that must not fail."""
    outcome = await runtime.execute(code, **options)
    assert outcome.status == "ok", outcome
    return outcome


async def run_until_killed(config: Config, code: str, execution: str) -> None:
    """Executes a program that never ends."""
    async with Runtime.open(config, serving=True) as runtime:
        await runtime.settled(30)
        await runtime.execute(code, execution_id=execution, context={"waits": True}, limits={"seconds": 300})


def kill_when_noted(home: Path, execution: str, last: str) -> None:
    """Runs a program in a process of its own, and kills that process when the note ``last`` has arrived."""
    command = [sys.executable, __file__, "run", str(home), execution]
    child = subprocess.Popen(command, start_new_session=True)
    for _ in range(600):
        if last in (home / "notes.txt").read_text().splitlines():
            break
        time.sleep(0.1)
    else:
        raise TimeoutError(f"{last} never arrived")
    time.sleep(1)  # the answer to the note is recorded
    os.killpg(child.pid, signal.SIGKILL)
    child.wait(30)


def make_token(home: Path, name: str, *options: str) -> str:
    """Creates an access token as an operator does."""
    command = [sys.executable, "-m", "gristmill", "tokens", "create", name, *options, "--config", str(home / "gristmill.toml")]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def write_config_file(home: Path, url: str | None) -> None:
    """Writes the part of the configuration that the command line needs."""
    address = 'url = "${env:STATE_URL}"\n' if url else ""
    (home / "gristmill.toml").write_text(f'[store]\npath = "{home / "state"}"\n{address}')


def keep_approvals(home: Path, url: str | None) -> None:
    """Postpones the end of all approvals."""
    sql = f"UPDATE approvals SET expires = {FAR}"
    if url:
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.encode())
        return
    with sqlite3.connect(home / "state" / "gristmill.db") as file:
        file.execute(sql)
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file.close()


def make_state(home: Path, url: str | None) -> None:
    """Fills ``home``: the state folder, and the facts about it."""
    (home / "state").mkdir(mode=0o755)
    (home / "notes.txt").write_text("")
    home.chmod(0o755)
    write_config_file(home, url)
    config = make_config(home, url)
    facts = asyncio.run(fill(config))
    kill_when_noted(home, "between", "between 1")
    kill_when_noted(home, "in-flight", "never")
    facts["token"] = make_token(home, "ann", "--tenant", "acme", "--scope", "execute", "--scope", "read")
    keep_approvals(home, url)
    facts["notes"] = (home / "notes.txt").read_text().splitlines()
    (home / "facts.json").write_text(json.dumps(facts, indent=1))


def dump_database(url: str, path: Path) -> None:
    """Writes a dump of the database as SQL that any schema of any database takes."""
    from tests.servers import postgres

    command = [str(postgres.programs() / "pg_dump"), "--no-owner", "--no-privileges", "--inserts", "--schema=public", url]
    dump = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    path.write_text(dump)


def pack(home: Path, archive: Path) -> None:
    """Packs the folder, without what is made anew at each start or belongs to the machine."""

    def choose(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        is_left_out = entry.name.startswith(("state/catalog/", "state/scratch"))
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return None if is_left_out else entry

    with tarfile.open(archive, "w:gz", compresslevel=9) as packed:
        for name in ("state", "facts.json", "database.sql"):
            if (home / name).exists():
                packed.add(home / name, name, filter=choose)


def main(kind: str, archive: Path) -> None:
    """Makes the archive of one kind of store."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="state-", dir="/tmp")))
        url = None
        if kind == "postgres":
            from tests.servers import postgres

            server = stack.enter_context(postgres.server())
            url = f"postgresql://mill:{quote(postgres.PASSWORD, safe='')}@127.0.0.1:{server.port}/postgres"
            os.environ["STATE_URL"] = url
        make_state(home, url)
        if url:
            dump_database(url, home / "database.sql")
        pack(home, archive)
    print(f"{archive}: {archive.stat().st_size:,} bytes")


if __name__ == "__main__":
    if sys.argv[1] == "run":
        place = Path(sys.argv[2])
        program = BETWEEN if sys.argv[3] == "between" else IN_FLIGHT
        asyncio.run(run_until_killed(make_config(place, os.environ.get("STATE_URL")), program, sys.argv[3]))
    else:
        main(sys.argv[1], Path(sys.argv[2]))
