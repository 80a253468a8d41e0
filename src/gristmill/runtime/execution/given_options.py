"""Checks the options of an execution before anything runs: a mistake must not be found when the code has already run."""

from typing import Any, get_args

from gristmill.errors import ConfigError
from gristmill.model import Budget, Language, Limits, Strategy

MOST_TOKENS = 1_000_000
LONGEST_TITLE = 200
"""Characters that are kept of a title."""


def choose_budget(given: Budget | int | None) -> Budget | None:
    """Returns the budget; a plain number limits the result, as in the HTTP API.

    Raises:
        ConfigError: it is neither, or a number in it is not between 0 and a million.
    """
    if given is None:
        return None
    budget = Budget(result_tokens=given) if isinstance(given, int) else given
    # Any: a caller without a type checker may pass anything.
    numbers: tuple[Any, ...] = (getattr(budget, "output_tokens", None), getattr(budget, "result_tokens", None))
    if not all(_is_number(number) and 0 <= number <= MOST_TOKENS for number in numbers):
        raise ConfigError(
            f"budget is {given!r}: give a number of tokens for the result, or Budget(output_tokens=..., result_tokens=...),"
            f" each from 0 to {MOST_TOKENS:,}"
        )
    return budget


def choose_language(given: Any) -> Language | None:
    """Returns the language of a program, or None if it is to be recognised; common short names are accepted.

    Raises:
        ConfigError: programs in that language cannot be run.
    """
    if given is None:
        return None
    known: dict[Any, Language] = {
        "python": "python",
        "py": "python",
        "typescript": "typescript",
        "ts": "typescript",
        "javascript": "typescript",
        "js": "typescript",
    }
    found = known.get(given.lower() if isinstance(given, str) else given)
    if found is None:
        raise ConfigError(f"there is no language {str(given)[:60]!r}; there are python and typescript")
    return found


def choose_title(given: str | None) -> str | None:
    """Returns the title of an execution on one line, or None if there is none."""
    return " ".join((given or "")[: 4 * LONGEST_TITLE].split())[:LONGEST_TITLE] or None


def check_options(**texts: Any) -> None:
    """Checks options that are texts, and ``strategy``.

    Raises:
        ConfigError: one is no text, or there is no such strategy.
    """
    for name, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"{name} must be a text, not {type(value).__name__}")
    strategy = texts.get("strategy")
    if strategy is not None and strategy not in get_args(Strategy):
        raise ConfigError(f"there is no strategy {strategy[:60]!r}; there are {', '.join(get_args(Strategy))}")


def check_limits(limits: Limits) -> None:
    """Checks that every limit is a number.

    Raises:
        ConfigError: one is not, or is negative.
    """
    for name in Limits.__struct_fields__:
        value: Any = getattr(limits, name)
        if not _is_number(value, float) or not value >= 0:
            raise ConfigError(f"the limit {name} is {str(value)[:60]!r}: give a number that is not negative")


def _is_number(value: Any, *more: type) -> bool:
    return isinstance(value, (int, *more)) and not isinstance(value, bool)
