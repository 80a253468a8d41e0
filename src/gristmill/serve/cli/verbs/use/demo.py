"""``gristmill demo``: runs one program in the sandbox and shows its timings and isolation, or runs tasks of an example app."""

import asyncio
import statistics
import time
from typing import Annotated, Any, Literal

import typer
from rich.syntax import Syntax

from gristmill.config.tree import load_config
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
        asyncio.run(_run_demo(json=json))
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


async def _run_demo(*, json: bool) -> None:
    started = time.perf_counter()
    async with Runtime.open(
        load_config(), tools={"shop.list_orders": _list_orders, "shop.get_customer": _get_customer}
    ) as runtime:
        first = await runtime.execute("1 + 1")
        ready = time.perf_counter() - started
        outcome = await runtime.execute(PROGRAM)
        fresh = [await _time_run(runtime, None) for _ in range(ROUNDS)]
        kept = [await _time_run(runtime, "demo") for _ in range(ROUNDS)]
        figures = {
            "ready_ms": round(ready * 1000, 1),
            "fresh_ms": round(statistics.median(fresh) * 1000, 2),
            "kept_ms": round(statistics.median(kept) * 1000, 2),
            "isolation": first.isolation,
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
    out.print("\nNext: `gristmill doctor` checks this machine, `gristmill run FILE` runs your own program.", style="dim")
