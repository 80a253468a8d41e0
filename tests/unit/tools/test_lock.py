"""The lock files pin everything that pyproject.toml asks for, each file by its hash, on every Python that is supported."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PIN = re.compile(r"^(\S+==\S+)(?: ; (.+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def pins(lock: str) -> list[Requirement]:
    found = PIN.findall((ROOT / lock).read_text())
    return [Requirement(f"{pin}; {marker}" if marker else pin) for pin, marker, _ in found]


def lines_without_a_hash(lock: str) -> list[str]:
    text = PIN.sub("", (ROOT / lock).read_text())
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def applies(requirement: Requirement, python: str) -> bool:
    environment = {"python_version": python, "python_full_version": f"{python}.9", "sys_platform": "linux"}
    return requirement.marker is None or requirement.marker.evaluate(environment)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements-dev.lock", PROJECT["project"]["dependencies"] + PROJECT["dependency-groups"]["dev"]),
        ("requirements-code.lock", PROJECT["dependency-groups"]["code"]),
    ],
    ids=["dev", "code"],
)
def test_every_requirement_is_pinned_once_to_a_version_that_fits(lock: str, wanted: list[str], python: str) -> None:
    pinned = [pin for pin in pins(lock) if applies(pin, python)]
    for requirement in map(Requirement, wanted):
        if not applies(requirement, python):
            continue
        name = canonicalize_name(requirement.name)
        versions = [spec.version for pin in pinned if canonicalize_name(pin.name) == name for spec in pin.specifier]
        assert (name, len(versions)) == (name, 1), "run `make lock`"
        assert requirement.specifier.contains(versions[0], prereleases=True), f"{name} {versions[0]}: run `make lock`"


@pytest.mark.parametrize("lock", ["requirements-dev.lock", "requirements-code.lock"])
def test_nothing_is_installed_without_a_hash_or_from_an_address(lock: str) -> None:
    assert pins(lock)
    assert lines_without_a_hash(lock) == []
