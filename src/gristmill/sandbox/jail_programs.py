"""Programs of this machine that code in the jail may start, such as a shell: chosen by name, read-only, under the same walls."""

import os
import shutil

from gristmill.errors import SandboxUnavailable

FOLDER = "/usr/bin"
SHELL = "shell"
"""The name that stands for ``SHELL_PROGRAMS``."""
SHELL_PROGRAMS = (
    "[", "awk", "base64", "basename", "bash", "cat", "chmod", "cmp", "comm", "cp", "cut", "date", "diff", "dirname", "du",
    "echo", "env", "expr", "false", "find", "fold", "grep", "gzip", "head", "id", "join", "ln", "ls", "md5sum", "mkdir", "mktemp",
    "mv", "nl", "od", "paste", "printf", "pwd", "readlink", "realpath", "rm", "rmdir", "sed", "seq", "sh", "sha256sum", "sleep",
    "sort", "split", "stat", "tac", "tail", "tar", "tee", "test", "timeout", "touch", "tr", "true", "truncate", "uname", "uniq",
    "wc", "which", "xargs", "yes",
)  # fmt: skip
"""A shell and the small programs that commands are made of. Those that this machine lacks are left out."""
_SEARCHED = "/usr/local/bin:/usr/bin:/bin"


def list_program_binds(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Returns each program's file on this machine and its path in the jail.

    Raises:
        SandboxUnavailable: a program that was named is not installed.
    """
    if not names:
        return ()
    found = {name: path for name in SHELL_PROGRAMS if (path := _find_program(name))} if SHELL in names else {}
    for name in names:
        if name != SHELL:
            found[name] = _require_program(name)
    if SHELL in names:
        _require_program("sh")
    return tuple((path, f"{FOLDER}/{name}") for name, path in sorted(found.items()))


def _require_program(name: str) -> str:
    path = _find_program(name)
    if path is None:
        raise SandboxUnavailable(
            f"sandbox.programs names {name!r}, and this machine has no such program in {_SEARCHED}: "
            "install it, or take it out of the list"
        )
    return path


def _find_program(name: str) -> str | None:
    # Only the system's own folders: what a user may write into must not reach the jail by a name in PATH.
    path = shutil.which(name, path=_SEARCHED)
    return os.path.realpath(path) if path else None
