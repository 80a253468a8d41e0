"""How long answers are per tool: ``python -m bench.answer_size FOLDER``, on 400 tools of published servers (o200k).

Each tool is written as the first hit of an answer; the tools are drawn at random with a fixed seed.
"""

import json
import random
import statistics
import sys
from pathlib import Path

from bench.obvious import load_real_tools
from gristmill.catalog.catalog import Catalog
from gristmill.catalog.search.search_hits import SearchHit
from gristmill.runtime.tools.search_answers import AnswerSources, WantedAnswer, write_answer
from gristmill.shaping.token_counter import load_token_counter

SAMPLE = 400


def main(folder: Path) -> None:
    """Measure and print."""
    count = load_token_counter()
    assert count is not None
    catalog = Catalog.from_tools(load_real_tools(folder / "real_tools.jsonl"))
    sources = AnswerSources(catalog=catalog, count=count)
    sizes: dict[str, list[int]] = {"default": [], "full": []}
    for tool in random.Random(0).sample(list(catalog), SAMPLE):
        hits = [SearchHit(tool=tool, score=1.0)]
        sizes["default"].append(count(write_answer("", hits, sources, WantedAnswer()).text))
        sizes["full"].append(count(write_answer("", hits, sources, WantedAnswer(detail_level="full")).text))
    print(json.dumps({name: {"mean": statistics.fmean(each), "median": statistics.median(each)} for name, each in sizes.items()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
