"""The image: linted, and its entry command run as a container would run it."""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from gristmill.config.tree import load_config
from gristmill.sandbox.linux import kernel
from tests.deploy.contained import DEPLOY, ROOT, USER, Container, can_contain, image

needs_root = pytest.mark.skipif(not can_contain(), reason="needs root, to put a container's mounts around a program")
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()


@pytest.fixture
def container() -> Generator[Callable[..., Container]]:
    # Not below pytest's own folder: that one is closed to other users again whenever another pytest starts.
    with tempfile.TemporaryDirectory(prefix="gristmill-container-") as place:
        Path(place).chmod(0o755)

        def make(*, has_flags: bool = True) -> Container:
            state = Path(place, "state")
            state.mkdir(mode=0o700)
            os.chown(state, USER, USER)
            return Container(state=state, has_flags=has_flags)

        yield make


def run_entry(container: Container, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return container.run(image(container.state.parent), *words, **more)


def test_the_linter_of_dockerfiles_objects_to_nothing() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("hadolint"), str(DEPLOY / "Dockerfile")], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_runs_as_a_numbered_user_with_a_health_check_and_takes_in_only_what_it_needs() -> None:
    assert "\nUSER 10001:10001\n" in DOCKERFILE
    assert "\nHEALTHCHECK " in DOCKERFILE
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert "*" in ignored
    allowed = [line[1:] for line in ignored if line.startswith("!")]
    copied = [
        word
        for line in DOCKERFILE.splitlines()
        if line.startswith("COPY") and "--from" not in line
        for word in line.split()[1:-1]
    ]
    assert sorted(allowed) == sorted(word for word in copied if not word.startswith("--"))
    assert all((ROOT / path).exists() for path in allowed)


def test_the_image_has_one_gristmill_behind_one_that_buries_orphans() -> None:
    # As tests.deploy.bundle lays it out, where it is run.
    assert "mv /opt/gristmill/bin/gristmill /opt/gristmill/libexec/" in DOCKERFILE
    assert "deploy/entrypoint.sh /opt/gristmill/bin/gristmill\n" in DOCKERFILE
    assert re.search(r"^ENV PATH=/opt/gristmill/bin:", DOCKERFILE, re.MULTILINE)
    assert '\nENTRYPOINT ["tini", ' in DOCKERFILE
    assert "apt-get install --yes --no-install-recommends tini " in DOCKERFILE


def test_the_images_configuration_needs_tokens_and_says_which_isolation_it_takes() -> None:
    config = load_config(DEPLOY / "container.toml")
    assert (config.serve.host, config.serve.require_token, config.sandbox.isolation) == ("0.0.0.0", True, "auto")


def test_every_call_that_the_profile_refuses_is_known_to_some_kernel() -> None:
    (rule,) = json.loads((DEPLOY / "seccomp.json").read_text())["syscalls"]
    known = set[str]().union(*kernel.get_syscall_tables().values())
    gone = {
        "create_module",
        "get_kernel_syms",
        "nfsservctl",
        "query_module",
        "stime",
        "uselib",
        "vm86",
        "vm86old",
        "ustat",
        "_sysctl",
    }
    assert set(rule["names"]) - known <= gone
    assert not {"unshare", "clone", "clone3", "mount", "pivot_root", "setns", "seccomp"} & set(rule["names"])


@needs_root
def test_with_the_flags_that_we_name_everything_that_the_sandbox_promises_holds(container: Callable[..., Container]) -> None:
    done = run_entry(container(), "doctor", "--no-servers", "--json", GRISTMILL_SANDBOX__ISOLATION="namespaces")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["isolation"] == "namespaces"


@needs_root
def test_without_them_the_full_level_is_refused_with_the_flags_that_are_missing(container: Callable[..., Container]) -> None:
    done = run_entry(container(has_flags=False), "doctor", "--no-servers", GRISTMILL_SANDBOX__ISOLATION="namespaces")
    assert done.returncode == 6
    assert "systempaths=unconfined" in done.stderr
    assert "masked" in done.stderr


@needs_root
def test_without_them_the_images_own_configuration_takes_the_weaker_level_and_says_so(
    container: Callable[..., Container],
) -> None:
    place = container(has_flags=False)
    # The lines of the image's configuration, but for the address and where state lives.
    words = ("serve", "--http", "--host", "127.0.0.1", "--port", "0")
    environment = place.environment(GRISTMILL_SANDBOX__ISOLATION="auto")
    command = place.command(image(place.state.parent), *words)
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        url = process.stderr.readline().split()[-1]
        told = json.loads(next(line for line in process.stderr if line.startswith("{")))
        with urllib.request.urlopen(f"{url}/ready", timeout=10) as ready:
            assert json.load(ready)["isolation"] == "landlock"
        request = urllib.request.Request(f"{url}/execute", b'{"code": "6 * 7"}', {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            outcome = json.load(answer)
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert (told["event"], told["level"], told["isolation"]) == ("weaker isolation", "warning", "landlock")
    assert (outcome["result"], outcome["isolation"]) == (42, "landlock")


def test_secrets_come_from_files_and_only_those_with_the_name_of_a_variable(tmp_path: Path) -> None:
    secrets, program = tmp_path / "secrets", tmp_path / "program"
    secrets.mkdir()
    for name, text in {"PGPASSWORD": "p$(id)'\"\n", "lower": "x", "9LIVES": "x", "A-B": "x"}.items():
        (secrets / name).write_text(text)
    program.write_text('#!/bin/sh\nenv\necho arguments: "$@"\n')
    program.chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin", "GRISTMILL_SECRETS": str(secrets), "GRISTMILL_CONFIG_FOLDER": str(tmp_path)}
    words = [image(tmp_path, program), "serve", "--http"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert "PGPASSWORD=p$(id)'\"" in lines
    assert "arguments: serve --http" in lines
    assert not [line for line in lines if line.endswith("=x")]
    assert done.stderr == ""
