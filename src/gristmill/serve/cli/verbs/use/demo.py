"""``gristmill demo``: runs one program in the sandbox and shows its timings and isolation, or runs tasks of an example app."""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.syntax import Syntax

from gristmill.config.tree import Config, SandboxConfig, StoreConfig, load_config
from gristmill.runtime.runtime import Runtime
from gristmill.serve.cli.terminal.safe_output import neutralize_text, outcome_to_json, print_json, stdout, summarize_outcome
from gristmill.serve.cli.verbs.use.demo_apps import show_apps

PROGRAM = """\
from servers import shop
import asyncio

orders = shop.list_orders(days=30)                       # 2,000 rows stay in here
late = [order for order in orders if order["days"] > 7]
customers = await asyncio.gather(*[shop.get_customer(order["customer"]) for order in late[:20]])

by_country = {}
for order, customer in zip(late, customers):
    by_country[customer["country"]] = by_country.get(customer["country"], 0) + order["total"]
print(f"{len(orders)} orders, {len(late)} late")
{country: round(total, 2) for country, total in sorted(by_country.items())}
"""
ROUNDS = 100


App = Literal["pam", "homeiq", "omniops", "all"]


def demo(
    app: Annotated[
        App | None, typer.Option(help="Run tasks of an example app and count their tokens; needs a checkout of the repository.")
    ] = None,
    tasks: Annotated[int, typer.Option(help="How many tasks to run, with --app.", min=1)] = 6,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """See what Gristmill does: a program joins 2,000 rows from two tools, and only a few lines go back to the model.

    With `--app` the servers of an example app are started and its questions are answered live in three ways (a program, direct
    tool calls, search then calls), to compare the tokens.

    Example: `gristmill demo --app homeiq`
    """
    if app is None:
        _run_demo(json=json)
        return
    asyncio.run(show_apps(app, tasks, json=json))


def _list_orders(days: int) -> list[dict[str, Any]]:
    """Returns a month of orders, always the same ones."""
    return [
        {
            "id": n,
            "customer": n % 97,
            "total": round(5 + (n * 37 % 4_000) / 13, 2),
            "days": n * 7919 % days // 2,
            "note": "x" * 40,
        }
        for n in range(2_000)
    ]


async def _get_customer(customer: int) -> dict[str, Any]:
    """Returns a customer after 20 ms, about the time a real server takes."""
    await asyncio.sleep(0.02)
    return {"id": customer, "name": f"Customer {customer}", "country": "DE FR IT ES".split()[customer % 4]}


def _run_demo(*, json: bool) -> None:
    """Runs the demonstration with a store of its own: the user's statistics, sessions and audit are about their own work."""
    with tempfile.TemporaryDirectory(prefix="gristmill-demo-") as folder:
        Path(folder).chmod(0o755)  # code runs as another user if we are root
        config = Config(store=StoreConfig(path=Path(folder) / "state"), sandbox=_choose_sandbox())
        asyncio.run(_run_in(config, json=json))


def _choose_sandbox() -> SandboxConfig:
    """Returns the sandbox of the configuration here, so that the demonstration shows what it would do."""
    return load_config().sandbox.model_copy(update={"packages": (), "venv": None, "preload_packages": ()})


async def _run_in(config: Config, *, json: bool) -> None:
    started = time.perf_counter()
    async with Runtime.open(
        config, tools={"shop.list_orders": _list_orders, "shop.get_customer": _get_customer}, serving=True
    ) as runtime:
        first = await runtime.execute("1 + 1")
        ready = time.perf_counter() - started
        outcome = await runtime.execute(PROGRAM)
        saved = (await runtime.stats(execution=outcome.id)).savings
        fresh = [await _time_run(runtime, None) for _ in range(ROUNDS)]
        kept = [await _time_run(runtime, "demo") for _ in range(ROUNDS)]
        figures = {
            "ready_ms": round(ready * 1000, 1),
            "fresh_ms": round(statistics.median(fresh) * 1000, 2),
            "kept_ms": round(statistics.median(kept) * 1000, 2),
            "isolation": first.isolation,
            "tokens": {"direct": saved.ways.direct.resent, "code": saved.ways.code.resent},
        }
    if json:
        print_json({"outcome": outcome_to_json(outcome), **figures})
    else:
        _print_demo(outcome, figures)


async def _time_run(runtime: Any, session: str | None) -> float:
    await asyncio.sleep(0.005)  # real callers pause between runs, and the pool refills in the pause
    started = time.perf_counter()
    await runtime.execute("print(1 + 1)", session=session)
    return time.perf_counter() - started


def _print_demo(outcome: Any, figures: dict[str, Any]) -> None:
    out = stdout()
    out.rule("a program, as a model would write it")
    out.print(Syntax(PROGRAM, "python", background_color="default"))
    out.rule("what goes back to the model")
    out.print(neutralize_text(outcome.output.rstrip()))
    out.print(str(outcome.result))
    if outcome.error:
        out.print(neutralize_text(outcome.error), style="red")
    out.print(summarize_outcome(outcome), style="dim")
    out.rule("speed on this machine")
    out.print(f"runtime opened, first result     {figures['ready_ms']:8.1f} ms")
    out.print(f"fresh sandbox, print(1 + 1)      {figures['fresh_ms']:8.2f} ms   (median of {ROUNDS})")
    out.print(f"kept session, print(1 + 1)       {figures['kept_ms']:8.2f} ms   (median of {ROUNDS})")
    out.print(f"isolation                        {figures['isolation']}")
    direct, code = (figures["tokens"][way] for way in ("direct", "code"))
    out.rule("what it saved")
    out.print(f"with direct tool calls a model would have read   {direct:12,} tokens")
    out.print(
        f"with this program it read and wrote             {code:12,} tokens   ({1 - code / max(direct, 1):.1%} fewer)",
        style="bold",
    )
    out.print("\nNext: `gristmill doctor` checks this machine, `gristmill run FILE` runs your own program.", style="dim")
