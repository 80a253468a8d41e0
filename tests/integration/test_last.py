"""A search that starts cold answers from the last catalogue exactly as the whole house would, and never from a stale one."""

import json
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gristmill import __version__
from gristmill.catalog.catalog import definition_hash
from gristmill.catalog.learned.learned_schema import learned_to_json
from gristmill.catalog.learned.result_shapes import observe
from gristmill.catalog.search.usage_habits import Habits
from gristmill.config.sources import read_tree
from gristmill.config.tree import load_config
from gristmill.model import Tool
from gristmill.runtime.last import key_of, path_of
from gristmill.runtime.last_search import search_last
from gristmill.runtime.open.session_stores import Scope, open_keeping
from gristmill.runtime.tools.kept_json import write_json
from gristmill.runtime.tools.tool_library import Library
from gristmill.serve.cli.app import app
from gristmill.serve.cli.quick import answered
from gristmill.session.skills.skill import Draft
from gristmill.upstream.remembered_tools import Remembered, load, save

SERVERS = ("crm", "get-weather", "files")
OUTPUT = {"type": "object", "properties": {"total": {"type": "integer"}}}


def tools_of(server: str, words: str = "of a customer") -> tuple[Tool, ...]:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string", "description": "Which one."}, "from": {"enum": ["a", "b"]}},
    }
    names = [("get_" + word, word) for word in ("invoice", "order", "ticket", "class")] + [("read-file", "file")]
    return tuple(
        Tool(
            server=server,
            name=name,
            description=f"Get the {word} {words}.\u200b",
            input_schema=schema,
            output_schema=OUTPUT if i else None,
        )
        for i, (name, word) in enumerate(names)
    )


