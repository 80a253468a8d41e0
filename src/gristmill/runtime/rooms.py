"""All opened rooms as one value."""

import re

from msgspec import Struct, field

from gristmill.config.tree import Config
from gristmill.events import ConfigChanged
from gristmill.ledger.tokens.spent_tokens import SpentTokens
from gristmill.runtime.calls.broker import Broker
from gristmill.runtime.calls.mask_and_flow_layers import MaskAndFlowLayers
from gristmill.runtime.execution.answer.content_masks import ContentMasks
from gristmill.runtime.execution.answer.present_report import Presenter
from gristmill.runtime.execution.intake import Intake
from gristmill.runtime.execution.plan_differences import PlanDifferences
from gristmill.runtime.execution.program.check_code import CodeChecks
from gristmill.runtime.hints.give_hints import HintGiver
from gristmill.runtime.open.change_config import ChangingParts, change_config
from gristmill.runtime.open.ended_sessions import EndedSessions
from gristmill.runtime.open.sandboxes.typescript_sandboxes import TypeScriptSandboxes
from gristmill.runtime.open.session_stores import SessionStores
from gristmill.runtime.recording.record_searches import SearchRecorder
from gristmill.runtime.recording.recorder import Recorder
from gristmill.runtime.tools.discovery import Discovery
from gristmill.runtime.tools.tool_library import ToolLibrary
from gristmill.sandbox.base import Pool
from gristmill.sandbox.pool.kept_interpreters import KeptInterpreters
from gristmill.session.session_register import SessionRecord
from gristmill.store.serving_processes import ServingProcesses
from gristmill.upstream.base import Upstreams
from gristmill.upstream.execution_callers import ExecutionCallers

MOST_SPACES = 1_000
"""How many sessions whose code has named tools are remembered, before those without an interpreter are forgotten."""
_TOOL_MODULES = re.compile(r"\b(servers|mcp_client|skills)\b")


class Rooms(Struct, frozen=True, kw_only=True):
    """Everything that an execution needs, opened."""

    config: Config
    pool: Pool
    interpreters: KeptInterpreters
    typescript: TypeScriptSandboxes
    session_stores: SessionStores
    upstreams: Upstreams
    library: ToolLibrary
    discovery: Discovery
    broker: Broker
    intake: Intake
    check_code: CodeChecks
    presenter: Presenter
    recorder: Recorder
    spent: SpentTokens
    plan_differences: PlanDifferences
    mask_and_flow: MaskAndFlowLayers
    content_masks: ContentMasks
    search_recorder: SearchRecorder
    serving_processes: ServingProcesses
    ended_sessions: EndedSessions
    hints: HintGiver
    callers: ExecutionCallers = field(default_factory=ExecutionCallers)
    _spaces_with_tools: set[str] = field(default_factory=set[str])

    async def change_config(self, before: Config, wanted: Config) -> tuple[Config, ConfigChanged]:
        """Takes the servers and the policy of ``wanted`` into use in place of those of ``before``; see ``change_config``."""
        parts = ChangingParts(
            upstreams=self.upstreams, library=self.library, broker=self.broker, redactors=self.content_masks.redactors,
            metrics=self.recorder.metrics,
        )  # fmt: skip
        return await change_config(parts, before, wanted)

    async def forget_session(self, session: SessionRecord) -> bool:
        """Ends a session for good; returns whether no other process keeps anything of it now."""
        await self.session_stores.sessions.delete(session)
        await self.ended_sessions.drop_key(session.key)
        await self.ended_sessions.sweep()
        unconfirmed = await self.session_stores.endings.list_unconfirmed()
        return not any(session.handle in handles for handles in unconfirmed.values())

    def may_rehearse(self, space: str, code: str) -> bool:
        """Returns whether a session may need to undo a rehearsal: only if its code has named tools, and tools exist."""
        if not len(self.library.catalog):
            return False
        if _TOOL_MODULES.search(code):
            if len(self._spaces_with_tools) >= max(MOST_SPACES, 2 * self.config.sandbox.sessions_kept):
                # Only a session that keeps its variables has something to undo.
                self._spaces_with_tools.intersection_update(self.interpreters.names)
            self._spaces_with_tools.add(space)
        return space in self._spaces_with_tools
