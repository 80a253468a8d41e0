"""Looking at the audit by the command line: what happened, whether it is whole, and nothing is changed by looking."""

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest

from gristmill.config.tree import Config, StoreConfig
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.runtime.open.open_records import load_ledger_key, open_config_store
from tests.e2e.test_cli import gristmill

CALL = AuditRecord(
    kind="call", id="e1/1", parent="e1", time=1000.0, tool="crm.find", arguments={"q": "[bold]x[/]"}, decision="allow", status="ok", ms=1.5
)  # fmt: skip
EXECUTION = AuditRecord(
    kind="execution", id="e1", time=1001.0, session="ann", code="from servers import crm\nstatus ok", status="ok"
)
REFUSAL = AuditRecord(kind="security", id="s1", time=1002.0, session="bob", rule="policy.deny", error="\x1b[2Jno")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "gristmill.toml").write_text(f"[store]\npath = {json.dumps(str(tmp_path / 'state'))}\n")
    config = Config(store=StoreConfig(path=tmp_path / "state"))

    async def fill() -> None:
        async with open_config_store(config) as store:
            audit = Audit(store, load_ledger_key(config), config.state_dir)
            audit.record(CALL, EXECUTION, REFUSAL)
            await audit.close()

    asyncio.run(fill())
    return tmp_path


def test_records_are_listed_newest_first_and_by_what_they_are(here: Path) -> None:
    lines = gristmill("audit", "list", cwd=here).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["seq", "3", "2", "1"]
    security = json.loads(gristmill("audit", "list", "--kind", "security", "--json", cwd=here).stdout)
    assert [(one["id"], one["rule"], one["session"]) for one in security] == [("s1", "policy.deny", "bob")]
    assert json.loads(gristmill("audit", "list", "--tool", "crm", "--json", cwd=here).stdout)[0]["id"] == "e1/1"


def test_an_execution_is_shown_with_its_code_and_its_calls(here: Path) -> None:
    shown = gristmill("audit", "show", "e1", cwd=here).stdout
    assert "    from servers import crm\n    status ok\n" in shown
    assert "crm.find" in shown
    tree = json.loads(gristmill("audit", "show", "e1", "--json", cwd=here).stdout)
    assert [(one["id"], one["arguments"]) for one in tree["children"]] == [("e1/1", {"q": "[bold]x[/]"})]


def test_nothing_recorded_can_steer_the_terminal(here: Path) -> None:
    shown = gristmill("audit", "show", "s1", cwd=here).stdout
    assert "\x1b" not in shown
    assert "\\x1b[2Jno" in shown


def test_an_unknown_id_is_said_to_be(here: Path) -> None:
    done = gristmill("audit", "show", "none", cwd=here)
    assert (done.returncode, "no record none" in done.stderr) == (2, True)


def test_a_whole_chain_is_whole_and_an_edited_one_is_broken_at_its_first_bad_record(here: Path) -> None:
    assert gristmill("audit", "verify", cwd=here).stdout == "whole 3 records\n"
    with sqlite3.connect(here / "state" / "gristmill.db") as edited:
        edited.execute("UPDATE audit SET record = replace(record, 'bob', 'eve') WHERE seq = 3")
    edited.close()
    done = gristmill("audit", "verify", "--json", cwd=here)
    assert (done.returncode, json.loads(done.stdout)["first_bad"]) == (1, 3)


def test_an_export_has_every_record_and_is_the_owners_alone(here: Path) -> None:
    gristmill("audit", "export", "--to", "out.jsonl", cwd=here)
    lines = (here / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["record"]["id"] for line in lines] == ["e1/1", "e1", "s1"]
    assert (here / "out.jsonl").stat().st_mode & 0o777 == 0o600
    assert gristmill("audit", "export", cwd=here).stdout.splitlines() == lines


def test_looking_where_nothing_was_recorded_says_so_and_makes_nothing(tmp_path: Path) -> None:
    (tmp_path / "gristmill.toml").write_text(f"[store]\npath = {json.dumps(str(tmp_path / 'state'))}\n")
    done = gristmill("audit", "list", cwd=tmp_path)
    assert (done.returncode, "nothing has been recorded" in done.stderr) == (2, True)
    assert not (tmp_path / "state").exists()
