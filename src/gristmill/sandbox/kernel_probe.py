"""Finds out what this kernel offers by trying each feature in a short-lived process, never by guessing from version numbers."""

import json
import platform
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

from gristmill.model import Isolation
from gristmill.sandbox.jail_layout import find_interpreter
from gristmill.sandbox.linux import kernel
from gristmill.sandbox.linux.seccomp import syscall_filters as filters

PROBE_SCRIPT = Path(__file__).parent / "linux" / "try_features.py"
PROBE_SECONDS = 20.0


class KernelOffer(Struct, frozen=True, kw_only=True):
    """The features that were found, and for each missing one the kernel's reason."""

    features: dict[str, str | None]
    landlock_abi: int
    machine: str

    @property
    def levels(self) -> tuple[Isolation, ...]:
        """The isolation levels that are available here, strongest first."""
        found: list[Isolation] = []
        if all(self.features.get(name, "not tried") is None for name in ("namespaces", "landlock", "seccomp")):
            found.append("namespaces")
        if all(self.features.get(name, "not tried") is None for name in ("landlock", "seccomp")):
            found.append("landlock")
        return tuple(found)


REMEDIES = {
    "namespaces": "allow unprivileged user namespaces (`sysctl user.max_user_namespaces=15000`; on Ubuntu "
    "`sysctl kernel.apparmor_restrict_unprivileged_userns=0` or an AppArmor profile with `userns,`; in a container run it with "
    "`--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`), or accept "
    'the weaker level with sandbox.isolation = "landlock"',
    "landlock": "use Linux 5.13 or newer with Landlock enabled (boot parameter `lsm=landlock,...`)",
    "seccomp": "use a kernel with CONFIG_SECCOMP_FILTER on x86_64 or aarch64",
}


def probe_kernel() -> KernelOffer:
    """Tries every feature once."""
    features: dict[str, str | None] = {}
    if sys.platform != "linux" or kernel.MACHINE not in filters.ARCHITECTURES:
        reason = f"{platform.system()} on {kernel.MACHINE} is not supported"
        return KernelOffer(features=dict.fromkeys(REMEDIES, reason), landlock_abi=0, machine=kernel.MACHINE)
    try:
        answer = subprocess.run(
            [find_interpreter(), "-I", "-S", "-B", str(PROBE_SCRIPT)],
            env={},
            cwd="/",
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=True,
        )
        found = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        reason = f"the probe itself failed: {error}"
        return KernelOffer(features=dict.fromkeys(REMEDIES, reason), landlock_abi=0, machine=kernel.MACHINE)
    features = found["features"]
    return KernelOffer(features=features, landlock_abi=found["landlock_abi"], machine=kernel.MACHINE)


def explain_missing_level(offer: KernelOffer, level: Isolation) -> str:
    """Explains why ``level`` is not available and how to get it."""
    needed = ("namespaces", "landlock", "seccomp") if level == "namespaces" else ("landlock", "seccomp")
    lines = [f"the isolation level {level!r} is not available here, so nothing runs:"]
    for name in needed:
        if (reason := offer.features.get(name, "not tried")) is not None:
            lines.append(f"  {name}: {reason}. To grant it: {REMEDIES[name]}.")
    return "\n".join(lines)
