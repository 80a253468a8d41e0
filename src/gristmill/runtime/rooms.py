"""Every opened room as one value."""

from dataclasses import dataclass

from gristmill.config import Config
from gristmill.model import Handler
from gristmill.sandbox.base import Pool
from gristmill.sandbox.kept import Kept
from gristmill.session.workspace import Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """What an execution needs."""

    config: Config
    pool: Pool
    kept: Kept
    workspaces: Workspaces
    upstream: Handler
