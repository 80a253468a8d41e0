"""In by the command line, out by the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gristmill.model import Outcome
from tests.servers.warm import warm_module

FIELDS = set(Outcome.__dataclass_fields__)


def gristmill(
    *arguments: str, stdin: str | bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None, cold: bool = False
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command_line(*arguments, cold=cold),
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        timeout=100,
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200", **(env or {})},
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def command_line(*arguments: str, cold: bool = False) -> tuple[str, ...]:
    """The command line: the first time for each verb from nothing, as a person starts it, then without a second of imports."""
    verb = arguments[0] if arguments else ""
    if cold or verb in ALWAYS_COLD or verb not in _seen:
        _seen.add(verb)
        return (sys.executable, "-m", "gristmill", *arguments)
    return warm_module("gristmill", *arguments)


ALWAYS_COLD = ("search", "describe")
"""Verbs whose way depends on what is not imported."""
_seen: set[str] = set()


def outcome(*arguments: str, stdin: str | bytes, env: dict[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    done = gristmill("run", "--json", *arguments, "-", stdin=stdin, env=env)
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def home(state: Path) -> dict[str, str]:
    return {"GRISTMILL_STORE__PATH": str(state)}


def test_run_prints_the_hint_of_a_program_that_fails(home: dict[str, str]) -> None:
    done = gristmill("run", "-", stdin="print(total_of_may)", env=home)

    assert done.returncode == 1
    assert "hint: total_of_may is not defined in this program" in " ".join(done.stderr.split())


def test_run_prints_output_result_and_a_summary(home: dict[str, str]) -> None:
    done = gristmill("run", "-", stdin="print('hello')\n{'a': 1}", env=home)
    assert (done.returncode, done.stdout) == (0, 'hello\n{\n  "a": 1\n}\n')
    assert "isolation namespaces" in done.stderr


def test_run_takes_a_file(home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("6 * 7")
    assert gristmill("run", str(tmp_path / "program.py"), env=home).stdout == "42\n"


def test_json_has_every_field(home: dict[str, str]) -> None:
    code, found = outcome(stdin="print(1)\n2", env=home)
    assert (code, set(found), found["status"], found["success"]) == (0, FIELDS, "ok", True)
    assert (found["output"], found["result"], found["isolation"], found["truncated"]) == ("1\n", 2, "namespaces", False)


@pytest.mark.parametrize(
    ("program", "status", "exit_code"),
    [("1 / 0", "failed", 1), ("  \n", "refused", 2), ("while True: pass", "limited", 3), ("import os; os.abort()", "crashed", 4)],
)
def test_exit_codes_tell_the_outcomes_apart(home: dict[str, str], program: str, status: str, exit_code: int) -> None:
    code, found = outcome("--timeout", "0.5", stdin=program, env=home)
    assert (code, found["status"], found["success"]) == (exit_code, status, False)


def test_memory_can_be_chosen(home: dict[str, str]) -> None:
    program = "x = bytearray(180 << 20)\nlen(x)"
    assert outcome("--memory-mb", "128", stdin=program, env=home)[1]["limit"] == "memory_mb"
    assert outcome("--memory-mb", "512", stdin=program, env=home)[1]["result"] == 180 << 20


def test_what_is_shown_of_a_large_result_can_be_chosen(home: dict[str, str]) -> None:
    program = "[{'name': f'customer {number}', 'total': number} for number in range(2_000)]"
    shown = {way: outcome("--strategy", way, stdin=program, env=home)[1] for way in ("schema_only", "full")}
    assert "customer" not in json.dumps(shown["schema_only"]["result"])
    assert shown["schema_only"]["left_out"][0]["path"]
    assert len(shown["full"]["result"]) == 2_000


def test_a_sessions_files_survive_the_command(home: dict[str, str]) -> None:
    outcome("--session", "cli", stdin="open('f', 'w').write('kept')", env=home)
    _, found = outcome("--session", "cli", stdin="open('f').read()", env=home)
    assert (found["result"], found["session"], found["state"]) == ("kept", "cli", "fresh")


BAD_INPUT = {
    "nothing": (b"", "no code"),
    "ten megabytes": (b"#" * 10_000_000, "more than 1,000,000"),
    "ten megabytes of two-byte characters": ("é".encode() * 5_000_000, "1,000,000"),
    "NUL": (b"print(1)\0", "NUL"),
    "invalid UTF-8": (b"x = '\xff'", "not UTF-8"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_a_clear_error(home: dict[str, str], name: str) -> None:
    content, words = BAD_INPUT[name]
    done = gristmill("run", "-", stdin=content, env=home)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.py", tmp_path):
        done = gristmill("run", str(path))
        assert (done.returncode, "Traceback" in done.stderr, str(path) in done.stderr) == (2, False, True)


def test_unknown_flags_are_refused() -> None:
    done = gristmill("run", "--fast", "-")
    assert done.returncode == 2
    assert "No such option" in done.stderr


def test_a_wrong_key_in_the_configuration_is_named_with_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "gristmill.toml").write_text("[sandbox]\nwarn = 4\n")
    done = gristmill("run", "-", stdin="1", cwd=tmp_path)
    assert done.returncode == 2
    assert "sandbox.warn: unknown key; did you mean warm?" in done.stderr
    assert "Traceback" not in done.stderr


def test_control_characters_do_not_reach_the_terminal(home: dict[str, str]) -> None:
    done = gristmill("run", "-", stdin="print('\\x1b[2J\\u202eevil')\n'\\x1b]0;title\\x07'", env=home)
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert "\\x1b[2J\\u202eevil" in done.stdout


def test_doctor_finds_all_promises_held(home: dict[str, str]) -> None:
    done = gristmill("doctor", "--json", env=home)
    found = json.loads(done.stdout)
    assert (done.returncode, found["ok"], found["isolation"]) == (0, True, "namespaces")
    assert all(check["held"] for check in found["checks"])
    assert "the sandbox keeps every promise" in gristmill("doctor", env=home).stdout


def test_doctor_prints_the_plan(home: dict[str, str]) -> None:
    done = gristmill("doctor", "--plan", env=home)
    assert (done.returncode, "pivot" in done.stdout or "new_root" in done.stdout, "seccomp" in done.stdout) == (0, True, True)
    assert set(json.loads(gristmill("doctor", "--plan", "--json", env=home).stdout)) == {"template", "child"}


def test_demo_runs_its_program(home: dict[str, str]) -> None:
    found = json.loads(gristmill("demo", "--json", env=home).stdout)
    assert found["outcome"]["success"]
    assert set(found["outcome"]["result"]) == {"DE", "ES", "FR", "IT"}


def test_help_teaches_by_example() -> None:
    done = gristmill("run", "--help")
    assert done.returncode == 0
    assert "echo 'print(6 * 7)' | gristmill run -" in done.stdout


def test_packages_say_how_to_be_installed(home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "gristmill.toml").write_text('[sandbox]\npackages = ["pandas"]\n')
    done = gristmill("run", "-", stdin="1", cwd=tmp_path, env=home)
    assert done.returncode == 2
    assert "gristmill packages install" in done.stderr


def test_demo_of_an_app_answers_its_questions_and_counts_tokens_three_ways(home: dict[str, str]) -> None:
    found = json.loads(gristmill("demo", "--app", "pam", "--tasks", "2", "--json", env=home).stdout)

    assert [(task["id"], task["is_right"]) for task in found["tasks"]] == [("pam-over-budget", True), ("pam-wait", True)]
    assert found["tasks"][0]["calls"] == {"pam.list_trips": 1, "pam.get_trip_cost": 18}
    assert found["total"]["ours"] < found["total"]["searched"] < found["total"]["direct"]


def test_demo_of_an_app_says_where_the_examples_are_when_they_are_not_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from gristmill.errors import ConfigError
    from gristmill.serve.cli.verbs.use import demo_apps

    monkeypatch.setattr(demo_apps.gristmill, "__file__", str(tmp_path / "lib" / "site-packages" / "gristmill" / "__init__.py"))
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ConfigError, match="checkout of the repository"):
        demo_apps.find_checkout()
