"""What this room needs from outside, as one value. Cheap to import: it does not load the MCP SDK."""

import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from gristmill.events import Emit, ignore_event
from gristmill.upstream.base import Ask
from gristmill.upstream.circuit_breaker import Dice
from gristmill.upstream.login.token_store import TokenStore
from gristmill.upstream.secret_references import Keyring, report_no_keyring

OpenTokenStore = Callable[[str], TokenStore]
"""Takes a server's name; returns the store for its tokens."""


class ProgramConfinement(Struct, frozen=True, kw_only=True):
    """The limits for one confined program. Paths are resolved, but not checked yet."""

    server: str
    program: str
    """Path of the program itself, as found on ``path``."""
    path: str
    """The search path (PATH) on which the program finds other programs."""
    cwd: Path
    """The folder that relative paths start from."""
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: bool = False
    user: str | None = None
    """The user that the program runs as if the gateway runs as root."""


class ConfiningLauncher(Struct, frozen=True, kw_only=True):
    """A command that applies the limits and then becomes the program after it, and a private folder for that program."""

    command: tuple[str, ...]
    folder: Path


Confine = Callable[[ProgramConfinement], AbstractContextManager[ConfiningLauncher]]
"""Takes the limits; returns a context manager with the launcher of one process.

Leaving it removes the launcher's folder. Entering and leaving may block: run them in a thread.
"""


def assume_listener(_execution: str) -> bool:
    """Says of every execution that its events have a receiver."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What this room needs from outside."""

    environ: Mapping[str, str] = field(repr=False)
    cache: Path | None = None
    """Folder for remembered tools; with None, tools are not remembered."""
    env_pass: tuple[str, ...] = ()
    """Patterns of the variables of ``environ`` that every program gets."""
    find_log: Callable[[str], Path] | None = None
    """Returns the file for what a server's program writes to standard error; with None it is not kept."""
    log_bytes: int = 0
    """How much of it is kept."""
    keyring: Keyring = report_no_keyring
    open_token_store: OpenTokenStore | None = None
    """Opens the store for the tokens of a server's login."""
    emit: Emit = ignore_event
    has_listener: Callable[[str], bool] = assume_listener
    """Whether anyone receives the events of this execution. If not, servers are not asked to report progress."""
    confine: Confine | None = None
    """Confines a server's program. With None, a server that is configured to be confined does not start."""
    ask: Ask | None = None
    """Answers questions of servers. With None, servers are told that questions cannot be answered."""
    dice: Dice = random.random
