"""Search with the optional ranker and without it: ``python -m bench.heavy_ranker [SET ...]`` (livemcp if none is named).

Prints every measure, and the CPU time per tool when the index is built and per question. Needs ``gristmill[search]``, the model
and the benchmark data; a set with many questions takes minutes.
"""

import json
import sys
import time
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.append(str(Path(__file__).parent))
from retrieval import RetrievalSet, load_set, score
from search_cost import as_tools

from gristmill.catalog.answers.fold_duplicates import MOST_DUPLICATES, fold_duplicates
from gristmill.catalog.search.rankers.rank_dense import DenseRanker
from gristmill.catalog.search.rankers.rank_minilm import MiniLmRanker
from gristmill.catalog.search.rankers.ranker import RankerKind
from gristmill.catalog.search.tool_index import ToolIndex

DEPTH = 10


def measure(data: RetrievalSet, kind: RankerKind) -> dict[str, Any]:
    """The measures of one set, by the search that ships, as its answers list the tools."""
    tools = as_tools(data)
    began = time.process_time()
    index = ToolIndex.build(tools, meaning=kind)
    built = time.process_time()
    place = {id(tool): i for i, tool in enumerate(tools)}
    found = [fold_duplicates(index.search(query, DEPTH + MOST_DUPLICATES), DEPTH).hits for query in data.queries]
    ended = time.process_time()
    measures = score([[place[id(hit.tool)] for hit in hits] for hits in found], data.groups)
    return {
        **{name: round(fmean(values), 3) for name, values in measures.items()},
        "ms per tool": round(1e3 * (built - began) / len(tools), 1),
        "ms per question": round(1e3 * (ended - built) / len(data.queries), 1),
    }


def main() -> None:
    """Measure and print."""
    for name in sys.argv[1:] or ["livemcp"]:
        data = load_set(name)
        for label, kind in (("default", DenseRanker), ("minilm", MiniLmRanker)):
            print(json.dumps({"set": name, "ranker": label, **measure(data, kind)}), flush=True)


if __name__ == "__main__":
    main()
