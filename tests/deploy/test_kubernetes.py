"""The manifests: valid by the schemas of Kubernetes, and what they promise to each other is kept."""

import base64
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast

import kubernetes_validate  # pyright: ignore[reportMissingTypeStubs]
import pytest
import yaml
from starlette.datastructures import Headers

from gristmill.config.tree import load_config
from gristmill.errors import Refused
from gristmill.ledger.metrics import METRICS
from gristmill.serve.cli.verbs.operate.serve import TOKEN_VARIABLE
from gristmill.serve.http.limits.request_wall import RequestWall
from tests.deploy import runbook
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


def built(folder: Path) -> list[dict[str, Any]]:
    """What kustomize makes of ``folder``."""
    if (kubectl := shutil.which("kubectl")) is None:
        pytest.skip("kubectl is not installed here: each resource was validated by itself")
    made = subprocess.run([kubectl, "kustomize", str(folder)], capture_output=True, text=True, timeout=60, check=True)
    return documents(made.stdout)


def selectors(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By kind, the labels of the pods that a document speaks of."""
    specs = {document["kind"]: document["spec"] for document in found if "spec" in document}
    return {
        "Deployment": specs["Deployment"]["selector"]["matchLabels"],
        "Service": specs["Service"]["selector"],
        "PodDisruptionBudget": specs["PodDisruptionBudget"]["selector"]["matchLabels"],
        "NetworkPolicy": specs["NetworkPolicy"]["podSelector"]["matchLabels"],
    } | {
        f"spread {number}": one["labelSelector"]["matchLabels"]
        for number, one in enumerate(specs["Deployment"]["template"]["spec"]["topologySpreadConstraints"])
    }


@pytest.mark.parametrize("name", [*RESOURCES, "secret.example.yaml"])
def test_each_resource_is_valid(name: str) -> None:
    validate(read(f"base/{name}"))


@pytest.mark.parametrize("overlay", ["base", "landlock", "monitoring"])
def test_what_kustomize_makes_of_them_is_valid(overlay: str) -> None:
    found = built(HERE / overlay)
    for document in found:
        if not document["apiVersion"].startswith("monitoring.coreos.com/"):
            validate(document)
    assert len(found) == (2 if overlay == "monitoring" else len(RESOURCES) + 1)
    if overlay == "landlock":
        (pod,) = [one["spec"]["template"]["spec"] for one in found if one["kind"] == "Deployment"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert {"name": "GRISTMILL_SANDBOX__ISOLATION", "value": "landlock"} in pod["containers"][0]["env"]
        assert "procMount" not in pod["containers"][0]["securityContext"]
        assert "hostUsers" not in pod


def speaks_of_its_pods(found: list[dict[str, Any]]) -> None:
    (labels,) = [one["spec"]["template"]["metadata"]["labels"] for one in found if one["kind"] == "Deployment"]
    asked = selectors(found)
    assert asked == dict.fromkeys(asked, asked["Deployment"])
    assert labels.items() >= asked["Deployment"].items() != set[Any]()


def test_every_selector_finds_the_pods() -> None:
    speaks_of_its_pods([read(f"base/{name}") for name in RESOURCES])


@pytest.mark.parametrize("overlay", ["base", "landlock"])
def test_every_selector_finds_the_pods_after_kustomize_too(overlay: str) -> None:
    found = built(HERE / overlay)
    speaks_of_its_pods(found)
    (service,) = [one for one in found if one["kind"] == "Service"]
    wanted = read("monitoring/servicemonitor.yaml")["spec"]["selector"]["matchLabels"]
    assert service["metadata"]["labels"].items() >= wanted.items() != set[Any]()


def test_how_many_pods_there_are_is_the_autoscalers_alone() -> None:
    assert "replicas" not in read("base/deployment.yaml")["spec"]
    assert read("base/autoscaler.yaml")["spec"]["minReplicas"] > read("base/disruption.yaml")["spec"]["minAvailable"]


def test_the_operator_gets_the_same_alerts_as_compose() -> None:
    (rules,) = documents((DEPLOY / "prometheus" / "rules.yml").read_text())
    assert read("monitoring/rules.yaml")["spec"] == rules
    assert set(read("monitoring/kustomization.yaml")["resources"]) == {"servicemonitor.yaml", "rules.yaml"}


def test_the_runbooks_folder_says_where_the_image_is_and_which(tmp_path: Path) -> None:
    (text,) = re.findall(r"<<'END'\n(.*?)^END", runbook.block("newTag"), re.MULTILINE | re.DOTALL)
    (tmp_path / "mill").mkdir()
    (tmp_path / "mill" / "kustomization.yaml").write_text(text)
    shutil.copytree(DEPLOY, tmp_path / "deploy", ignore=shutil.ignore_patterns("secrets"))
    (deployment,) = [one for one in built(tmp_path / "mill") if one["kind"] == "Deployment"]
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "REGISTRY/gristmill:0.2.0"


def test_the_runbook_makes_the_secrets_that_pods_and_the_operator_ask_for(tmp_path: Path) -> None:
    (endpoint,) = read("monitoring/servicemonitor.yaml")["spec"]["endpoints"]
    asked = endpoint["authorization"]["credentials"]
    # As an operator's secret is put into a header, no newline may be in it.
    kubectl = """
case "$*" in
    *"exec deploy/gristmill -- gristmill tokens create"*) echo gm_token ;;
    *"create secret generic"*"--from-file=token") printf %s "$*:"; od -An -c token ;;
    *"create secret generic"*) echo "$*" ;;
