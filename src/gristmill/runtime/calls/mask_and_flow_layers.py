"""Makes the layers that control data in a run: masks, and rules about what may flow from one server to another."""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from gristmill.config.tree import Config
from gristmill.errors import UpstreamError
from gristmill.guard.mask.mask_bytes import mask_bytes
from gristmill.guard.mask.mask_layer import MaskLayer
from gristmill.guard.policy.flow_rules import FlowLayer, FlowRules
from gristmill.guard.policy.globs import compile_glob
from gristmill.guard.policy.seen_sources import SeenSources, name_files_scope, name_skill_scope
from gristmill.loose_json import as_mapping
from gristmill.model import Handler, Json, ToolCall, ToolResult
from gristmill.runtime.calls.answer_discovery import RESERVED_SERVER
from gristmill.runtime.calls.save_media import SaveMedia, find_saved_files
from gristmill.runtime.execution.execution_state import ExecutionState
from gristmill.upstream.mcp.blob import Blob

MOST_SESSIONS = 1_000
"""Most sessions whose values are remembered for flow rules; the one used longest ago is forgotten first."""


MOST_SAVERS, MOST_NAME = 8, 200
SAVE_SKILL, LOAD_SKILL = f"{RESERVED_SERVER}.skill_save", f"{RESERVED_SERVER}.skill_source"


class SharedFolders(Protocol):
    """The folders of sessions, some of which are shared by branches."""

    def folder_path(self, session: str) -> Path: ...
    def list_sharers(self, session: str) -> tuple[str, ...]: ...


class _SessionSources(Struct):
    """What one session has seen in this process, and which of its sources are stored."""

    flows: FlowRules
    noted: set[str] = field(default_factory=set[str])


class MaskAndFlowLayers:
    """Makes the layers for each run; what flow rules remember belongs to the session."""

    def __init__(self, config: Config, sources: SeenSources, folders: SharedFolders | None = None) -> None:
        """``folders`` knows which sessions work in the same folder; without it every session has its own."""
        self._mask, self._deny, self._sources = config.mask, config.flows.deny, sources
        self._allow_binary = [compile_glob(pattern) for pattern in config.mask.allow_binary]
        self._folders = folders
        self._by_scope: OrderedDict[str, _SessionSources] = OrderedDict()
        self._by_skill: OrderedDict[str, list[FlowRules]] = OrderedDict()
        """By the hash of a skill's content: what the sessions that saved it in this process have seen."""

    def make_mask_layer(self, run: ExecutionState) -> MaskLayer | None:
        """Returns the layer that sends real values out and, in ``full`` mode, masks results; None where masking is off."""
        mode = self._mask.mode
        if mode == "off" or run.redactor is None:
            return None
        return MaskLayer(run.redactor, mode=mode, reveal=_allow_reveal)

    def make_media_layer(self, run: ExecutionState, media: SaveMedia) -> SaveMedia:
        """Returns the layer that saves files; in ``full`` mode it masks the text in them, and withholds other formats."""
        redactor = run.redactor
        if self._mask.mode != "full" or redactor is None:
            return media

        def screen(call: ToolCall, blob: Blob) -> Blob | None:
            if any(pattern.match(call.tool) for pattern in self._allow_binary):
                return blob
            masked = mask_bytes(blob.data, blob.mime, redactor)
            return None if masked is None else Blob(data=masked, mime=blob.mime, uri=blob.uri)

        return replace(media, screen=screen)

    def make_flow_layer(self, run: ExecutionState) -> "WatchFlows | None":
        """Returns the layer with the flow rules of the run's session; None where there are no flow rules."""
        return WatchFlows(self, run) if self._deny else None

    def make_label_layer(self, run: ExecutionState) -> "InheritLabels | None":
        """Returns the layer that lets skills carry what was seen; None where there are no flow rules."""
        return InheritLabels(self, run) if self._deny else None

    async def load_seen(self, run: ExecutionState) -> _SessionSources:
        """Returns what the session of ``run`` has seen; what an earlier process saw is known only by its source tools.

        Sessions that work in the same folder have seen the same: each can read what the other writes.
        """
        scope = self._name_scope(run)
        seen = self._by_scope.get(scope)
        if seen is None:
            before = [tool for each in self._list_scopes(run.space) for tool in await self._sources.list_seen_tools(each)]
            made = _SessionSources(FlowRules(self._deny, resolve=run.unmask_value, seen_before=before), set(before))
            seen = self._by_scope.setdefault(scope, made)
        self._by_scope.move_to_end(scope)
        _drop_oldest(self._by_scope)
        return seen

    async def note_source(self, run: ExecutionState, seen: _SessionSources, tool: str) -> None:
        """Stores that the session sees values of ``tool``, before they are handed over."""
        if tool not in seen.noted and seen.flows.is_source(tool):
            await self._note_tools(run, seen, (tool,))

    async def note_skill(self, run: ExecutionState, skill: str) -> None:
        """Stores what the session has seen as seen by a skill that it is about to save."""
        seen = await self.load_seen(run)
        if seen.noted:
            scope = name_skill_scope(run.execution.identity.tenant, skill)
            await self._sources.record_tools(scope, sorted(seen.noted))

    async def keep_skill_labels(self, run: ExecutionState, content: str) -> None:
        """Remembers who saved a skill with this hash of its content, so that its values are known while this process lives."""
        seen, savers = await self.load_seen(run), self._by_skill.setdefault(content, [])
        if seen.flows not in savers:
            savers.append(seen.flows)
        del savers[:-MOST_SAVERS]
        _drop_oldest(self._by_skill)

    async def inherit_skill(self, run: ExecutionState, skill: str, content: str) -> None:
        """Adds what was seen by the sessions that saved a skill to what the session of ``run`` has seen."""
        tools = await self._sources.list_seen_tools(name_skill_scope(run.execution.identity.tenant, skill))
        if not tools:
            return
        seen, savers = await self.load_seen(run), self._by_skill.get(content)
        if savers is None:  # saved by another process: its values are not known here, so every value may be one of them
            seen.flows.inherit(tools)
        for flows in savers or ():
            seen.flows.inherit(tools, flows)
        if savers is None or any(flows is not seen.flows for flows in savers):
            await self._note_tools(run, seen, tools)

    async def branch_session(self, space: str, new: str) -> None:
        """Copies what a session has seen to its branch ``new``."""
        if not self._deny:
            return
        tools = {tool for scope in self._list_scopes(space) for tool in await self._sources.list_seen_tools(scope)}
        if tools:
            await self._sources.record_tools(new, sorted(tools))

    def forget_session(self, space: str) -> None:
        """Forgets a session that has ended."""
        self._by_scope.pop(self._name_files(space), None)

    async def pass_on_seen(self, run: ExecutionState, space: str) -> None:
        """Copies what a run without a session has seen to the session that holds its saved files, by the session's key."""
        seen = self._by_scope.get(self._name_scope(run))
        if run.space is None and seen is not None and seen.noted:
            await self._sources.record_tools(self._list_scopes(space), sorted(seen.noted))

    async def _note_tools(self, run: ExecutionState, seen: _SessionSources, tools: Sequence[str]) -> None:
        if run.space:
            # A run without a session reads its values again when it is resumed: nothing has to be stored.
            await self._sources.record_tools(self._list_scopes(run.space), tools)
        seen.noted.update(tools)

    def _list_scopes(self, space: str | None) -> tuple[str, ...]:
        """Returns the scopes under which it is stored what a session has seen: its own, and those of its folder."""
        if space is None:
            return ()
        folders = self._folders.list_sharers(space) if self._folders else (space,)
        return space, *map(name_files_scope, folders)

    def _name_scope(self, run: ExecutionState) -> str:
        return self._name_files(run.space) if run.space else f"run {run.root}"

    def _name_files(self, space: str) -> str:
        return name_files_scope(self._folders.folder_path(space).name if self._folders else space)


