"""``gristmill doctor``: what is in force on this machine, what is missing, and how to get it."""

import asyncio
from typing import Annotated, Any

import typer

from gristmill.serve.cli.run import ConfigFile


def doctor(
    plan: Annotated[bool, typer.Option("--plan", help="Print the jail step by step and stop.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Examine this host and the sandbox on it: the isolation level, the limits in force, and a self-check that must pass.

    Exit code 0 only if code would run with the isolation that the configuration promises.
    """
    from gristmill.config import load_config
    from gristmill.serve.cli.terminal import print_json

    settings = load_config(config)
    if plan:
        _print_plan(settings, json=json)
        return
    findings = asyncio.run(_examine(settings))
    if json:
        print_json(findings)
    else:
        _show(findings)
    if not findings["ok"]:
        raise typer.Exit(6)


def _print_plan(settings: Any, *, json: bool) -> None:
    from gristmill.runtime.build import planned
    from gristmill.sandbox.template import as_json
    from gristmill.serve.cli.terminal import print_json

    steps = planned(settings)
    if json:
        print_json(as_json(steps))
    else:
        typer.echo(str(steps))


async def _examine(settings: Any) -> dict[str, Any]:
    from gristmill.errors import Error
    from gristmill.runtime.build import open_pool
    from gristmill.sandbox.probe import probe
    from gristmill.sandbox.selfcheck import selfcheck

    offer = await asyncio.to_thread(probe)
    found: dict[str, Any] = {
        "configured": settings.sandbox.isolation,
        "offered": list(offer.levels),
        "features": {name: reason or "ok" for name, reason in offer.features.items()},
        "landlock_abi": offer.landlock_abi,
        "machine": offer.machine,
    }
    try:
        pool = await open_pool(settings)
    except Error as error:
        return {**found, "ok": False, "isolation": None, "error": error.message}
    try:
        answers = [answer async for answer in selfcheck(pool, settings.sandbox.limits.values())]
        return {
            **found,
            "ok": all(answer.held for answer in answers),
            "isolation": pool.isolation,
            "cgroups": {"version": pool.cgroups.version, "reason": pool.cgroups.reason or None},
            "limits": settings.sandbox.limits.model_dump(),
            "missing_modules": list(pool.missing),
            "checks": [{"promise": a.promise, "held": a.held, "seen": a.seen} for a in answers],
        }
    finally:
        await pool.close()


def _show(found: dict[str, Any]) -> None:
    from rich.table import Table

    from gristmill.serve.cli.terminal import harmless, stderr, stdout

    out = stdout()
    if not found["isolation"]:
        stderr().print(f"[red]no sandbox[/] {harmless(found['error'])}")
        return
    groups = found["cgroups"]
    enforced = {"v1": "memory, processes and CPU share by cgroup v1", "v2": "memory, processes and CPU share by cgroup v2"}
    counted = enforced.get(groups["version"], f"by rlimits and the host's clock; CPU share is not enforced ({groups['reason']})")
    out.print(
        f"isolation   [bold]{found['isolation']}[/] (configured: {found['configured']}, offered: {', '.join(found['offered'])})"
    )
    out.print(f"limits      {counted}")
    out.print(f"kernel      Landlock ABI {found['landlock_abi']}, {found['machine']}")
    for name, state in found["features"].items():
        out.print(f"            {name}: {harmless(state)}")
    if found["missing_modules"]:
        out.print(f"preload     not installed: {', '.join(found['missing_modules'])}")
    table = Table("", "self-check", "seen", box=None, pad_edge=False)
    for check in found["checks"]:
        mark = "[green]held[/]" if check["held"] else "[red]BROKEN[/]"
        table.add_row(mark, check["promise"], harmless(check["seen"])[:60])
    out.print(table)
    out.print("[green]all promises held[/]" if found["ok"] else "[red]at least one promise is broken: do not run code here[/]")
