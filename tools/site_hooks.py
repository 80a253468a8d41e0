"""Adapts pages for the documentation site: a link that leaves `docs/` becomes text, since the site has no such page.

On the repository's own pages such links lead to the source. A link to a file that does not exist is left as it is, so that the
strict build fails.
"""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Rewrites the text of one page; mkdocs calls it before the page is rendered."""
    return unlink_sources(markdown, (DOCS / page.file.src_uri).parent)


def unlink_sources(markdown: str, folder: Path) -> str:
    """Replaces links to existing files outside `docs/` by their text; ``folder`` is where the page stands."""

    def replace(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        is_outside = ROOT in target.parents and DOCS not in target.parents and target != DOCS
        return link[1] if is_outside and target.exists() else link[0]

    return LINK.sub(replace, markdown)
