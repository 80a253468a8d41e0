"""The `catalog` section of the configuration: what is learned about tools, and what happens when a definition changes."""

from typing import Literal

from gristmill.config.sections.base import Section


class CatalogConfig(Section):
    """What is learned about tools, and what happens when a tool's definition changes."""

    quarantine: Literal["report", "refuse"] = "report"
    """What to do with a tool whose definition is not the one first seen: `report` shows the difference, `refuse` also hides
    the tool and refuses its calls until `gristmill tools accept`. The policy may be stricter."""
    learn_results: bool = True
    """Whether Gristmill learns the shape of results of tools that do not declare it. Shapes are kept, never values."""
    learn_from_use: bool = True
    """Whether tools called after a search rank higher in similar searches. Hashes of words are kept, never the words."""
    learn_from_tenants: bool = False
    """Whether both are also learned from calls of tenants other than `local`; every tenant sees the learned shapes."""
    rankers: tuple[str, ...] = ()
    """Entry points of the group `gristmill.rankers` that rank by meaning, instead of the built-in one (`dense`)."""
