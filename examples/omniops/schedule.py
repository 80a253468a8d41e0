"""``python -m examples.omniops.schedule``: the sync with the supplier, every day through the gateway, or once with ``--once``.

Without ``--apply`` it compares and shows. With it every difference is written, after a person has approved it:
``gristmill approvals``.
"""

import argparse
import asyncio
import json
import signal
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import cast

from examples.omniops.scheduled_sync import ScheduledSync, SyncResult, SyncRun
from examples.omniops.seed import LAST_SYNC
from examples.opening import app_config
from gristmill import Runtime
from gristmill.errors import Error

COMPARE = """from servers import shop_commerce
shop_commerce.sync_products(last_sync=context.since)
"""
APPLY = """from servers import shop_commerce
shop_commerce.sync_products(last_sync=context.since, apply=True)
"""
STATE = Path("~/.local/state/gristmill-omniops")


class GatewaySync:
    """Runs the sync as a program of the gateway, so that its policy, its limits and its records hold for it too."""

    def __init__(self, runtime: Runtime, *, apply: bool = False) -> None:
        self._runtime, self._apply = runtime, apply

    async def run(self, since: str, waiting: SyncResult | None) -> SyncResult:
        """Compares or writes what changed since a day; a plan that waits is looked at first."""
        try:
            resume = None
            if waiting is not None:
                match (await self._runtime.approvals.get(waiting.plan or "")).standing:
                    case "pending":
                        return waiting
                    case "denied":
                        return SyncResult(status="denied", error="the approver said no", plan=waiting.plan)
                    case "approved":
                        resume = waiting.execution
                    case _:
                        pass  # it expired: what is found now makes a new plan
            code = None if resume else (APPLY if self._apply else COMPARE)
            context = None if resume else {"since": since}
            outcome = await self._runtime.execute(code, context=context, resume=resume, caller="schedule")
        except Error as error:
            return SyncResult(status="failed", error=f"{error.code}: {error.message}")
        if outcome.plan is not None:
            return SyncResult(status="waiting", execution=outcome.id, plan=outcome.plan.id)
        if outcome.status != "ok":
            return SyncResult(status="failed", error=(outcome.error_text or outcome.status)[-500:])
        return SyncResult(status="ok", summary=outcome.result)


def _tell(run: SyncRun) -> None:
    line = {"at": run.at.isoformat(timespec="seconds"), "since": run.since, "status": run.result.status}
    more = {"error": run.result.error, "plan": run.result.plan, "summary": run.result.summary}
    print(json.dumps({**line, **{name: value for name, value in more.items() if value is not None}}), flush=True)
    if run.result.status == "waiting":
        print(f"approve it with: gristmill approvals approve {run.result.plan}", flush=True)


async def main() -> int:
    """Runs until it is told to end."""
    parser = argparse.ArgumentParser(prog="python -m examples.omniops.schedule", description=__doc__)
    parser.add_argument("--every-hours", type=float, default=24.0, help="how often (default: once a day)")
    parser.add_argument("--since", default=LAST_SYNC, help="day of the last sync by hand, for the first run")
    parser.add_argument("--apply", action="store_true", help="write the differences, after approval")
    parser.add_argument("--once", action="store_true", help="sync now, then end")
    parser.add_argument("--state", type=Path, default=STATE, help=f"folder for what outlives the process (default: {STATE})")
    chosen = parser.parse_args()
    folder = cast("Path", chosen.state).expanduser()
    async with Runtime.open(app_config("omniops", state=folder / "gateway")) as runtime:
        sync = GatewaySync(runtime, apply=chosen.apply)
        try:
            schedule = ScheduledSync(
                sync.run, folder / "sync.json", since=chosen.since, every=timedelta(hours=chosen.every_hours)
            )
            if chosen.once:
                run = await schedule.run_once()
                _tell(run)
                return 0 if run.result.status in ("ok", "waiting") else 1
            running = asyncio.create_task(schedule.run_forever(_tell))
            for name in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(name, running.cancel)
            with suppress(asyncio.CancelledError):
                await running
        except ValueError as error:
            parser.error(str(error))
    return 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
