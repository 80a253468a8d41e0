"""A container runtime, the one that Docker and Kubernetes run containers with, and the system calls that engines allow by default."""

from pathlib import Path

from tests.servers import TOOLS
from tests.servers.debian import unpack

HOME = TOOLS / "oci"
PACKAGES = {
    "runc": "usr/sbin/runc",
    "golang-github-containers-common": "usr/share/containers/seccomp.json",
    "tini": "usr/bin/tini",
}


def runc() -> Path:
    """The runtime; fails if it is not there, and says how to get it."""
    return _found("runc")


def tini() -> Path:
    """The first process of our image."""
    return _found("tini")


def default_profile() -> Path:
    """What an engine allows a container that asks for nothing."""
    return _found("golang-github-containers-common")


def fetch() -> None:
    """Unpack the packages that are missing."""
    for package in PACKAGES:
        try:
            _found(package)
        except FileNotFoundError:
            unpack(package, HOME / package)


def _found(package: str) -> Path:
    path = HOME / package / PACKAGES[package]
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: run `python -m tests.servers` first")
    return path
