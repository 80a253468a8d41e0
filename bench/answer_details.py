"""What a search's answer may shorten: ``python -m bench.answer_details``.

Prints, for the hits below each share of the best score, how many of the right and of the wrong tools among the first five they
are, over the public dev sets (at most 400 questions of each).
"""

import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from retrieval import SETS, load_set
from search_cost import as_tools

from gristmill.catalog.search.tool_index import ToolIndex

SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85)
MOST_QUESTIONS = 400


def read_shares(name: str) -> list[tuple[float, bool]]:
    """The score of each hit after the first as a share of the best one's, and whether the hit is right."""
    data = load_set(name)
    index = ToolIndex.build(tools := as_tools(data))
    places = {tool.key: place for place, tool in enumerate(tools)}
    picked = random.Random(1).sample(range(len(data.queries)), min(MOST_QUESTIONS, len(data.queries)))
    found: list[tuple[float, bool]] = []
    for i in picked:
        hits, right = index.search(data.queries[i]), frozenset[int]().union(*data.groups[i])
        found += [(hit.score / hits[0].score, places[hit.tool.key] in right) for hit in hits[1:] if hits[0].score > 0]
    return found


def main() -> None:
    """Measure, print."""
    print("share of the best score: right ones below it / wrong ones below it, %")
    for name in SETS:
        found = read_shares(name)
        right, wrong = [share for share, is_right in found if is_right], [share for share, is_right in found if not is_right]
        cells = [f"{limit:g}: {_percent(right, limit)} / {_percent(wrong, limit)}" for limit in SHARES]
        print(f"{name:15} {'  '.join(cells)}", flush=True)


def _percent(shares: list[float], limit: float) -> str:
    return f"{100 * sum(share < limit for share in shares) / max(len(shares), 1):.0f}"


if __name__ == "__main__":
    main()
