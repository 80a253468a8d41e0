"""Loads the rankers that installed packages provide, by their entry points."""

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from gristmill.catalog.search.rankers.rank_dense import DenseRanker
from gristmill.catalog.search.rankers.rank_together import CombinedRanker
from gristmill.errors import ConfigError

if TYPE_CHECKING:
    from gristmill.catalog.search.rankers.ranker import RankerKind

RANKERS_GROUP = "gristmill.rankers"


def load_ranker(names: Sequence[str]) -> "RankerKind":
    """Returns the ranker by meaning: the built-in one, another one, or several with equal weight.

    Raises:
        ConfigError: no installed package provides a ranker of that name, or it cannot be loaded.
    """
    found = {name: _load_entry_point(name) for name in names}
    if len(found) > 1:
        return CombinedRanker(found)
    return next(iter(found.values()), DenseRanker)


def _load_entry_point(name: str) -> Any:
    known = {each.name: each for each in entry_points(group=RANKERS_GROUP)}
    if name not in known:
        raise ConfigError(f"catalog.rankers: there is no ranker {name!r}; installed are {', '.join(sorted(known)) or 'none'}")
    try:
        return known[name].load()
    except Exception as error:  # a foreign package may raise anything while it is imported
        raise ConfigError(f"catalog.rankers: {name!r} cannot be loaded: {type(error).__name__}: {error}") from None
