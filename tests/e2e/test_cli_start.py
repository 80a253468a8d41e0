"""How the command line starts: quickly, so that what is heavy is not imported before it is needed, and from a wheel."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from gristmill.config.tree import load_config
from gristmill.model import Tool
from gristmill.serve.cli.verb_table import VERBS
from gristmill.upstream.listing.remembered_tools import RememberedTools, save_remembered_tools

ROOT = Path(__file__).parents[2]
HEAVY = {
    "anyio", "asyncio", "cryptography", "gristmill.config.tree", "gristmill.runtime", "httpx2", "json5", "jsonschema_rs", "mcp",
    "numpy", "pydantic", "rich", "ssl", "tomlkit", "yaml",
}  # fmt: skip
SEARCHING = {"anyio", "asyncio", "gristmill.config.tree", "gristmill.runtime", "numpy", "pydantic", "ssl"}
"""What a search cannot do without; the event loop brings `ssl`."""
IMPORTED = "import json, sys\ntry:\n    main()\nfinally:\n    print(json.dumps(sorted(sys.modules)), file=sys.stderr)"


def list_imported(*arguments: str) -> set[str]:
    program = f"import sys\nsys.argv = ['gristmill', *{arguments!r}]\nfrom gristmill.__main__ import main\n{IMPORTED}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_imports_nothing_heavy(argument: str) -> None:
    assert HEAVY & list_imported(argument) == set()


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_the_help_of_a_verb_imports_no_protocol_no_arrays_and_no_service(verb: str) -> None:
    assert {"mcp", "mcp_types", "httpx2", "numpy", "rs_bpe", "fastapi", "jsonschema_rs"} & list_imported(verb, "--help") == set()


def test_a_search_in_remembered_tools_imports_no_protocol_and_no_sandbox(tmp_path: Path) -> None:
    (tmp_path / "gristmill.toml").write_text(
        f"[store]\npath = {json.dumps(str(tmp_path / 'state'))}\n[servers.crm]\ncommand = 'true'\n"
    )
    config = load_config(tmp_path / "gristmill.toml").servers["crm"]
    tools = tuple(
        Tool(server="crm", name=name, description=name, input_schema={}) for name in ("get_invoice", "send_mail", "wait")
    )
    save_remembered_tools(tmp_path / "state" / "upstreams", "crm", config, RememberedTools(era="legacy", tools=tools))
    program = f"import sys\nsys.argv = ['gristmill', 'search', 'invoice']\nfrom gristmill.__main__ import main\n{IMPORTED}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    imported = set(json.loads(done.stderr.splitlines()[-1]))
    unwanted = {"gristmill.guard", "gristmill.sandbox.pool", "gristmill.sandbox.run", "mcp_types"} | HEAVY - SEARCHING
    assert ("get_invoice(" in done.stdout, unwanted & imported) == (True, set())


def test_help_groups_the_verbs_and_shows_first_steps() -> None:
    done = subprocess.run([sys.executable, "-m", "gristmill", "--help"], capture_output=True, text=True, timeout=60, check=False)
    order = [
        done.stdout.index(words)
        for words in ("Get started:", "  init ", "Tools:", "  search ", "Code:", "  run ", "First steps:")
    ]
    assert order == sorted(order)
    assert "gristmill install claude-code" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell: str) -> None:
    environ = {**os.environ, "_GRISTMILL_COMPLETE": f"source_{shell}"}
    program = "import sys\nsys.argv = ['gristmill']\nfrom gristmill.__main__ import main\nmain()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False, env=environ)
    assert (done.returncode, "gristmill" in done.stdout) == (0, True)


def test_the_wheel_works_by_its_console_script_alone(tmp_path: Path) -> None:
    """As uvx and pipx install it: an environment of its own, another folder, nothing of the repository in sight."""
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, timeout=100, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    wheel = next(tmp_path.glob("gristmill-*.whl"))
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, timeout=100)
    # What it depends on is not fetched again: the environment of the tests has it.
    site = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    (site / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    tmp_path.chmod(0o755)
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GRISTMILL_STORE__PATH": str(tmp_path / "state")}
    script = tmp_path / "venv" / "bin" / "gristmill"

    def run(*arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [script, *arguments], input=stdin, capture_output=True, text=True, timeout=100, check=False, env=environ, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("run", "-", stdin="print(6 * 7)") == "42\n"
    assert json.loads(run("doctor", "--json"))["held"] is True
    run("install", "cursor")
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["gristmill"]
    assert entry == {"command": str(script), "args": ["serve"]}
