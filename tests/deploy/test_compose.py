"""The compose file: valid, without secrets, and everything that it names is there."""

import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gristmill.config.tree import load_config
from tests.deploy import runbook
from tests.deploy.contained import DEPLOY

FILE = DEPLOY / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
MEASURED_MB, FOR_SERVERS_MB = 145, 500
"""What `python -m bench.small` found the service to hold at most, and what is left to the tool servers that it starts."""


def test_it_is_valid_by_the_schema_of_compose_files() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(FILE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_there_are_the_service_its_database_prometheus_and_grafana_by_name_and_version() -> None:
    assert set(SERVICES) == {"gristmill", "postgres", "prometheus", "grafana"}
    images = [service["image"] for service in SERVICES.values()]
    assert not [image for image in images if "." in image.partition("/")[0].partition(":")[0]], "a registry's host is named"
    assert all(":" in image for image in images)


def test_no_secret_is_written_in_it() -> None:
    for name, service in SERVICES.items():
        for key, value in service.get("environment", {}).items():
            if re.search(r"(?i)password|secret|token|_key$|__key", key):
                assert key.endswith("_FILE") or "$${env:" in value, (name, key)
    assert all(set(secret) == {"file"} for secret in COMPOSE["secrets"].values())
    used = {one if isinstance(one, str) else one["source"] for service in SERVICES.values() for one in service.get("secrets", ())}
    assert used == set(COMPOSE["secrets"])
    assert "secrets/" in (DEPLOY / ".gitignore").read_text().split()


def test_every_file_that_it_mounts_is_there() -> None:
    mounts = [mount for service in SERVICES.values() for mount in service.get("volumes", ()) if mount.startswith("./")]
    assert len(mounts) == 4
    assert [mount for mount in mounts if not (DEPLOY / mount.split(":")[0]).exists()] == []
    named = {mount.split(":")[0] for service in SERVICES.values() for mount in service.get("volumes", ())}
    assert set(COMPOSE["volumes"]) == {name for name in named if not name.startswith(".")}


def test_the_service_gets_what_its_sandbox_needs_and_refuses_less() -> None:
    service = SERVICES["gristmill"]
    assert service["environment"]["GRISTMILL_SANDBOX__ISOLATION"] == "namespaces"
    asked = {"seccomp:./seccomp.json", "apparmor:${GRISTMILL_APPARMOR:-unconfined}", "systempaths=unconfined"}
    assert asked <= set(service["security_opt"])
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert not service.get("privileged")


def test_ports_are_published_to_this_machine_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_its_variables_are_a_configuration_that_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SERVICES["gristmill"]["environment"].items():
        monkeypatch.setenv(name, value.replace("$$", "$"))
    config = load_config(DEPLOY / "container.toml")
    assert config.store.url == "postgresql://mill:${env:PGPASSWORD}@postgres/mill"
    assert config.serve.hosts == ("gristmill",)
    targets = {one["target"] for one in SERVICES["gristmill"]["secrets"]}
    assert set(re.findall(r"\$\{env:(\w+)\}", f"{config.store.url} {config.store.key}")) == targets


def test_the_database_is_healthy_only_once_it_answers_where_it_will_be_asked() -> None:
    assert "--host=127.0.0.1" in SERVICES["postgres"]["healthcheck"]["test"]


def test_all_that_may_be_used_at_once_fits_into_the_containers_memory() -> None:
    service, sandbox = SERVICES["gristmill"], load_config(DEPLOY / "container.toml").sandbox
    whole = int(service["deploy"]["resources"]["limits"]["memory"].removesuffix("g")) << 10
    (tmp,) = [int(size) for size in re.findall(r"size=(\d+)m", " ".join(service["tmpfs"]))]
    used = MEASURED_MB + sandbox.concurrency * sandbox.limits.memory_mb + sandbox.sessions_memory_mb + tmp
    assert used + FOR_SERVERS_MB <= whole


def test_a_variable_says_which_release_runs_and_the_runbook_changes_that_one(tmp_path: Path) -> None:
    (name,) = re.fullmatch(r"gristmill:\$\{(\w+):-latest\}", SERVICES["gristmill"]["image"]).groups()  # pyright: ignore[reportOptionalMemberAccess]
    (tmp_path / ".env").write_text(f"{name}=0.2.0\nGRISTMILL_APPARMOR=gristmill\n")
    # Whatever compose does, it does with the tag that it finds beside its file.
    done = runbook.run(runbook.block("docker compose build gristmill"), tmp_path, {"docker": 'echo "$(sed q .env) $*"'})
    assert done.splitlines() == [
        f"{name}=0.3.0 compose {words}"
        for words in ("build gristmill", "run --rm gristmill doctor --no-servers", "up -d gristmill")
    ]
    assert (tmp_path / ".env").read_text() == f"{name}=0.3.0\nGRISTMILL_APPARMOR=gristmill\n"
    assert ".env" in (DEPLOY / ".gitignore").read_text().split()


def test_the_runbooks_secrets_can_be_read_by_the_users_of_the_containers_and_by_nobody_else(tmp_path: Path) -> None:
    deploy = tmp_path / "deploy"
    deploy.mkdir()
    docker = 'case "$*" in *"tokens create"*) echo gm_token ;; esac'
    runbook.run(runbook.block("mkdir -m 700 secrets"), tmp_path, {"docker": docker, "curl": "true", "openssl": "echo 0123"})
    files = list((deploy / "secrets").iterdir())
    assert {file.name for file in files} == {Path(secret["file"]).name for secret in COMPOSE["secrets"].values()}
    assert {(stat.S_IMODE(file.stat().st_mode), bool(file.read_text())) for file in files} == {(0o644, True)}
    assert stat.S_IMODE((deploy / "secrets").stat().st_mode) == 0o700


def test_prometheus_reads_its_token_from_the_secret_that_it_is_given() -> None:
    scrape = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"][0]
    assert Path(scrape["authorization"]["credentials_file"]).name in SERVICES["prometheus"]["secrets"]
    assert scrape["static_configs"] == [{"targets": ["gristmill:8030"]}]