class WatchFlows(Struct, frozen=True):
    """A layer that loads what its session has seen at the first call."""

    layers: MaskAndFlowLayers
    run: ExecutionState
    loaded: list[_SessionSources] = field(default_factory=list[_SessionSources])
    """What the session has seen, once it is loaded: a run that goes on does not forget it, whatever others run meanwhile."""

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Refuses the call, or passes it on and remembers its source.

        Raises:
            CallRefused: a flow rule forbids the call.
            StoreUnavailable: it cannot be stored which values the session has seen.
        """
        if not self.loaded:
            self.loaded.append(await self.layers.load_seen(self.run))
        seen = self.loaded[0]
        try:
            result = await FlowLayer(seen.flows)(call, proceed)
        except UpstreamError:
            await self.layers.note_source(self.run, seen, call.tool)
            raise
        if not find_saved_files(result.value) <= result.files.keys():
            # An answer on record names files that are not sent again: what is in them is not known here.
            seen.flows.mark_unknown(call.tool)
        await self.layers.note_source(self.run, seen, call.tool)
        return result


class InheritLabels(Struct, frozen=True):
    """A layer for skills: what was seen goes with a skill that is saved, and comes with a skill that is loaded."""

    layers: MaskAndFlowLayers
    run: ExecutionState

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Passes the call on; before a skill is saved, and before the code gets one, it is stored what was seen.

        Raises:
            StoreUnavailable: it cannot be stored.
        """
        name = call.arguments.get("name")
        if call.tool not in (SAVE_SKILL, LOAD_SKILL) or not isinstance(name, str):
            return await proceed(call)
        if call.tool == SAVE_SKILL:
            await self.layers.note_skill(self.run, name[:MOST_NAME])
        result = await proceed(call)
        value: Json = result.value
        row = as_mapping(value)
        if result.is_error or "hash" not in row or row.get("level") == "session":
            return result  # a skill of the session stays in it
        if call.tool == SAVE_SKILL:
            await self.layers.keep_skill_labels(self.run, str(row["hash"]))
        else:
            await self.layers.inherit_skill(self.run, name[:MOST_NAME], str(row["hash"]))
        return result


def _drop_oldest(kept: OrderedDict[str, Any]) -> None:
    while len(kept) > MOST_SESSIONS:
        kept.popitem(last=False)


def _allow_reveal(_call: ToolCall) -> bool:
    """Allows every call to reveal values: a call that reaches the innermost layer has passed every rule."""
    return True
