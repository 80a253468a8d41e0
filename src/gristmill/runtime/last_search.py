"""A search that is answered from the last catalogue alone: no server, no sandbox and no event loop; see `last`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.found import BUDGET_TOKENS, DetailLevel, Hit
from gristmill.catalog.loose import mapping
from gristmill.catalog.render import bytes_per_three, render
from gristmill.catalog.stubs import LearnedResult
from gristmill.catalog.usage import Habits
from gristmill.config_read import read_tree
from gristmill.errors import ConfigError
from gristmill.runtime.finding import MOST_HITS, MOST_TOKENS, Found, writing_of
from gristmill.runtime.kept_json import read_json
from gristmill.runtime.last import KNOWN, Last, read_last


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
    try:
        last = read_last(read_tree(config), version)
    except ConfigError:
        return None  # whoever opens the house says what is wrong
    places = last.places(server) if last else None
    if last is None or places is None or _has_skills(last.state):
        return None
    habits = Habits.from_json(read_json(last.state / KNOWN / "habits.json")) if last.learn_from_use else None
    found = [
        (*last.tool(place), place, score) for place, score in last.index.search(query, min(limit, MOST_HITS), places, habits)
    ]
    hits = tuple(Hit(tool=tool, score=score) for tool, _, _, score in found)
    hashes = {tool.key: seen for tool, seen, _, _ in found}
    functions = {tool.key: last.functions[place] for tool, _, place, _ in found}
    catalog = Catalog.part(hashes, {hit.tool.key: hit.tool for hit in hits}, last.modules, functions)
    writing = writing_of(catalog, last.marks, _learned(last, hashes), bytes_per_three)
    text = render(hits, detail_level=detail_level, budget_tokens=min(budget_tokens, MOST_TOKENS), writing=writing)
    return Found(query=query, hits=hits, text=text)


def _learned(last: Last, hashes: Mapping[str, str]) -> dict[str, LearnedResult]:
    path = last.state / KNOWN / "learned.json"
    if not last.learn_results or not path.exists():
        return {}
    from gristmill.catalog.learned_schema import learned_from_json, learned_result  # for those who have learned something

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
