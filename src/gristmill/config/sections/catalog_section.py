"""The `catalog` section of the configuration: what is learned about tools, and what happens to one that changes."""

from typing import Literal

from gristmill.config.sections.base import Section


class CatalogConfig(Section):
    """What is learned about tools, and what happens to one that changes."""

    quarantine: Literal["report", "refuse"] = "report"
    """A tool whose definition is not the one first seen: `report` shows the difference, `refuse` also hides the tool and
    refuses its calls until `gristmill tools accept`. The policy may be stricter."""
    learn_results: bool = True
    """Whether the shape of results is learned for tools that do not declare it. Shapes are kept, never values."""
    learn_from_use: bool = True
    """Whether tools called after a question rise for similar questions. Hashes of words are kept, never the words."""
    learn_from_tenants: bool = False
    """Whether both are learned from calls of tenants other than `local`, too: every tenant sees the shapes that were learned."""
    rankers: tuple[str, ...] = ()
    """Entry points of the group `gristmill.rankers` that rank by meaning, instead of the one that ships (`dense`)."""