def know_clean_tools(here: Path) -> None:
    """The same tools without what is suspicious in them."""
    for name in SERVERS:
        remember({name: tuple(replace(tool, description=tool.description.strip("\u200b")) for tool in tools_of(name))})
    (here / "state" / "known" / "pins.json").unlink()
    full("invoice")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a configuration whose servers were all listed by an earlier run, and searched."""
    monkeypatch.chdir(tmp_path)
    entries = "".join(f'[servers.{name}]\ncommand = "no-such-program"\n' for name in SERVERS)
    (tmp_path / "gristmill.toml").write_text(f"[store]\npath = {json.dumps(str(tmp_path / 'state'))}\n{entries}")
    remember({name: tools_of(name) for name in SERVERS})
    full("invoice")
    return tmp_path


def remember(tools: dict[str, tuple[Tool, ...]]) -> None:
    config = load_config()
    for name, each in tools.items():
        save(config.state_dir / "upstreams", name, config.servers[name], Remembered(era="legacy", tools=each))


def full(*arguments: str) -> str:
    """What the command line proper prints."""
    done = CliRunner().invoke(app, ["search", *arguments, "--wait", "5"])
    assert done.exit_code == 0, done.output
    return done.stdout


def keys(*arguments: str) -> list[str]:
    return [hit["key"] for hit in json.loads(full(*arguments, "--json"))["hits"]]


@pytest.mark.parametrize(
    "arguments",
    [
        ["the invoice of a customer"],
        ["get_class", "--limit", "50"],
        ["read a file", "--server", "get-weather"],
        ["orders", "--detail", "name_only", "--limit", "2"],
        ["orders", "--detail", "with_description"],
        ["orders", "--budget", "90"],
        ["crm.get_ticket"],
    ],
)
def test_the_answer_is_the_same_to_the_letter(here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    for form in ([], ["--json"]):
        wanted = full(*arguments, *form)
        assert answered(["search", *arguments, *form])
        assert capsys.readouterr().out == wanted != ""


@pytest.mark.parametrize(
    "arguments",
    [["crm.get_invoice"], ["files.read-file", "crm.get_class", "files.read-file"], ["crm.get_order", "--language", "typescript"]],
)
def test_a_description_is_the_same_to_the_letter(here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    know_clean_tools(here)
    for form in ([], ["--json"]):
        wanted = CliRunner().invoke(app, ["describe", *arguments, *form]).stdout
        assert answered(["describe", *arguments, *form])
        assert capsys.readouterr().out == wanted != ""


def test_warnings_and_names_to_guess_are_left_to_the_whole_house(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "warning" in CliRunner().invoke(app, ["describe", "crm.get_invoice"]).stdout
    for key in ("crm.get_invoice", "crm.nothing", "get_weather.get_class_"):
        assert not answered(["describe", key])
    assert capsys.readouterr().out == ""


def test_the_process_prints_all_of_it_and_ends_well(here: Path) -> None:
    command = [sys.executable, "-m", "gristmill", "search", "customer", "--limit", "50", "--json"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == (full(*command[4:]), "")


@pytest.mark.parametrize(("arguments", "needed"), [(["search", "invoice"], "['numpy']"), (["describe", "crm.get_class"], "[]")])
def test_it_loads_neither_validation_nor_an_event_loop(here: Path, arguments: list[str], needed: str) -> None:
    know_clean_tools(here)
    heavy = ("numpy", "pydantic", "typer", "rich", "asyncio", "anyio", "msgspec", "sqlite3")
    program = (
        f"import sys; from gristmill.serve.cli.quick import answered; assert answered({arguments})\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=here, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == needed


def quick(query: str = "invoice", **how: Any) -> list[str] | None:
    found = search_last(query, version=__version__, **how)
    return None if found is None else [hit.tool.key for hit in found.hits]


def test_nothing_is_answered_before_the_first_search_and_by_another_version(here: Path) -> None:
    assert quick()
    assert search_last("invoice", version="another") is None
    for file in (here / "state" / "known").glob("last-*"):
        file.unlink()
    assert quick() is None
    full("invoice")
    assert quick()


def change_config(here: Path, _: pytest.MonkeyPatch) -> None:
    path = here / "gristmill.toml"
    path.write_text(path.read_text().replace("[servers.crm]", "[servers.crm]\nenabled = false"))


def change_environment(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRISTMILL_SERVERS__CRM__ENABLED", "false")


def change_definitions(_: Path, __: pytest.MonkeyPatch) -> None:
    remember({"crm": tools_of("crm")[1:]})


def lose_a_listing(here: Path, _: pytest.MonkeyPatch) -> None:
    (here / "state" / "upstreams" / "crm.json").unlink()


@pytest.mark.parametrize("change", [change_config, change_environment, change_definitions, lose_a_listing])
def test_a_change_is_seen_at_once(here: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[..., None]) -> None:
    assert "crm.get_invoice" in (quick() or ())

    change(here, monkeypatch)

    assert quick() is None
    assert "crm.get_invoice" not in keys("invoice")


def test_after_a_change_the_next_search_but_one_is_quick_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_definitions(here, monkeypatch)

    assert keys("invoice", "--limit", "50") == quick(limit=50)


def test_a_definition_that_changed_is_marked_until_it_is_accepted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remember({"crm": tools_of("crm", "as never before")})
    assert quick() is None
    wanted = full("invoice", "--server", "crm")
    assert "definition changed" in wanted
    assert answered(["search", "invoice", "--server", "crm"])
    assert capsys.readouterr().out == wanted

    pins = here / "state" / "known" / "pins.json"
    pins.unlink()

    assert quick() is None
    assert "definition changed" not in full("invoice", "--server", "crm")
    assert answered(["search", "invoice", "--server", "crm"])
    assert "definition changed" not in capsys.readouterr().out


def test_tools_that_are_held_back_stay_hidden(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRISTMILL_CATALOG__QUARANTINE", "refuse")
    remember({"crm": tools_of("crm", "as never before")})

    assert {key.partition(".")[0] for key in keys("invoice", "--limit", "50")} == {"get-weather", "files"}
    assert quick(limit=50) == keys("invoice", "--limit", "50")
    assert quick(server="crm") is None


def test_what_was_learned_meanwhile_counts_at_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = here / "state"
    seen = json.loads((state / "known" / "pins.json").read_text())["pins"]["crm.get_invoice"]["hash"]
    learned = learned_to_json(observe(None, {"number": 1, "open": True}))
    write_json(
        state / "known" / "learned.json", {"crm.get_invoice": {"definition": seen, **learned}, "crm.x": {"definition": "1"}}
    )
    habits = Habits()
    for _ in range(5):
        habits = habits.recorded("money due", ["files.read-file"])
    write_json(state / "known" / "habits.json", habits.to_json())

    for arguments in (["get the invoice", "--server", "crm"], ["money due", "--limit", "50", "--json"]):
        assert answered(["search", *arguments])
        said = capsys.readouterr().out
        assert said == full(*arguments)
        assert "learned from 1 call" in said
    assert (quick("money due") or [""])[0] == "files.read-file"


@pytest.mark.anyio
async def test_skills_take_part_so_the_whole_house_answers(here: Path) -> None:
    async with open_keeping(load_config()) as keeping:
        assert quick()
        draft = Draft(name="bill", source='def bill(x: str) -> str:\n    """Write the invoice of a customer."""\n    return x\n')
        await keeping.skills.save(draft, Scope(tenant="local", caller="local"), "user")
        assert quick() is None


def test_python_functions_and_other_rankers_are_asked_every_time(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRISTMILL_CATALOG__RANKERS", '["dense"]')
    assert keys("invoice")
    assert quick() is None
    monkeypatch.delenv("GRISTMILL_CATALOG__RANKERS")
    monkeypatch.setenv("GRISTMILL_SERVERS__SUMS__PYTHON", "statistics")
    monkeypatch.setenv("GRISTMILL_SERVERS__SUMS__INCLUDE", '["mean"]')
    assert "sums.mean" in keys("the mean", "--limit", "50")
    assert quick() is None
    monkeypatch.setenv("GRISTMILL_SERVERS__SUMS__INCLUDE", '["no_such_function"]')
    assert keys("invoice")
    assert quick() is None


def test_unknown_servers_and_broken_configurations_are_left_to_who_can_say_so(here: Path) -> None:
    assert quick(server="nobody") is None
    (here / "gristmill.toml").write_text("[store")
    assert quick() is None
    assert not answered(["search", "invoice"])


@pytest.mark.parametrize("content", [b"", b"{}\n", b"[]\n", b"\xff\n", b'{"key": 1}'])
def test_a_torn_or_foreign_file_is_not_believed(here: Path, content: bytes) -> None:
    (kept,) = (here / "state" / "known").glob("last-*")
    whole = kept.read_bytes()
    for wrong in (content, whole[:-1], whole + b"x", whole.replace(b'"ends":[', b'"ends":[1,')):
        kept.write_bytes(wrong)
        assert quick() is None
    kept.write_bytes(whole)
    assert quick()


def test_without_its_index_the_whole_house_answers_and_makes_it_anew(here: Path) -> None:
    (index,) = (here / "state" / "catalog").glob("index-*")
    whole = index.read_bytes()
    for wrong in (b"", whole[:-1], whole + b"x", whole.replace(b'"made_from":"', b'"made_from":"x')):
        index.write_bytes(wrong)
        assert quick() is None
    full("invoice")
    assert quick()
    assert index.read_bytes() == whole


def test_what_another_process_changed_meanwhile_is_not_kept_as_ours(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_definitions(here, monkeypatch)
    stale = {name: load(here / "state" / "upstreams", name, load_config().servers[name]) for name in SERVERS}
    remember({"crm": tools_of("crm", "of the day after")})

    def load_stale(_folder: Path, name: str, _config: Any) -> Remembered:
        return stale[name]

    monkeypatch.setattr("gristmill.upstream.open_upstreams.load", load_stale)

    assert "crm.get_invoice" not in keys("invoice", "--limit", "50")

    assert quick() is None


def test_a_definition_that_somebody_accepts_meanwhile_is_not_kept_as_changed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tools_of("crm", "as never before")
    remember({"crm": changed})
    pins, saved = here / "state" / "known" / "pins.json", Library.saved

    async def accepted_meanwhile(library: Library) -> None:
        await saved(library)
        content = json.loads(pins.read_text())
        for tool in changed:
            content["pins"][tool.key]["hash"] = definition_hash(tool)
        pins.write_text(json.dumps(content))

    monkeypatch.setattr(Library, "saved", accepted_meanwhile)

    assert "definition changed" in full("invoice", "--server", "crm")
    assert quick() is None


def test_the_catalogue_of_another_configuration_is_not_believed_under_our_name(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kept,) = (here / "state" / "known").glob("last-*")
    monkeypatch.setenv("GRISTMILL_SERVERS__CRM__ENABLED", "false")
    kept.rename(path_of(here / "state", key_of(read_tree(), __version__)))

    assert quick() is None


def test_it_is_for_its_owner_only_and_not_where_code_looks(here: Path) -> None:
    (kept,) = (here / "state").rglob("last-*")
    assert kept.parent == here / "state" / "known"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
