"""Every opened room as one value."""

import re
from dataclasses import field

from gristmill.config.tree import Config
from gristmill.ledger.tokens.spent_tokens import Spent
from gristmill.runtime.calls.broker import Broker
from gristmill.runtime.calls.mask_and_flow_layers import Shields
from gristmill.runtime.execution.check_code import Checks
from gristmill.runtime.execution.intake import Desk
from gristmill.runtime.execution.plan_differences import Differences
from gristmill.runtime.execution.present_report import Presenter
from gristmill.runtime.open.session_stores import Keeping
from gristmill.runtime.recording.record_searches import Searches
from gristmill.runtime.recording.recorder import Recorder
from gristmill.runtime.tools.discovery import Discovery
from gristmill.runtime.tools.tool_library import Library
from gristmill.sandbox.base import Pool
from gristmill.sandbox.pool.kept_interpreters import Kept
from gristmill.session.session_register import SessionRecord
from gristmill.store.serving_processes import Instances
from gristmill.upstream.base import Upstreams
from gristmill.upstream.execution_callers import Callers
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
