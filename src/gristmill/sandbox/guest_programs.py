"""Programs that run a caller's code in the jail in place of our Python guest: for TypeScript, Deno with our guest script."""

from pathlib import Path

from msgspec import Struct

from gristmill.errors import SandboxUnavailable
from gristmill.model import Isolation, Limits

INSIDE = "/opt/typescript"
INSTALL_COMMAND = "pip install 'gristmill[typescript]'"
_MEGABYTE = 1 << 20


class GuestProgram(Struct, frozen=True, kw_only=True):
    """A program that a sealed child becomes: its files on the host, and how it is started inside."""

    name: str
    executable: str
    """Its path on the host."""
    script: str
    """The folder on the host that holds our guest script."""
    arguments: tuple[str, ...]
    script_name: str
    jit: bool = False
    threads: int = 16
    """The threads that it needs for itself, in addition to those that code may start."""
    base_data: int = 96 * _MEGABYTE
    """The memory that it maps for itself before any code runs."""

    def get_executable(self, level: Isolation) -> str:
        """Returns the path of the executable inside the jail."""
        return f"{INSIDE}/{Path(self.executable).name}" if level == "namespaces" else self.executable

    def get_script_folder(self, level: Isolation) -> str:
        """Returns the folder of the guest script inside the jail."""
        return f"{INSIDE}/guest" if level == "namespaces" else self.script

    def list_binds(self, level: Isolation) -> tuple[tuple[str, str], ...]:
        """Returns the host paths that the program needs, and their names inside."""
        return (
            (self.executable, self.get_executable(level)),
            (self.script, self.get_script_folder(level)),
        )

    def make_command(self, level: Isolation) -> list[str]:
        """Returns the command that the sealed child executes."""
        return [self.get_executable(level), *self.arguments, f"{self.get_script_folder(level)}/{self.script_name}"]


def find_typescript_guest(limits: Limits, *, jit: bool = False) -> GuestProgram:
    """Returns the program that runs TypeScript.

    Without ``jit`` no memory is ever writable and executable: V8 interprets, and the filter of system calls refuses such pages.

    Raises:
        SandboxUnavailable: Deno is not installed.
    """
    try:
        # The extra `typescript` brings it; everything else works without.
        from deno import find_deno_bin  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise SandboxUnavailable(f"TypeScript needs Deno: {INSTALL_COMMAND}") from None
    engine = [f"--max-old-space-size={max(32, limits.memory_mb * 3 // 4)}", "--single-threaded-gc"]
    # Deno's own permissions are a second wall: the jail holds without them.
    arguments = (
        "run", "--no-prompt", "--no-remote", "--no-npm", "--no-config", "--no-lock", "--no-check", "--quiet",
        "--allow-read=.,/tmp", "--allow-write=.,/tmp",
        f"--v8-flags={','.join(engine if jit else [*engine, '--jitless'])}",
    )  # fmt: skip
    return GuestProgram(
        name="typescript", executable=str(Path(find_deno_bin()).resolve()), arguments=arguments, jit=jit,
        script=str(Path(__file__).parents[1] / "guest_typescript"), script_name="guest.js",
        base_data=(640 if jit else 96) * _MEGABYTE,
    )  # fmt: skip