esac
"""
    made = runbook.run(runbook.block("gristmill-metrics"), tmp_path, {"kubectl": kubectl})
    assert f"create secret generic {asked['name']} --from-file={asked['key']}:" in made
    assert made.split(":")[1].split() == [*"gm_token"]
    first = runbook.run(
        runbook.block("GRISTMILL_TOKEN").replace("docker", "true"), tmp_path, {"kubectl": kubectl, "openssl": "echo 0123"}
    )
    assert POD["volumes"][1]["secret"]["secretName"] == "gristmill"
    assert all(f"--from-file={name}" in first for name in read("base/secret.example.yaml")["stringData"])


def test_a_secret_is_backed_up_and_put_back_as_it_was(tmp_path: Path) -> None:
    if (kubectl := shutil.which("kubectl")) is None:
        pytest.skip("kubectl is not installed here")
    values = {"DATABASE_URL": "postgresql://mill:a=b c@db.example.com/mill?sslmode=require", "GRISTMILL_KEY": "ab" * 32}
    for name, text in values.items():
        (tmp_path / name).write_text(f"{text}\n")
    (get,) = [line for line in runbook.block("base64decode").splitlines() if "base64decode" in line]
    (create,) = [line for line in runbook.block("--from-env-file").splitlines() if "--from-env-file" in line]
    # There is no cluster: what would be got of it is made instead, and what would be applied is shown.
    files = " ".join(f"--from-file={name}" for name in values)
    get = get.replace("get secret gristmill", f"create secret generic gristmill {files} --dry-run=client")
    lines = f"day=d\n{get}\n{create.partition(' | ')[0]}".replace("/keys/gristmill", ".")
    secret = yaml.safe_load(runbook.run(lines, tmp_path, {"kubectl": f'exec {kubectl} "$@"'}))
    assert {name: base64.b64decode(text).decode() for name, text in secret["data"].items()} == values


def test_pods_get_out_to_what_the_runbook_names_wherever_it_is() -> None:
    rules = read("base/network.yaml")["spec"]["egress"]
    anywhere = {port["port"] for rule in rules if "to" not in rule for port in rule["ports"]}
    assert anywhere == {443, 4318, 5432}


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
    wall = RequestWall(config=load_config(HERE / "base" / "gristmill.toml").serve)
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
