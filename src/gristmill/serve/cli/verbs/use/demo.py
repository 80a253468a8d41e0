"""``gristmill demo``: one program in the sandbox, shown with its timings and its isolation; or the tasks of an example app."""

import time
from typing import Annotated, Any, Literal

import typer

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
        App | None, typer.Option(help="Show tasks of an example app, with their tokens; needs a checkout of the repository.")
    ] = None,
    tasks: Annotated[int, typer.Option(help="With --app: show so many tasks.", min=1)] = 6,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Show what Gristmill does: a program joins 2,000 rows from two tools, and only a few lines come back.

    With `--app` the servers of an example are started and its questions answered live, each also by direct tool calls and by
    search and calls, to compare the tokens.

    Example: `gristmill demo --app homeiq`
    """
    import asyncio

    if app is None:
        asyncio.run(_demo(json=json))
        return
    from gristmill.serve.cli.verbs.use.demo_apps import show_apps

    asyncio.run(show_apps(app, tasks, json=json))


def _orders(days: int) -> list[dict[str, Any]]:
    """A month of orders, always the same."""
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


async def _customer(customer: int) -> dict[str, Any]:
    """A customer, after the time a real server takes."""
    import asyncio

    await asyncio.sleep(0.02)
    return {"id": customer, "name": f"Customer {customer}", "country": "DE FR IT ES".split()[customer % 4]}


async def _demo(*, json: bool) -> None:
    import statistics

    from gristmill.config.tree import load_config
    from gristmill.runtime.runtime import Runtime
    from gristmill.serve.cli.terminal.safe_output import outcome_fields, print_json

    started = time.perf_counter()
    async with Runtime.open(load_config(), tools={"shop.list_orders": _orders, "shop.get_customer": _customer}) as runtime:
        first = await runtime.execute("1 + 1")
        ready = time.perf_counter() - started
        outcome = await runtime.execute(PROGRAM)
        fresh = [await _timed(runtime, None) for _ in range(ROUNDS)]
        kept = [await _timed(runtime, "demo") for _ in range(ROUNDS)]
        figures = {
            "ready_ms": round(ready * 1000, 1),
            "fresh_ms": round(statistics.median(fresh) * 1000, 2),
            "kept_ms": round(statistics.median(kept) * 1000, 2),
            "isolation": first.isolation,
        }
    if json:
        print_json({"outcome": outcome_fields(outcome), **figures})
    else:
        _show(outcome, figures)


async def _timed(runtime: Any, session: str | None) -> float:
    import asyncio

    await asyncio.sleep(0.005)  # as a model would: code does not come in an unbroken stream, and the pool refills meanwhile
    started = time.perf_counter()
    await runtime.execute("print(1 + 1)", session=session)
    return time.perf_counter() - started


def _show(outcome: Any, figures: dict[str, Any]) -> None:
    from rich.syntax import Syntax

    from gristmill.serve.cli.terminal.safe_output import harmless, stdout, summary

    out = stdout()
    out.rule("the program, as a model would write it")
    out.print(Syntax(PROGRAM, "python", background_color="default"))
    out.rule("what comes back")
    out.print(harmless(outcome.output.rstrip()), markup=False)
    out.print(str(outcome.result), markup=False)
    if outcome.error:
        out.print(harmless(outcome.error), markup=False, style="red")
    out.print(summary(outcome), style="dim")
    out.rule("how fast, on this machine")
    out.print(f"runtime opened, first result     {figures['ready_ms']:8.1f} ms")
    out.print(f"fresh sandbox, print(1 + 1)      {figures['fresh_ms']:8.2f} ms   (median of {ROUNDS})")
    out.print(f"kept session, print(1 + 1)       {figures['kept_ms']:8.2f} ms   (median of {ROUNDS})")
    out.print(f"isolation                        {figures['isolation']}")
    out.print(
        "\nNext: `gristmill doctor` shows what holds on this machine, `gristmill run FILE` runs your own program.", style="dim"
    )
