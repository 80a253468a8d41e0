"""What this room uses of its surroundings, as one value. Light: naming it loads nothing of the MCP SDK."""

import random
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from gristmill.events import Emit, ignore
from gristmill.upstream.base import Ask
from gristmill.upstream.breaker import Dice
from gristmill.upstream.secrets import Keyring, no_keyring
from gristmill.upstream.tokens import TokenStore
from gristmill.values import dataclass

Tokens = Callable[[str], TokenStore]
"""A server's name → where its tokens are kept."""


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
    ask: Ask | None = None
    """Answers questions of servers; with none they are told that nobody here can be asked."""
    dice: Dice = random.random
