"""Questions that are answered from the last catalogue alone: no server, no sandbox and no event loop; see `last`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.tool_module import LearnedResult
from gristmill.catalog.modules.tool_outline import python_text, typescript_text
from gristmill.catalog.search.render_hits import bytes_per_three, render
from gristmill.catalog.search.search_hits import BUDGET_TOKENS, DetailLevel
from gristmill.catalog.search.usage_habits import Habits
from gristmill.catalog.types.loose_schema import mapping
from gristmill.config.sources import read_tree
from gristmill.errors import ConfigError
from gristmill.runtime.last import KNOWN, Last, read_last
from gristmill.runtime.tools.kept_json import read_json
from gristmill.runtime.tools.search_answers import MOST_HITS, MOST_KEYS, MOST_TOKENS, Described, Found, Language, writing_of


def search_last(
    query: str,
    *,
    version: str,
    detail_level: DetailLevel = "full",
    limit: int = 5,
    server: str | None = None,
    budget_tokens: int = BUDGET_TOKENS,
    config: Path | None = None,
) -> Found | None:
    """What ``Discovery.search`` would answer, or nothing where only the whole house can tell."""
    last = _last(config, version)
    index = last.index() if last and not _has_skills(last.state) else None
    if last is None or index is None or server not in (None, *index.servers):
        return None
    habits = Habits.from_json(read_json(last.state / KNOWN / "habits.json")) if last.learn_from_use else None
    hits = tuple(index.search(query, min(limit, MOST_HITS), server=server, habits=habits))
    catalog = Catalog.part([hit.tool for hit in hits], last.modules, last.functions)
    learned = _learned(last, catalog.hashes)
    writing = writing_of(catalog, last.marks, learned, bytes_per_three)
    text = render(hits, detail_level=detail_level, budget_tokens=min(budget_tokens, MOST_TOKENS), writing=writing)
    return Found(query=query, hits=hits, text=text)


def describe_last(
    keys: Sequence[str], *, version: str, language: Language = "python", config: Path | None = None
) -> Described | None:
    """What ``Discovery.describe`` would answer, or nothing where only the whole house can tell: names to guess, or warnings."""
    last = _last(config, version)
    asked = list(keys)[:MOST_KEYS]
    if last is None or not last.functions.keys() >= set(asked) or not last.marks.keys().isdisjoint(asked):
        return None
    places = {key: place for place, key in enumerate(last.functions)}
    tools = tuple(last[places[key]] for key in asked)
    catalog = Catalog.part(tools, last.modules, last.functions)
    learned = _learned(last, catalog.hashes)
    write = typescript_text if language == "typescript" else python_text
    return Described(tools=tools, text="\n\n\n".join(write(catalog, tool, learned.get(tool.key)).rstrip() for tool in tools))


def _last(config: Path | None, version: str) -> Last | None:
    try:
        return read_last(read_tree(config), version)
    except ConfigError:
        return None  # whoever opens the house says what is wrong


def _learned(last: Last, hashes: Mapping[str, str]) -> dict[str, LearnedResult]:
    path = last.state / KNOWN / "learned.json"
    if not last.learn_results or not path.exists():
        return {}
    from gristmill.catalog.learned.learned_schema import learned_from_json, learned_result  # for those who have learned something

    known = {key: mapping(each) for key, each in mapping(read_json(path)).items() if key in hashes}
    fitting = {key: each for key, each in known.items() if each.get("definition") == hashes[key]}
    return {key: learned_result(learned_from_json(each)) for key, each in fitting.items()}


def _has_skills(state: Path) -> bool:
    """Whether anybody has saved a skill here, or may have: skills compete with tools, so they are not for this search."""
    path = state / "gristmill.db"
    if not path.exists():
        return False
    import sqlite3  # for those who keep something; it takes longer to load than the catalogue
    from urllib.parse import quote

    try:
        store = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=1.0)
        try:
            rows: Sequence[object] = store.execute("SELECT 1 FROM skills LIMIT 1").fetchall()
        finally:
            store.close()
    except sqlite3.Error:
        return True
    return bool(rows)
