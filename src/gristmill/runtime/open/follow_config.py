"""Follows the files of a configuration while a gateway is open: a good change is taken into use, a bad one only reported."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from gristmill.config.config_source import ConfigSource, stamp_files
from gristmill.errors import Error
from gristmill.events import ConfigChanged
from gristmill.harmless_text import neutralize_text
from gristmill.runtime.runtime import Runtime

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
"""How often the files are looked at. A change counts when two looks saw the same: an editor may write in several steps."""

Report = Callable[[ConfigChanged], None]


class ConfigFollower:
    """Compares the files with what they were, and changes the runtime when they differ."""

    def __init__(self, runtime: Runtime, source: ConfigSource, report: Report) -> None:
        self._runtime, self._source, self._report = runtime, source, report
        self._used = self._seen = source.stamps

    async def run_forever(self) -> None:
        """Looks at the files at intervals, without end."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Looks at the files once; if they have changed and are at rest, the runtime is changed, or the error reported."""
        stamps = await asyncio.to_thread(stamp_files, self._source.files)
        is_at_rest, self._seen = stamps == self._seen, stamps
        if not is_at_rest or stamps == self._used:
            return
        self._used = stamps
        try:
            change = await self._runtime.change_config(await asyncio.to_thread(self._source.load))
        except Error as error:
            change = ConfigChanged(error=neutralize_text(error.message))
        self._report(change)


@asynccontextmanager
async def follow_config(runtime: Runtime, source: ConfigSource | None, report: Report) -> AsyncGenerator[None]:
    """Follows the files of ``source``, if there is one, while the block runs; passes each change, good or bad, to ``report``."""
    if source is None:
        yield
        return
    following = asyncio.create_task(ConfigFollower(runtime, source, report).run_forever())
    following.add_done_callback(_log_end)
    try:
        yield
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def _log_end(following: "asyncio.Task[None]") -> None:
    if not following.cancelled() and (error := following.exception()) is not None:
        log.error("changes of the configuration take effect at the next start only: %s", type(error).__name__, exc_info=error)


def describe_change(change: ConfigChanged) -> str:
    """Returns a change of the configuration as one sentence for a log."""
    if change.error is not None:
        return f"the configuration was changed and cannot be used; the earlier one stays in force: {change.error}"
    parts = [
        f"{word} {', '.join(names)}"
        for word, names in (("added", change.added), ("removed", change.removed), ("changed", change.changed))
        if names
    ]
    parts += ["the policy is another"] if change.policy else []
    parts += [f"restart to use the new [{'], ['.join(change.waiting)}]"] if change.waiting else []
    return f"the configuration was changed: {'; '.join(parts) or 'nothing that matters'}"
