"""Every opened room as one value."""

from dataclasses import dataclass, field

from gristmill.config import Config
from gristmill.model import Layer
from gristmill.runtime.callers import Callers
from gristmill.runtime.discover import Discovery
from gristmill.runtime.library import Library
from gristmill.sandbox.base import Pool
from gristmill.sandbox.kept import Kept
from gristmill.session.workspace import Workspaces
from gristmill.upstream.base import Upstreams


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """What an execution needs."""

    config: Config
    pool: Pool
    kept: Kept
    workspaces: Workspaces
    upstreams: Upstreams
    library: Library
    discovery: Discovery
    layers: tuple[Layer, ...] = ()
    callers: Callers = field(default_factory=Callers)
