"""A search in a new process answers from what earlier processes left on disk, and sees every change at once."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gristmill.catalog.learned.learned_schema import learned_to_json
from gristmill.catalog.learned.result_shapes import observe_result
from gristmill.catalog.search.usage_habits import UsageHabits
from gristmill.config.tree import load_config
from gristmill.model import LOCAL_IDENTITY, Tool
from gristmill.runtime.open.session_stores import SkillScope, open_session_stores
from gristmill.runtime.tools.kept_json import write_json
from gristmill.serve.cli.app import app
from gristmill.session.skills.skill import SkillDraft
from gristmill.upstream.listing.remembered_tools import RememberedTools, save_remembered_tools

SERVERS = ("crm", "get-weather", "files")


def tools_of(server: str, words: str = "of a customer") -> tuple[Tool, ...]:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string", "description": "Which one."}, "from": {"enum": ["a", "b"]}},
    }
    names = [("get_" + word, word) for word in ("invoice", "order", "ticket", "class")] + [("read-file", "file")]
    return tuple(
        Tool(server=server, name=name, description=f"Get the {word} {words}.", input_schema=schema) for name, word in names
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a configuration whose servers were all listed by an earlier run, and searched; none can be started."""
    monkeypatch.chdir(tmp_path)
    entries = "".join(f'[servers.{name}]\ncommand = "no-such-program"\n' for name in SERVERS)
    (tmp_path / "gristmill.toml").write_text(f"[store]\npath = {json.dumps(str(tmp_path / 'state'))}\n{entries}")
    remember({name: tools_of(name) for name in SERVERS})
    search("invoice")
    return tmp_path


def remember(tools: dict[str, tuple[Tool, ...]]) -> None:
    config = load_config()
    for name, each in tools.items():
        save_remembered_tools(
            config.state_dir / "upstreams", name, config.servers[name], RememberedTools(era="legacy", tools=each)
        )


def search(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["search", *arguments, "--wait", "5"])
    assert done.exit_code == 0, done.output
    return done.stdout


def keys(*arguments: str) -> list[str]:
    return [hit["key"] for hit in json.loads(search(*arguments, "--json"))["hits"]]


def test_the_process_prints_all_of_it_and_ends_well(here: Path) -> None:
    command = [sys.executable, "-m", "gristmill", "search", "customer", "--limit", "50", "--json"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == (search(*command[4:]), "")


def test_a_search_loads_no_sandbox_and_no_protocol(here: Path) -> None:
    heavy = ("mcp", "httpx2", "rs_bpe", "rich", "sqlite3", "gristmill.sandbox.jails.jail_pool")
    program = (
        "import sys; from gristmill.serve.cli.app import app\n"
        "app(['search', 'invoice'], standalone_mode=False)\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=here, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def change_config(here: Path, _: pytest.MonkeyPatch) -> None:
    path = here / "gristmill.toml"
    path.write_text(path.read_text().replace("[servers.crm]", "[servers.crm]\nenabled = false"))


def change_environment(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRISTMILL_SERVERS__CRM__ENABLED", "false")


def change_definitions(_: Path, __: pytest.MonkeyPatch) -> None:
    remember({"crm": tools_of("crm")[1:]})


def lose_a_listing(here: Path, _: pytest.MonkeyPatch) -> None:
    (file,) = (here / "state" / "upstreams").glob("crm~*.json")
    file.unlink()


@pytest.mark.parametrize("change", [change_config, change_environment, change_definitions, lose_a_listing])
def test_a_change_is_seen_at_once(here: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[..., None]) -> None:
    assert "crm.get_invoice" in keys("invoice")

    change(here, monkeypatch)

    assert "crm.get_invoice" not in keys("invoice")


def test_a_definition_that_changed_is_marked_until_it_is_accepted(here: Path) -> None:
    remember({"crm": tools_of("crm", "as never before")})
    assert "definition changed" in search("invoice", "--server", "crm")

    (here / "state" / "known" / "pins.json").unlink()

    assert "definition changed" not in search("invoice", "--server", "crm")


def test_tools_that_are_held_back_stay_hidden(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRISTMILL_CATALOG__QUARANTINE", "refuse")
    remember({"crm": tools_of("crm", "as never before")})

    assert {key.partition(".")[0] for key in keys("invoice", "--limit", "50")} == {"get-weather", "files"}


def test_what_was_learned_meanwhile_counts_at_once(here: Path) -> None:
    known = here / "state" / "known"
    pins = json.loads((known / "pins.json").read_text())["pins"]
    (seen,) = [pin["hash"] for name, pin in pins.items() if name.startswith("crm.get_invoice@")]
    learned = learned_to_json(observe_result(None, {"number": 1, "open": True}))
    write_json(known / "learned.json", {"crm.get_invoice": {"definition": seen, **learned}, "crm.x": {"definition": "1"}})
    habits = UsageHabits()
    for _ in range(5):
        habits = habits.with_calls("money due", ["files.read-file"])
    write_json(known / "habits.json", habits.to_json())

    assert "learned from 1 call" in search("get the invoice", "--server", "crm")
    assert keys("money due")[0] == "files.read-file"


@pytest.mark.anyio
async def test_a_saved_skill_takes_part(here: Path) -> None:
    async with open_session_stores(load_config()) as keeping:
        draft = SkillDraft(
            name="bill", source='def bill(x: str) -> str:\n    """Write the invoice of a customer."""\n    return x\n'
        )
        await keeping.skills.save(draft, SkillScope(identity=LOCAL_IDENTITY), "user")
    command = [sys.executable, "-m", "gristmill", "search", "write the invoice", "--limit", "50", "--json"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=60, check=True)  # this loop is running
    assert "skills.bill" in [hit["key"] for hit in json.loads(done.stdout)["hits"]]


def test_a_broken_index_file_is_made_anew(here: Path) -> None:
    (index,) = (here / "state" / "catalog").glob("index-*")
    whole = index.read_bytes()
    for wrong in (b"", whole[:-1], whole + b"x", whole.replace(b'"made_from":"', b'"made_from":"x')):
        index.write_bytes(wrong)
        assert "crm.get_invoice" in keys("invoice")
        assert index.read_bytes() == whole
