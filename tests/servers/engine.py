"""A container engine of its own: Docker from the distribution, unpacked and started in a folder, with no bridge and no registry.

The base image that the Dockerfile names is made from the distribution's packages, and trusts what this machine trusts: builds reach
the package indexes of this machine.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers import TOOLS
from tests.servers.debian import unpack

HOME = TOOLS / "engine"
BASE = HOME / "base.tar"
PACKAGES = ("docker.io", "containerd", "runc", "libdevmapper1.02.1", "debootstrap")
INCLUDED = "python3,python3-venv,python3-pip,python-is-python3,ca-certificates"
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
TRUSTED = " ".join(f"{name}={AUTHORITIES}" for name in ("PIP_CERT", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"))
START_SECONDS, BUILD_SECONDS, BASE_SECONDS = 60.0, 1_800.0, 1_200.0


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine."""

    socket: Path

    def run(self, *words: str, seconds: float = 120.0, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Runs ``docker`` with ``words``."""
        variables = {**os.environ, "DOCKER_HOST": f"unix://{self.socket}", "DOCKER_BUILDKIT": "0"}
        done = subprocess.run(
            [_program("docker"), *words], env=variables, capture_output=True, text=True, timeout=seconds, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"docker {' '.join(words[:2])}: {done.stdout[-2_000:]}{done.stderr[-2_000:]}")
        return done


def fetch() -> None:
    """Unpacks the packages and makes the base image, where they are missing."""
    for package in PACKAGES:
        if not (HOME / package).exists():
            unpack(package, HOME / package)
    if not BASE.exists():
        _make_base()


@contextmanager
def start_engine() -> Generator[Engine]:
    """Starts an engine; at the end it, its containers and its images are gone."""
    # A path of our own: the address of a socket may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="gm-engine-", ignore_cleanup_errors=True) as name:
        place = Path(name)
        command = [
            _program("dockerd"), "--iptables=false", "--ip6tables=false", "--bridge=none",
            f"--data-root={place}/data", f"--exec-root={place}/exec", f"--pidfile={place}/pid", "-H", f"unix://{place}/s",
        ]  # fmt: skip
        variables = {**os.environ, "PATH": f"{_folders()}:{os.environ['PATH']}", "LD_LIBRARY_PATH": _libraries()}
        log = (place / "log").open("wb")
        process = subprocess.Popen(command, env=variables, stdout=log, stderr=log, start_new_session=True)
        engine = Engine(place / "s")
        try:
            _wait_until_ready(engine, process, place / "log")
            yield engine
            engine.run("ps", "-aq", check=False)
            if left := engine.run("ps", "-aq").stdout.split():
                engine.run("rm", "--force", *left)
        finally:
            process.terminate()
            process.wait(60)
            log.close()
            _unmount(place)


def import_base(engine: Engine, image: str) -> None:
    """Gives the engine the base image under the name that the Dockerfile uses."""
    engine.run("import", "--change", f"ENV {TRUSTED}", str(BASE), image, seconds=BASE_SECONDS)


def _wait_until_ready(engine: Engine, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while engine.run("version", check=False).returncode:
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"the engine did not start: {log.read_text(errors='replace')[-2_000:]}")
        time.sleep(0.1)


def _make_base() -> None:
    root = HOME / "base"
    _remove_tree(root)
    suite = next(
        line.partition("=")[2].strip()
        for line in Path("/etc/os-release").read_text().splitlines()
        if line.startswith("VERSION_CODENAME=")
    )
    program = _program("debootstrap")
    variables = {**os.environ, "DEBOOTSTRAP_DIR": str(HOME / "debootstrap" / "usr" / "share" / "debootstrap")}
    command = ["sh", program, "--variant=minbase", f"--include={INCLUDED}", suite, str(root)]
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=BASE_SECONDS, check=False)
    finally:
        _unmount(root)
    if done.returncode:
        raise RuntimeError(f"no base image could be made: {done.stdout[-2_000:]}{done.stderr[-1_000:]}")
    for note in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        note.unlink()  # the official image has its own Python, into which pip may install
    shutil.copy(AUTHORITIES, root / AUTHORITIES.lstrip("/"))
    if Path("/etc/pip.conf").exists():
        shutil.copy("/etc/pip.conf", root / "etc" / "pip.conf")
    part = BASE.with_suffix(".part")
    subprocess.run(["tar", "-C", str(root), "-cf", str(part), "."], check=True, timeout=BASE_SECONDS)
    part.rename(BASE)
    _remove_tree(root)


def _remove_tree(root: Path) -> None:
    _unmount(root)
    if root.exists():
        # Never into another file system: a /proc of the machine may still be mounted here.
        subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=True, timeout=BASE_SECONDS)


def _unmount(root: Path) -> None:
    """Unmounts what debootstrap mounted below ``root`` and left when it was interrupted."""
    places = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for place in sorted((each for each in places if each.startswith(f"{root.resolve()}/")), reverse=True):
        subprocess.run(["umount", place], check=True, timeout=60)


def _program(name: str) -> str:
    for package in PACKAGES:
        for folder in ("usr/bin", "usr/sbin"):
            if (path := HOME / package / folder / name).exists():
                return str(path)
    raise FileNotFoundError(f"{name} is missing in {HOME}: run `python -m tests.servers engine` first")


def _folders() -> str:
    return ":".join(str(HOME / package / folder) for package in PACKAGES for folder in ("usr/bin", "usr/sbin"))


def _libraries() -> str:
    return ":".join(str(path.parent) for path in (HOME / "libdevmapper1.02.1").rglob("*.so.*"))
