"""``gristmill doctor``: what is in force on this machine, what is missing, and how to get it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gristmill.serve.cli.verbs.use.run import ConfigFile

if TYPE_CHECKING:
    from pathlib import Path

EXIT_CONFIG, EXIT_STATE, EXIT_SERVERS, EXIT_SANDBOX = 2, 1, 5, 6


def doctor(
    plan: Annotated[bool, typer.Option("--plan", help="Print the jail step by step and stop.")] = False,
    servers: Annotated[bool, typer.Option("--servers/--no-servers", help="Connect to every server.")] = True,
    wait: Annotated[float, typer.Option(help="Seconds that the servers have to become ready.", min=0)] = 30.0,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Examine everything: the configuration, where state lives, each server, the isolation, and a self-check that must pass.

    What is broken is shown with what to do about it. Exit code 0 only if all is well; 2 the configuration cannot be used, 6 code
    would not run with the isolation that it promises, 1 state cannot be kept, 5 a server is not ready.

    Example: `gristmill doctor --no-servers`
    """
    import asyncio

    from gristmill.serve.cli.terminal.safe_output import print_json

    if plan:
        from gristmill.config.tree import load_config

        _print_plan(load_config(config), json=json)
        return
    findings = asyncio.run(_everything(config, wait if servers else None))
    if json:
        print_json(findings)
    else:
        _show(findings)
    if not findings["ok"]:
        raise typer.Exit(_exit_code(findings))


async def _everything(config: "Path | None", wait: float | None) -> dict[str, Any]:
    """All findings; those about the sandbox stand at the top, where they always stood."""
    from dataclasses import asdict

    from gristmill.serve.cli.verbs.setup import doctor_checks as checkup

    first, settings = checkup.look_at_config(config)
    if settings is None:
        return {"ok": False, "isolation": None, "error": None, "checkup": [asdict(first)], "servers": []}
    state = checkup.look_at_state(settings)
    rest = [await checkup.look_at_store(settings)] if state.ok else []
    servers = await checkup.look_at_servers(settings, wait) if wait is not None and state.ok and settings.servers else []
    sandbox = await _examine(settings) if state.ok else {"ok": False, "isolation": None, "error": None}
    checks = [asdict(finding) for finding in (first, state, *rest)]
    is_well = sandbox["ok"] and all(check["ok"] for check in checks) and all(server["ok"] for server in servers)
    return {**sandbox, "ok": is_well, "held": sandbox["ok"], "checkup": checks, "servers": servers}


def _exit_code(findings: dict[str, Any]) -> int:
    broken = {check["name"] for check in findings["checkup"] if not check["ok"]}
    if "config" in broken:
        return EXIT_CONFIG
    if broken:
        return EXIT_STATE
    return EXIT_SERVERS if findings["held"] else EXIT_SANDBOX


def _print_plan(settings: Any, *, json: bool) -> None:
    from gristmill.runtime.open.open_sandboxes import planned
    from gristmill.sandbox.pool.template_process import as_json
    from gristmill.serve.cli.terminal.safe_output import print_json

    steps = planned(settings)
    if json:
        print_json(as_json(steps))
    else:
        typer.echo(str(steps))


async def _examine(settings: Any) -> dict[str, Any]:
    import asyncio

    from gristmill.errors import Error
    from gristmill.runtime.open.open_sandboxes import open_pool
    from gristmill.sandbox.kernel_probe import probe
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
    from gristmill.serve.cli.terminal.safe_output import harmless, stderr, stdout

    for check in found["checkup"]:
        _line(check["name"], ok=check["ok"], seen=check["seen"], fix=check["fix"])
    for server in found["servers"]:
        walls = ", confined" if server["confined"] else ", not confined" if server["kind"] == "stdio" else ""
        seen = f"{server['tools']:,} tools{walls}" if server["ok"] else server["error"] or server["state"]
        _line(f"server {server['name']}", ok=server["ok"], seen=seen, fix=server["fix"])
    if found["isolation"]:
        _show_sandbox(found)
    elif found["error"]:
        stderr().print(f"[red]no sandbox[/] {harmless(found['error'])}")
    if not found["ok"] and found.get("held"):
        stdout().print("[yellow]something is not well: see above[/]")


def _line(name: str, *, ok: bool, seen: str, fix: str | None) -> None:
    from rich.markup import escape

    from gristmill.serve.cli.terminal.safe_output import harmless, stdout

    mark = "[green]ok[/]    " if ok else "[red]BROKEN[/]"
    stdout().print(f"{mark}  [bold]{escape(name)}[/]: {escape(harmless(seen))}")
    if fix:
        stdout().print(f"        {'tip' if ok else 'fix'}: {escape(harmless(fix))}", style="dim" if ok else "yellow")


def _show_sandbox(found: dict[str, Any]) -> None:
    from rich.table import Table

    from gristmill.serve.cli.terminal.safe_output import harmless, stdout

    out = stdout()
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
    out.print("[green]all promises held[/]" if found["held"] else "[red]at least one promise is broken: do not run code here[/]")
