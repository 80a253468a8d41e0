"""A container as an engine makes it: a bundle for its runtime, with this project in the place of an image's files."""

import json
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.deploy.contained import DEPLOY, ROOT
from tests.servers import oci

USER = 10_001
STATE = "/var/lib/gristmill"
HOME = "/opt/gristmill"
ETC = (
    "alternatives", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "passwd", "ssl",
)  # fmt: skip
"""Of the machine's own /etc: the rest of an image's is made here."""
MASKED = ("acpi", "asound", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats")
READ_ONLY = ("bus", "fs", "irq", "sys", "sysrq-trigger")
"""Of /proc, unless an engine is told `systempaths=unconfined`."""
CAPABILITIES = (
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETGID",
    "SETPCAP", "SETUID", "SYS_CHROOT",
)  # fmt: skip
"""What programs of a container could get by default; ours runs as a user and has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A container in ``place``. Without ``has_flags`` it is what an engine makes by default."""

    place: Path
    has_flags: bool = True
    cwd: str = STATE
    tini: Path | None = None

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``words`` in it, to the end."""
        self._prepare(words, environment)
        return self._runc("run", "--bundle", self.place, self.place.name)

    @contextmanager
    def running(self, *words: str, **environment: str) -> Generator["subprocess.Popen[str]"]:
        """Run ``words`` in it meanwhile."""
        self._prepare(words, environment)
        command = [oci.runc(), "--root", self.place / "runc", "run", "--bundle", self.place, self.place.name]
        with (self.place / "log").open("w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, text=True)
        try:
            yield process
        finally:
            self.kill("KILL")
            process.wait(60)

    def exec(self, *words: str) -> subprocess.CompletedProcess[str]:
        """As `docker exec`: further words in a container that runs."""
        return self._runc("exec", self.place.name, *words)

    def kill(self, name: str) -> None:
        """As `docker kill`: a signal for its first process."""
        self._runc("kill", self.place.name, name)

    def _runc(self, *words: "str | Path") -> subprocess.CompletedProcess[str]:
        command = [oci.runc(), "--root", self.place / "runc", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    def _prepare(self, words: tuple[str, ...], environment: dict[str, str]) -> None:
        for folder in ("rootfs", "state", "secrets"):
            (self.place / folder).mkdir(exist_ok=True)
        subprocess.run(["chown", str(USER), self.place / "state"], check=True)
        (self.place / "config.json").write_text(json.dumps(self._config(words, environment)))

    def _config(self, words: tuple[str, ...], environment: dict[str, str]) -> dict[str, Any]:
        variables = {
            "PATH": f"{HOME}/bin:{sys.prefix}/bin:/usr/bin:/bin",
            "PYTHONPATH": f"{ROOT / 'src'}",
            "HOME": "/nonexistent",
        }
        variables |= environment
        return {
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": USER, "gid": USER},
                "args": list(words),
                "env": [f"{name}={value}" for name, value in variables.items()],
                "cwd": self.cwd,
                "capabilities": {"bounding": [f"CAP_{name}" for name in CAPABILITIES]},
            },
            "root": {"path": "rootfs", "readonly": True},
            "mounts": [*_system(), *self._files()],
            "linux": {
                "namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")],
                "seccomp": _seccomp(DEPLOY / "seccomp.json" if self.has_flags else oci.default_profile()),
                "maskedPaths": [] if self.has_flags else ["/sys/firmware", *(f"/proc/{name}" for name in MASKED)],
                "readonlyPaths": [] if self.has_flags else [f"/proc/{name}" for name in READ_ONLY],
            },
        }

    def _files(self) -> Iterator[dict[str, Any]]:
        """The distribution, the interpreter and this project in the place of an image, and the folder for state."""
        (self.place / "rootfs" / "usr").mkdir(exist_ok=True)
        for name in ("bin", "lib", "lib64", "sbin"):
            link = self.place / "rootfs" / name
            if not link.is_symlink():
                link.symlink_to(f"usr/{name}")
        for path in dict.fromkeys(("/usr", sys.base_prefix, str(ROOT), str(Path(sys.prefix).resolve()))):
            yield _bind(path, path)
        for path in (Path("/etc", name) for name in ETC):
            if path.exists():
                yield _bind(path.resolve(), path)
        yield _bind(DEPLOY / "container.toml", "/etc/gristmill/gristmill.toml")
        yield _bind(DEPLOY / "entrypoint.sh", f"{HOME}/bin/gristmill")
        yield _bind(Path(sys.executable).with_name("gristmill"), f"{HOME}/libexec/gristmill")
        if self.tini is not None:
            yield _bind(self.tini, f"{HOME}/bin/tini")
        yield _bind(self.place / "secrets", "/run/secrets")
        yield {**_bind(self.place / "state", STATE), "options": ["rbind", "rw"]}


def _bind(source: "str | Path", destination: "str | Path") -> dict[str, Any]:
    return {"destination": str(destination), "type": "bind", "source": str(source), "options": ["rbind", "ro"]}


def _system() -> Iterator[dict[str, Any]]:
    for path, kind, options in (
        ("/proc", "proc", ()),
        ("/dev", "tmpfs", ("nosuid", "mode=755", "size=64k")),
        ("/dev/shm", "tmpfs", ("nosuid", "noexec", "nodev", "mode=1777")),
        ("/sys", "sysfs", ("nosuid", "noexec", "nodev", "ro")),
        ("/tmp", "tmpfs", ("nosuid", "nodev", "mode=1777")),
    ):
        yield {"destination": path, "type": kind, "source": kind, "options": list(options)}


def _seccomp(profile: Path) -> dict[str, Any]:
    """A profile as engines keep it, in the runtime's words: rules for capabilities that nobody has here fall away."""
    kept: dict[str, Any] = json.loads(profile.read_text())
    rules: list[dict[str, Any]] = []
    for rule in kept["syscalls"]:
        wanted: dict[str, Any] = rule.get("includes") or {}
        unwanted: dict[str, Any] = rule.get("excludes") or {}
        is_elsewhere = "amd64" not in wanted.get("arches", ["amd64"]) or "amd64" in unwanted.get("arches", [])
        if not wanted.get("caps") and not is_elsewhere:
            words = {key: rule[key] for key in ("names", "action", "errnoRet") if rule.get(key) is not None}
            rules.append(words | {"args": rule.get("args") or []})
    return {
        "defaultAction": kept["defaultAction"],
        "defaultErrnoRet": kept.get("defaultErrnoRet", 1),
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "syscalls": rules,
    }
