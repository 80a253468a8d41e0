"""Examines the sandbox of this machine: what the kernel offers, and whether each promise of the isolation holds."""

import asyncio
from typing import Any

from gristmill.config.tree import Config
from gristmill.errors import Error
from gristmill.model import Json
from gristmill.runtime.open.sandboxes.open_sandboxes import open_pool, plan_configured_jail
from gristmill.sandbox.jails.template_process import convert_plan_to_json
from gristmill.sandbox.kernel_probe import probe_kernel
from gristmill.sandbox.selfcheck import run_selfcheck


def describe_jail_plan(config: Config) -> Json:
    """Returns the steps that build the configured sandbox, as JSON."""
    return convert_plan_to_json(plan_configured_jail(config))


async def check_sandbox(config: Config) -> dict[str, Any]:
    """Opens the configured sandbox, tries to break each of its promises, and returns what was seen."""
    offer = await asyncio.to_thread(probe_kernel)
    found: dict[str, Any] = {
        "configured": config.sandbox.isolation,
        "offered": list(offer.levels),
        "features": {name: reason or "ok" for name, reason in offer.features.items()},
        "landlock_abi": offer.landlock_abi,
        "machine": offer.machine,
    }
    try:
        pool = await open_pool(config)
    except Error as error:
        return {**found, "ok": False, "isolation": None, "error": error.message}
    try:
        answers = [answer async for answer in run_selfcheck(pool, config.sandbox.limits.to_limits())]
        return {
            **found,
            "ok": all(answer.held for answer in answers),
            "isolation": pool.isolation,
            "cgroups": {"version": pool.cgroups.version, "reason": pool.cgroups.reason or None},
            "limits": config.sandbox.limits.model_dump(),
            "missing_modules": list(pool.missing_modules),
            "checks": [{"promise": a.promise, "held": a.held, "seen": a.seen} for a in answers],
        }
    finally:
        await pool.close()
