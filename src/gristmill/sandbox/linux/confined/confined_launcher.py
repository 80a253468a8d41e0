"""The launcher of a confined tool server: puts the walls up around itself and becomes the server. Any failure is the end.

argv: the profile (no secrets: paths and a filter), then the server's command. What it says on standard error before it
ends is what the server's state shows.
"""

import os
import resource
import sys

TYPE_CHECKING = False  # as in `typing`, whose loading would cost every start milliseconds
if TYPE_CHECKING:
    from typing import NoReturn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)).removesuffix("/gristmill/sandbox/linux/confined"))

from gristmill.sandbox.linux import landlock, namespaces  # noqa: E402 - made importable above
from gristmill.sandbox.linux.confined import confined_profile as walls  # noqa: E402 - made importable above
from gristmill.sandbox.linux.seccomp import install_filter as seccomp  # noqa: E402 - made importable above

ABI = 6
"""The first Landlock that keeps signals in; files, TCP and abstract sockets came before."""
FAILED = 70


def main() -> None:
    """Confine this process, then run the command in its place."""
    profile, command = walls.read(sys.argv[1:])
    try:
        confine(profile)
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        _end(f"{named}{error.strerror}. {profile.remedy}")
    except ValueError as error:  # what the resource module makes of a limit that cannot be set
        _end(f"{error}. {profile.remedy}")
    try:
        os.execv(command[0], command)
    except OSError as error:
        _end(f"{command[0]}: {error.strerror} (it must be a program, and so must its interpreter)")


def confine(profile: walls.Profile) -> None:
    """Put up every wall of the profile.

    Raises:
        OSError: one of them cannot be had; the caller must exit.
    """
    os.closerange(3, 1 << 16)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    namespaces.no_new_privileges()
    namespaces.drop_capabilities()  # of a gateway that runs as root; without new privileges no exec brings them back
    version = landlock.abi()
    if version < ABI:
        raise OSError(38, f"landlock: version {ABI} is needed, this kernel has {version or 'none'}")
    rules = [landlock.rule(landlock.open_path(path), access, version) for path, access in profile.rules]
    landlock.restrict(rules, version, tcp=not profile.network)
    seccomp.install(profile.filter)


def _end(reason: str) -> "NoReturn":
    print(f"not started, since it cannot be confined: {reason}", file=sys.stderr)
    sys.exit(FAILED)


if __name__ == "__main__":
    main()
