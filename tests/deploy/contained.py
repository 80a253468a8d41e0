"""What a container engine puts around a program, made with the kernel's own means: there is no engine where tests run.

A mount namespace with a read-only root and a writable state folder, /proc masked or not, no capabilities, no new privileges, a
nameless user, and the shipped profile of system calls.
"""

import json
import os
import shlex
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gristmill.sandbox.linux import kernel
from gristmill.sandbox.linux.seccomp import install_filter as seccomp
from gristmill.sandbox.linux.seccomp import syscall_filters as filters

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
USER = 65_534
ERRNO, KILL = 0x0005_0000, 0x8000_0000
"""What a filter answers: an error, or death."""
MASK = """
for file in kcore keys timer_list; do [ -e /proc/$file ] && mount --bind /dev/null /proc/$file; done
for folder in acpi scsi; do [ -d /proc/$folder ] && mount -t tmpfs -o ro tmpfs /proc/$folder; done
for path in bus fs irq sys sysrq-trigger; do
    [ -e /proc/$path ] && mount --bind /proc/$path /proc/$path && mount -o remount,bind,ro /proc/$path
done
true
"""
"""What engines do to /proc unless they are told `systempaths=unconfined`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A place to run programs in. Without ``has_flags`` it is what an engine makes by default."""

    state: Path
    has_flags: bool = True

    def command(self, *words: str) -> list[str]:
        """The command that runs ``words`` inside."""
        steps = [
            "set -e",
            "mount --make-rprivate /",
            *_opened(self.state),
            *([] if self.has_flags else [MASK]),
            *_read_only(self.state),
        ]
        setpriv = f"exec setpriv --reuid {USER} --regid {USER} --clear-groups --bounding-set -all --inh-caps -all --no-new-privs"
        inside = [sys.executable, "-m", "tests.deploy.contained", *words]
        return ["unshare", "--mount", "sh", "-c", "\n".join([*steps, f"{setpriv} {shlex.join(inside)}"])]

    def environment(self, **more: str) -> dict[str, str]:
        """Nothing of ours gets in but this; there is no home."""
        paths = {
            "PATH": f"{ROOT / '.venv' / 'bin'}:/usr/bin:/bin",
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
            "HOME": "/nonexistent",
        }
        return {**paths, "GRISTMILL_STORE__PATH": str(self.state), "GRISTMILL_CONFIG_FOLDER": str(self.state), **more}

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run to the end."""
        return subprocess.run(
            self.command(*words), env=self.environment(**more), capture_output=True, text=True, timeout=60, check=False
        )  # fmt: skip


def image(folder: Path, program: Path | None = None) -> str:
    """The image's `gristmill` in ``folder``, laid out as there, with ours or another ``program`` behind it."""
    for name, target in (("bin", DEPLOY / "entrypoint.sh"), ("libexec", program or Path(sys.executable).with_name("gristmill"))):
        (folder / name).mkdir()
        (folder / name / "gristmill").symlink_to(target)
    return str(folder / "bin" / "gristmill")


def can_contain() -> bool:
    """Whether this machine lets us."""
    return os.geteuid() == 0 and all(shutil.which(name) for name in ("unshare", "setpriv", "mount"))


def _opened(state: Path) -> list[str]:
    """An image's interpreter can be reached by everybody; one below root's home cannot, so another home is put there."""
    closed = [parent for parent in Path(sys.base_prefix).parents if not parent.stat().st_mode & 0o001]
    if not closed:
        return []
    home, prefix, stage = closed[-1], sys.base_prefix, state.parent / "stage"
    stage.mkdir(exist_ok=True)
    return [
        f"mount -t tmpfs tmpfs {stage}", f"mkdir {stage}/prefix", f"mount --bind {prefix} {stage}/prefix",
        f"mount -t tmpfs -o mode=755 tmpfs {home}", f"mkdir -p {prefix}", f"mount --move {stage}/prefix {prefix}",
    ]  # fmt: skip


def _read_only(state: Path) -> list[str]:
    return [f"mount --bind {state} {state}", "mount -o remount,bind,ro /"]


def refuse(names: Iterable[str], answer: int) -> bytes:
    """A filter that allows everything but the calls of these names."""
    numbers = sorted(kernel.NUMBERS[name] for name in names if name in kernel.NUMBERS)
    program = [(filters.LOAD, 0, 0, filters.NUMBER)]
    program += [(filters.EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    program += [(filters.RETURN, 0, 0, filters.ALLOW), (filters.RETURN, 0, 0, answer)]
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


if __name__ == "__main__":
    (rule,) = json.loads((DEPLOY / "seccomp.json").read_text())["syscalls"]
    seccomp.install_filter(refuse(rule["names"], ERRNO | rule["errnoRet"]))
    os.execvp(sys.argv[1], sys.argv[1:])
