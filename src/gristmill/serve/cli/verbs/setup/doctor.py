"""``gristmill doctor``: checks this machine, and says what is missing and how to fix it."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import to_builtins

from gristmill.config.tree import Config, load_config
from gristmill.runtime.open.open_records import open_config_store, trust_clock
from gristmill.runtime.open.sandboxes.check_sandbox import check_sandbox, describe_jail_plan
from gristmill.runtime.open.sandboxes.open_sandboxes import plan_configured_jail
from gristmill.serve.cli.terminal.print_tables import Column, print_table
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_json, print_server_output, stderr, stdout, style_parts
from gristmill.serve.cli.verb_options import ConfigFile
from gristmill.serve.cli.verbs.setup import doctor_checks

EXIT_CONFIG, EXIT_STATE, EXIT_SERVERS, EXIT_SANDBOX = 2, 1, 5, 6


def doctor(
    plan: Annotated[bool, typer.Option("--plan", help="Print the steps that build the sandbox, and stop.")] = False,
    servers: Annotated[bool, typer.Option("--servers/--no-servers", help="Also connect to every server.")] = True,
    wait: Annotated[float, typer.Option(help="Seconds to wait for the servers.", min=0)] = 30.0,
    trust_clock: Annotated[
        bool, typer.Option("--trust-clock", help="Confirm that the clock of this machine is right, and stop.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Check the configuration, the state folder, the store, each server and the sandbox; say how to fix what is broken.

    Exit codes: 0 everything works, 1 state cannot be stored, 2 the configuration cannot be used, 5 a server is not ready,
    6 the sandbox does not isolate code as promised.

    Example: `gristmill doctor --no-servers`
    """
    if plan:
        _print_jail_plan(load_config(config), json=json)
        return
    if trust_clock:
        asyncio.run(_trust_clock(load_config(config)))
        return
    findings = asyncio.run(_check_everything(config, wait if servers else None))
    if json:
        print_json(findings)
    else:
        _print_findings(findings)
    if not findings["ok"]:
        raise typer.Exit(_choose_exit_code(findings))


async def _trust_clock(settings: Config) -> None:
    async with open_config_store(settings) as store:
        await trust_clock(store)
    typer.echo("the clock is confirmed: every process deletes what is old again, within seconds")


async def _check_everything(config: Path | None, wait: float | None) -> dict[str, Any]:
    """Collects all findings. Those about the sandbox are top-level keys, so that the JSON of earlier releases stays valid."""
    first, settings = doctor_checks.check_config(config)
    if settings is None:
        return {"ok": False, "isolation": None, "error": None, "checkup": [to_builtins(first)], "servers": []}
    state = doctor_checks.check_state(settings)
    rest = [await doctor_checks.check_store(settings)] if state.ok else []
    servers = await doctor_checks.check_servers(settings, wait) if wait is not None and state.ok and settings.servers else []
    sandbox = await check_sandbox(settings) if state.ok else {"ok": False, "isolation": None, "error": None}
    checks = [to_builtins(finding) for finding in (first, state, *rest)]
    is_well = sandbox["ok"] and all(check["ok"] for check in checks) and all(server["ok"] for server in servers)
    return {**sandbox, "ok": is_well, "held": sandbox["ok"], "checkup": checks, "servers": servers}


def _choose_exit_code(findings: dict[str, Any]) -> int:
    broken = {check["name"] for check in findings["checkup"] if not check["ok"]}
    if "config" in broken:
        return EXIT_CONFIG
    if broken:
        return EXIT_STATE
    return EXIT_SERVERS if findings["held"] else EXIT_SANDBOX


def _print_jail_plan(settings: Any, *, json: bool) -> None:
    if json:
        print_json(describe_jail_plan(settings))
    else:
        typer.echo(str(plan_configured_jail(settings)))


def _print_findings(found: dict[str, Any]) -> None:
    for check in found["checkup"]:
        _print_finding(check["name"], ok=check["ok"], seen=check["seen"], fix=check["fix"])
    for server in found["servers"]:
        walls = ", confined" if server["confined"] else ", not confined" if server["kind"] == "stdio" else ""
        seen = f"{server['tools']:,} tools{walls}" if server["ok"] else server["error"] or server["state"]
        _print_finding(f"server {server['name']}", ok=server["ok"], seen=seen, fix=server["fix"])
        print_server_output(stdout(), server["output"])
    if found["isolation"]:
        _print_sandbox(found)
    elif found["error"]:
        stderr().print(style_parts(("no sandbox", "red"), f" {found['error']}"))
    if not found["ok"] and found.get("held"):
        stdout().print("something needs fixing: see above", style="yellow")


def _print_finding(name: str, *, ok: bool, seen: str, fix: str | None) -> None:
    mark = ("ok    ", "green") if ok else ("BROKEN", "red")
    stdout().print(style_parts(mark, "  ", (name, "bold"), f": {seen}"))
    if fix:
        stdout().print(f"        {'tip' if ok else 'fix'}: {neutralize_text(fix)}", style="dim" if ok else "yellow")


def _print_sandbox(found: dict[str, Any]) -> None:
    out = stdout()
    groups = found["cgroups"]
    enforced = {"v1": "memory, processes and CPU share by cgroup v1", "v2": "memory, processes and CPU share by cgroup v2"}
    counted = enforced.get(groups["version"], f"by rlimits and the host's clock; CPU share is not enforced ({groups['reason']})")
    offered = f" (configured: {found['configured']}, offered: {', '.join(found['offered'])})"
    out.print(style_parts("isolation   ", (found["isolation"], "bold"), offered))
    out.print(f"limits      {counted}")
    if groups["version"] == "none" and found["isolation"] == "landlock":
        out.print("            threads (processes) are counted by the host every 25 ms")
    out.print(
        "disk        a session's folder is measured by the host: a run may exceed workspace_mb for a moment, and is then ended"
    )
    out.print(f"kernel      Landlock ABI {found['landlock_abi']}, {found['machine']}")
    for name, state in found["features"].items():
        out.print(f"            {name}: {neutralize_text(state)}")
    if found["missing_modules"]:
        out.print(f"preload     not installed: {', '.join(found['missing_modules'])}")
    print_table(
        (Column(title="", kind="fixed"), "self-check", "seen"),
        [
            (("held", "green") if check["held"] else ("BROKEN", "red"), check["promise"], check["seen"])
            for check in found["checks"]
        ],
    )
    if found["held"]:
        out.print("the sandbox keeps every promise", style="green")
    else:
        out.print("at least one promise is broken: do not run code here", style="red")
