"""A container as an engine makes it: a bundle for its runtime, with this project in the place of an image's files."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.deploy.contained import DEPLOY, ROOT
from tests.servers import oci

USER = 10_001
STATE = "/var/lib/gristmill"
ENTRY = str(DEPLOY / "entrypoint.sh")
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

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``words`` in it, to the end."""
        for folder in ("rootfs", "state"):
            (self.place / folder).mkdir(exist_ok=True)
        subprocess.run(["chown", str(USER), self.place / "state"], check=True)
        (self.place / "config.json").write_text(json.dumps(self._config(words, environment)))
        command = [oci.runc(), "--root", self.place / "runc", "run", "--bundle", self.place, self.place.name]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    def _config(self, words: tuple[str, ...], environment: dict[str, str]) -> dict[str, Any]:
        variables = {"PATH": f"{sys.prefix}/bin:/usr/bin:/bin", "PYTHONPATH": f"{ROOT / 'src'}", "HOME": "/nonexistent"}
        variables |= {"GRISTMILL_STORE__PATH": STATE, "GRISTMILL_CONFIG_FOLDER": STATE} | environment
        return {
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": USER, "gid": USER},
                "args": list(words),
                "env": [f"{name}={value}" for name, value in variables.items()],
                "cwd": STATE,
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
        for path in dict.fromkeys(("/usr", "/etc", sys.base_prefix, str(ROOT), str(Path(sys.prefix).resolve()))):
            yield {"destination": path, "type": "bind", "source": path, "options": ["rbind", "ro"]}
        yield {"destination": STATE, "type": "bind", "source": str(self.place / "state"), "options": ["rbind", "rw"]}


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
