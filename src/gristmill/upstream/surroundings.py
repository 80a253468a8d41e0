"""What this room uses of its surroundings, as one value. Light: naming it loads nothing of the MCP SDK."""

import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path

from gristmill.events import Emit, ignore
from gristmill.upstream.base import Ask
from gristmill.upstream.circuit_breaker import Dice
from gristmill.upstream.login.token_store import TokenStore
from gristmill.upstream.secret_references import Keyring, no_keyring
from gristmill.values import dataclass

Tokens = Callable[[str], TokenStore]
"""A server's name → where its tokens are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """What a program is to be confined to. Paths are resolved but not looked at yet."""

    server: str
    program: str
    """The program itself, found on the path."""
    path: str
    """Where it finds others."""
    cwd: Path
    """Where paths that are not absolute begin."""
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """A command that puts the walls up and becomes what follows it, and the folder that is the program's own meanwhile."""

    command: tuple[str, ...]
    folder: Path


Confine = Callable[[Walls], AbstractContextManager[Launcher]]
"""Walls → the launcher of one process; its folder is removed on the way out. Both may take time: run them in a thread."""


def always(_execution: str) -> bool:
    """Somebody listens to every execution."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What this room uses of its surroundings."""

    environ: Mapping[str, str] = field(repr=False)
    cache: Path | None = None
    """Folder for remembered catalogues; none remembers nothing."""
    keyring: Keyring = no_keyring
    tokens: Tokens | None = None
    """Where the tokens of a server's login are kept."""
    emit: Emit = ignore
    heard: Callable[[str], bool] = always
    """Whether somebody listens to this execution; progress that nobody hears is not asked for."""
    confine: Confine | None = None
    """Puts walls around a server's program; with none a server that wants them is not started."""
    ask: Ask | None = None
    """Answers questions of servers; with none they are told that nobody here can be asked."""
    dice: Dice = random.random
