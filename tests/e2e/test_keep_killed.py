"""kill -9 under load: nothing that was acknowledged is lost, and the chain of records is whole."""

import asyncio
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.ledger.audit.audit_entries import AuditFilter
from gristmill.model import LOCAL_IDENTITY

ROUNDS = 5
WORKER = """
import asyncio, json, sys
from pathlib import Path
from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig

ROUND = sys.argv[2]

def keep(number: int) -> int:
    return number

def say(**word):
    print(json.dumps(word), flush=True)

async def work(runtime, place):
    number = 0
    while True:
        number += 1
        key = f"{ROUND}-{place}-{number}"
        code = (
            f"from session import kv\\nfrom servers import crm\\nkv[{key!r}] = crm.keep(number={number})\\n"
            f"open({key!r}, 'w').write('x')"
        )
        outcome = await runtime.execute(code, session=f"s{place}")
        say(id=outcome.id, status=outcome.status, session=f"s{place}", key=key, number=number, error=outcome.error)

async def main():
    config = Config.model_validate({
        "sandbox": SandboxConfig(warm=0), "store": StoreConfig(path=Path(sys.argv[1])), "policy": {"allow": ["*"]},
    })
    async with Runtime.open(config, tools={"crm.keep": keep}, serving=True) as runtime:
        await asyncio.gather(*(work(runtime, place) for place in range(8)))

asyncio.run(main())
"""


@pytest.fixture
def home(state: Path, request: pytest.FixtureRequest) -> Path:
    folder = state / f"killed-{abs(hash(request.node.nodeid))}"
    folder.mkdir()
    return folder


def killed(home: Path, turn: int) -> list[dict[str, object]]:
    """What a gateway under load had acknowledged when it was killed."""
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(home), str(turn)], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    lines = [worker.stdout.readline() for _ in range(random.randint(8, 60))]
    worker.kill()
    lines += worker.stdout.readlines()
    worker.stdout.close()
    worker.wait(30)
    return [json.loads(line) for line in lines if line.endswith("\n")]


@pytest.mark.requirement("P14", "T49")
def test_a_gateway_killed_under_load_keeps_all_that_it_acknowledged_and_its_chain_whole(home: Path) -> None:
    heard = [word for turn in range(ROUNDS) for word in killed(home, turn)]
    assert len(heard) >= 8 * ROUNDS
    assert {word["status"] for word in heard} == {"ok"}, heard

    async def look() -> None:
        config = Config(sandbox=SandboxConfig(warm=0), store=StoreConfig(path=home))
        async with Runtime.open(config) as runtime:
            verified = await runtime.audit.verify()
            assert verified.ok, verified
            records = await runtime.audit.list(AuditFilter(kind="execution"), limit=100_000)
            assert {word["id"] for word in heard} <= {entry.record.id for entry in records}
            calls = await runtime.audit.list(AuditFilter(kind="call"), limit=100_000)
            assert {word["id"] for word in heard} <= {entry.record.parent for entry in calls}
            for session in await runtime.session_stores.sessions.list(identity=LOCAL_IDENTITY):
                keys = {str(word["key"]): word["number"] for word in heard if word["session"] == session.name}
                for key, number in keys.items():
                    assert await runtime.session_stores.values.get(session.handle, key) == (True, number)
                names = {path.name for path in runtime.session_stores.workspaces.make_folder(session.key).iterdir()}
                assert keys.keys() <= names
            # And it goes on: the chain grows from where it stood.
            assert (await runtime.execute("1", session="s0")).result == 1
            await runtime.audit.flush()
            assert (await runtime.audit.verify()).ok

    asyncio.run(look())
