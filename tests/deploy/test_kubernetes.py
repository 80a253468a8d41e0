"""The manifests: valid by the schemas of Kubernetes, and what they promise to each other is kept."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast

import kubernetes_validate  # pyright: ignore[reportMissingTypeStubs]
import pytest
import yaml
from starlette.datastructures import Headers

from gristmill.config import load_config
from gristmill.errors import Refused
from gristmill.ledger.metrics import METRICS
from gristmill.serve.cli.serve import TOKEN_VARIABLE
from gristmill.serve.http.wall import Wall
from tests.deploy.contained import DEPLOY

HERE = DEPLOY / "kubernetes"
VERSION = "1.33"
MEASURED_MB = 145
"""What `python -m bench.small` found the service to hold, template included, at most."""


def documents(text: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(text) if one]


def read(path: str) -> dict[str, Any]:
    (document,) = documents((HERE / path).read_text())
    return document


RESOURCES: list[str] = read("base/kustomization.yaml")["resources"]
POD: dict[str, Any] = read("base/deployment.yaml")["spec"]["template"]["spec"]
CONTAINER: dict[str, Any] = POD["containers"][0]


def validate(document: dict[str, Any]) -> None:
    kubernetes_validate.validate(document, VERSION, strict=True)  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize("name", [name for name in [*RESOURCES, "secret.example.yaml"] if name != "deployment.yaml"])
def test_each_resource_is_valid(name: str) -> None:
    document = read(f"base/{name}")
    if document["kind"] == "PodDisruptionBudget":
        document["spec"]["selector"] = {}  # kustomize writes it
    validate(document)


@pytest.mark.parametrize("overlay", ["base", "landlock", "monitoring"])
def test_what_kustomize_makes_of_them_is_valid(overlay: str) -> None:
    if (kubectl := shutil.which("kubectl")) is None:
        pytest.skip("kubectl is not installed here: each resource was validated by itself")
    made = subprocess.run([kubectl, "kustomize", str(HERE / overlay)], capture_output=True, text=True, timeout=60, check=True)
    found = documents(made.stdout)
    for document in found:
        if document["kind"] != "ServiceMonitor":
            validate(document)
    assert len(found) == (1 if overlay == "monitoring" else len(RESOURCES) + 1)
    if overlay == "landlock":
        (pod,) = [one["spec"]["template"]["spec"] for one in found if one["kind"] == "Deployment"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert {"name": "GRISTMILL_SANDBOX__ISOLATION", "value": "landlock"} in pod["containers"][0]["env"]
        assert "procMount" not in pod["containers"][0]["securityContext"]
        assert "hostUsers" not in pod


def test_a_misspelt_field_would_be_found() -> None:
    service = read("base/service.yaml")
    service["spec"]["sesionAffinity"] = "ClientIP"
    with pytest.raises(Exception, match="sesionAffinity"):
        validate(service)


def test_the_pod_is_nobody_and_gets_what_the_sandbox_needs() -> None:
    assert (POD["hostUsers"], POD["automountServiceAccountToken"]) == (False, False)
    assert POD["securityContext"]["runAsNonRoot"]
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "procMount": "Unmasked",
        "capabilities": {"drop": ["ALL"]},
    }


def test_probes_ask_routes_that_need_no_token_and_the_pod_may_drain() -> None:
    paths = {name: CONTAINER[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert paths == {"startupProbe": "/health", "livenessProbe": "/health", "readinessProbe": "/ready"}
    assert POD["terminationGracePeriodSeconds"] > load_config(HERE / "base" / "gristmill.toml").serve.drain_seconds


@pytest.mark.parametrize("file", [HERE / "base" / "gristmill.toml", DEPLOY / "small.toml"])
def test_all_that_may_be_used_at_once_fits_into_the_pods_memory(file: Path) -> None:
    sandbox = load_config(file).sandbox
    assert CONTAINER["resources"]["limits"]["memory"] == "256Mi"
    assert CONTAINER["resources"]["limits"]["cpu"] == "500m"
    assert MEASURED_MB + sandbox.concurrency * sandbox.limits.memory_mb + sandbox.sessions_memory_mb <= 256


def test_the_service_is_known_by_its_names_and_by_the_address_of_its_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    (asked,) = [one["value"] for one in CONTAINER["env"] if one["name"] == "GRISTMILL_SERVE__HOSTS"]
    monkeypatch.setenv("GRISTMILL_SERVE__HOSTS", asked.replace("$(POD_IP)", "10.0.0.7"))
    wall = Wall(config=load_config(HERE / "base" / "gristmill.toml").serve)
    for host in ("gristmill:8030", "gristmill.gristmill.svc:8030", "10.0.0.7:8030", "localhost:8030"):
        wall.check(Headers({"host": host}), "GET")
    with pytest.raises(Refused):
        wall.check(Headers({"host": "evil.example:8030"}), "GET")


def test_the_configuration_names_only_variables_that_the_secret_has() -> None:
    config = load_config(HERE / "base" / "gristmill.toml")
    names = re.findall(r"\$\{env:(\w+)\}", f"{config.store.url} {config.store.key}")
    assert {*names, TOKEN_VARIABLE} == set(read("base/secret.example.yaml")["stringData"])
    assert set(read("base/secret.example.yaml")["stringData"].values()) == {""}


def test_the_autoscaler_asks_for_a_metric_that_the_adapter_makes_of_ours() -> None:
    asked = read("base/autoscaler.yaml")["spec"]["metrics"][0]["pods"]["metric"]["name"]
    (rule,) = cast("list[dict[str, Any]]", read("monitoring/adapter.yaml")["rules"])
    assert rule["name"]["as"] == asked
    used = set(re.findall(r"(\w+)\{", f"{rule['seriesQuery']} {rule['metricsQuery']}"))
    assert used == {"sandbox_pool_children", "sandbox_pool_size"}
    assert used <= {metric.name for metric in METRICS}
