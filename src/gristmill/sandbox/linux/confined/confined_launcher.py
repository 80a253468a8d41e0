"""The launcher of a confined tool server: it confines itself and then becomes the server. Any failure ends it.

argv: the profile (paths and a filter, no secrets), then the server's command. What it prints to standard error before it ends is
shown as the server's error.
"""

import os
import resource
import sys

TYPE_CHECKING = False  # as in `typing`, whose import would add milliseconds to every start
if TYPE_CHECKING:
    from typing import NoReturn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)).removesuffix("/gristmill/sandbox/linux/confined"))

from gristmill.sandbox.linux import landlock, namespaces  # noqa: E402 - made importable above
from gristmill.sandbox.linux.confined import confined_profile as walls  # noqa: E402 - made importable above
from gristmill.sandbox.linux.seccomp import install_filter as seccomp  # noqa: E402 - made importable above

LEAST_ABI = 6
"""The first Landlock version that also restricts signals; files, TCP and abstract sockets came in earlier versions."""
EXIT_FAILED = 70


def main() -> None:
    """Confines this process, then runs the command in its place."""
    profile, command = walls.read_profile(sys.argv[1:])
    try:
        confine_process(profile)
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        _exit_with_reason(f"{named}{error.strerror}. {profile.remedy}")
    except ValueError as error:  # the resource module raises this for a limit that cannot be set
        _exit_with_reason(f"{error}. {profile.remedy}")
    try:
        os.execv(command[0], command)
    except OSError as error:
        _exit_with_reason(f"{command[0]}: {error.strerror} (it must be a program, and so must its interpreter)")


def confine_process(profile: walls.ConfinedProfile) -> None:
    """Applies every restriction of the profile.

    Raises:
        OSError: one of them is not available; the caller must exit.
    """
    os.closerange(3, 1 << 16)
    os.umask(os.umask(0o022) | 0o022)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    version = landlock.read_abi()
    if version < LEAST_ABI:
        raise OSError(38, f"landlock: version {LEAST_ABI} is needed, this kernel has {version or 'none'}")
    if profile.user is not None:
        namespaces.become_user(*profile.user)  # before the paths are opened: /proc/self belongs to the new user then
    namespaces.forbid_new_privileges()
    namespaces.drop_capabilities()  # if the gateway runs as root; without new privileges no exec brings them back
    rules = [landlock.make_rule(landlock.open_path(path), access, version) for path, access in profile.rules]
    landlock.restrict_process(rules, version, tcp=not profile.network)
    seccomp.install_filter(profile.filter)


def _exit_with_reason(reason: str) -> "NoReturn":
    print(f"not started, since it cannot be confined: {reason}", file=sys.stderr)
    sys.exit(EXIT_FAILED)


if __name__ == "__main__":
    main()
