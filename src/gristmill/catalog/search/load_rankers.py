"""Parts that others bring, found by their entry points."""

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from gristmill.errors import ConfigError

if TYPE_CHECKING:
    from gristmill.catalog.search.ranker import RankerKind

RANKERS = "gristmill.rankers"


def ranker(names: Sequence[str]) -> "RankerKind":
    """What ranks by meaning: the one that ships, another one, or several with the same say.

    Raises:
        ConfigError: nobody brings a ranker of that name, or it cannot be loaded.
    """
    from gristmill.catalog.search.rank_dense import DenseRanker

    found = {name: _load(name) for name in names}
    if len(found) > 1:
        from gristmill.catalog.search.rank_together import Together

        return Together(found)
    return next(iter(found.values()), DenseRanker)


def _load(name: str) -> Any:
    known = {each.name: each for each in entry_points(group=RANKERS)}
    if name not in known:
        raise ConfigError(f"catalog.rankers: nobody brings a ranker {name!r}; installed are {', '.join(sorted(known)) or 'none'}")
    try:
        return known[name].load()
    except Exception as error:  # whatever a stranger's package does while it is imported
        raise ConfigError(f"catalog.rankers: {name!r} cannot be loaded: {type(error).__name__}: {error}") from None
