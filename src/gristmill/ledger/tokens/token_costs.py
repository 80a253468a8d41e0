"""Computes what the three ways cost in money, with and without prompt caching."""

from msgspec import Struct

from gristmill.ledger.tokens.savings import WayCost, WayCosts

CACHE_WRITE, CACHE_READ = 1.25, 0.1
"""What a token costs with prompt caching, as a share of its price: when it is new, and each time that it is sent again."""


class WayPrices(Struct, frozen=True, kw_only=True):
    """What the three ways cost in dollars, and what code saved against the others."""

    direct: float
    search: float
    code: float
    saved: float
    saved_against_search: float


class TokenCosts(Struct, frozen=True, kw_only=True):
    """The input tokens in money: ``plain`` if every token that is sent is paid in full, ``cached`` with prompt caching."""

    price_per_million: float
    plain: WayPrices
    cached: WayPrices


def compute_costs(ways: WayCosts, price: float) -> TokenCosts:
    """Computes the costs at ``price`` dollars per million input tokens."""
    return TokenCosts(
        price_per_million=price,
        plain=_compute_prices(ways, price, new=1.0, again=1.0),
        cached=_compute_prices(ways, price, new=CACHE_WRITE, again=CACHE_READ),
    )


def _compute_prices(ways: WayCosts, price: float, *, new: float, again: float) -> WayPrices:
    def compute_price(way: WayCost) -> float:
        return (new * way.once + again * (way.resent - way.once)) * price / 1_000_000

    direct, search, code = map(compute_price, (ways.direct, ways.search, ways.code))
    return WayPrices(
        direct=round(direct, 6),
        search=round(search, 6),
        code=round(code, 6),
        saved=round(direct - code, 6),
        saved_against_search=round(search - code, 6),
    )


def explain_costs(costs: TokenCosts) -> str:
    """Describes in a sentence what code saved in money, or cost more."""
    plain, cached = (_describe_money(each.saved) for each in (costs.plain, costs.cached))
    return f"At ${costs.price_per_million:g} per million input tokens: {plain} than direct calls, with prompt caching {cached}."


def _describe_money(saved: float) -> str:
    return f"${abs(saved):,.4f} {'less' if saved >= 0 else 'more'}"
