"""Every opened room as one value."""

import re
from dataclasses import field

from gristmill.config import Config
from gristmill.ledger.spent import Spent
from gristmill.runtime.broker import Broker
from gristmill.runtime.callers import Callers
from gristmill.runtime.check import Checks
from gristmill.runtime.desk import Desk
from gristmill.runtime.difference import Differences
from gristmill.runtime.discover import Discovery
from gristmill.runtime.instances import Instances
from gristmill.runtime.keeping import Keeping
from gristmill.runtime.library import Library
from gristmill.runtime.present import Presenter
from gristmill.runtime.recorder import Recorder
from gristmill.runtime.searches import Searches
from gristmill.runtime.shields import Shields
from gristmill.sandbox.base import Pool
from gristmill.sandbox.kept import Kept
from gristmill.session.sessions import SessionRecord
from gristmill.upstream.base import Upstreams
from gristmill.values import dataclass

_TOOLS = re.compile(r"\b(servers|mcp_client|skills)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """What an execution needs."""

    config: Config
    pool: Pool
    kept: Kept
    keeping: Keeping
    upstreams: Upstreams
    library: Library
    discovery: Discovery
    broker: Broker
    desk: Desk
    checks: Checks
    present: Presenter
    recorder: Recorder
    spent: Spent
    differences: Differences
    shields: Shields
    searches: Searches
    instances: Instances
    callers: Callers = field(default_factory=Callers)
    _with_tools: set[str] = field(default_factory=set[str])

    async def forget_session(self, session: SessionRecord) -> None:
        """End a session for good, its interpreter first."""
        await self.kept.drop(session.key)
        self.shields.forget(session.key)
        await self.keeping.sessions.delete(session)

    def may_rehearse(self, space: str, code: str) -> bool:
        """Whether a session's interpreter may have to be set back: only where its code has named tools, and tools may ask."""
        if not len(self.library.catalog):
            return False
        if _TOOLS.search(code):
            self._with_tools.add(space)
        return space in self._with_tools
