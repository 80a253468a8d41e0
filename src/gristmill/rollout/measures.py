"""What can be measured of an arm: each figure as SQL over the turns of a conversation, and which direction is good."""

from typing import Literal

from msgspec import Struct

from gristmill.errors import ConfigError

Kind = Literal["share", "mean", "quantile", "count", "reduction"]


class MeasureKind(Struct, frozen=True, kw_only=True):
    """One figure: how it is computed and shown, and whether less of it is better."""

    kind: Kind
    unit: str = ""
    less_is_better: bool | None = True
    """None: neither is better."""
    sql: str = ""
    column: str = "seconds"
    """The column whose quantile it is."""
    quantile: float = 0.0


class Measure(Struct, frozen=True, kw_only=True):
    """A figure by its name; ``above`` asks for the share of turns above so many seconds instead of the figure itself."""

    name: str
    above: float | None = None

    @property
    def about(self) -> MeasureKind:
        """Returns how the figure is computed."""
        return MEASURES[self.name]

    @property
    def sql(self) -> tuple[str, tuple[float, ...]]:
        """Returns the figure of one conversation as SQL over its turns, and the values in it."""
        if self.above is not None:
            column = self.about.column
            return f"AVG(CASE WHEN {column} > ? THEN 1.0 WHEN {column} IS NULL THEN NULL ELSE 0.0 END)", (self.above,)
        return self.about.sql, ()


def _share(column: str, *, less: bool | None = True) -> MeasureKind:
    return MeasureKind(kind="share", unit="%", less_is_better=less, sql=f"AVG(1.0 * {column})")


def _mean(sql: str, unit: str = "") -> MeasureKind:
    return MeasureKind(kind="mean", unit=unit, sql=sql)


def _quantile(share: float, column: str = "seconds") -> MeasureKind:
    return MeasureKind(kind="quantile", unit="s", quantile=share, column=column)


MEASURES: dict[str, MeasureKind] = {
    "error_rate": _share("failed"),
    "accuracy": _share("accuracy", less=False),
    "complaint_rate": _share("CASE WHEN complaints > 0 THEN 1 ELSE 0 END"),
    "fallback_rate": _share("CASE WHEN fallbacks > 0 THEN 1 ELSE 0 END"),
    "repair_rate": _share("CASE WHEN repairs > 0 THEN 1 ELSE 0 END"),
    "approval_rate": _share("CASE WHEN approvals > 0 THEN 1 ELSE 0 END", less=None),
    "code_rate": _share("used_code", less=None),
    "tokens": _mean("SUM(tokens_in + tokens_out)", "tokens"),
    "tokens_in": _mean("SUM(tokens_in)", "tokens"),
    "tokens_out": _mean("SUM(tokens_out)", "tokens"),
    "cached_share": MeasureKind(
        kind="share", unit="%", less_is_better=False,
        sql="CASE WHEN SUM(tokens_in) > 0 THEN 1.0 * SUM(tokens_cached) / SUM(tokens_in) ELSE NULL END",
    ),
    "dollars": _mean("SUM(dollars)", "$"),
    "seconds": _mean("AVG(seconds)", "s"),
    "p50": _quantile(0.5),
    "p95": _quantile(0.95),
    "p99": _quantile(0.99),
    "first_token_p50": _quantile(0.5, "first_seconds"),
    "first_token_p95": _quantile(0.95, "first_seconds"),
    "first_token_p99": _quantile(0.99, "first_seconds"),
    "complaints": MeasureKind(kind="count", sql="SUM(complaints)"),
    "token_reduction": MeasureKind(kind="reduction", unit="%", less_is_better=False, sql="SUM(tokens_in + tokens_out)"),
    "estimated_reduction": MeasureKind(
        kind="mean", unit="%", less_is_better=False,
        sql="CASE WHEN SUM(direct_tokens) > 0 THEN 1.0 - 1.0 * SUM(CASE WHEN direct_tokens IS NULL THEN 0 ELSE "
        "tokens_in + tokens_out END) / SUM(direct_tokens) ELSE NULL END",
    ),
}  # fmt: skip
"""All figures. A mean is per conversation, a quantile per turn; a share is the mean of the turns' shares in a conversation."""


def check_measure(name: str, change: str | None) -> None:
    """Checks that a guardrail can be about this figure.

    Raises:
        ConfigError: there is no such figure, or it has no drop or rise.
    """
    if name not in MEASURES:
        raise ConfigError(f"rollout.guardrails: there is no figure {name!r}; there are {', '.join(MEASURES)}")
    if change and MEASURES[name].kind in ("quantile", "count", "reduction"):
        raise ConfigError(f"rollout.guardrails: {name} has no {change}: write `{name} > ...` or `{name} < ...`")
