"""The same tool on several servers takes one place in an answer."""

from msgspec.structs import replace

from gristmill.catalog.answers.fold_duplicates import fold_duplicates
from gristmill.catalog.answers.render_hits import AnswerWriting, render_hits
from gristmill.catalog.search.search_hits import SearchHit
from gristmill.model import Tool

ISSUES = Tool(server="github", name="search_issues", description="Search issues.")
HITS = [
    SearchHit(tool=tool, score=1.0)
    for tool in (ISSUES, replace(ISSUES, server="work"), replace(ISSUES, name="get_issue"), replace(ISSUES, server="old"))
]


def test_duplicates_leave_their_places_to_others_and_are_named() -> None:
    hits, also = fold_duplicates(HITS, 2)

    assert [hit.tool.key for hit in hits] == ["github.search_issues", "github.get_issue"]
    assert also == {"github.search_issues": ("work.search_issues", "old.search_issues")}
    assert "# also on: work.search_issues, old.search_issues" in render_hits(hits, writing=AnswerWriting(also=also))


def test_tools_that_say_nothing_or_differ_are_not_folded() -> None:
    silent = [SearchHit(tool=replace(ISSUES, server=server, description=""), score=1.0) for server in ("a", "b")]
    differing = [SearchHit(tool=replace(ISSUES, server=name, input_schema={"x": name}), score=1.0) for name in ("a", "b")]

    assert len(fold_duplicates(silent, 5)[0]) == 2
    assert len(fold_duplicates(differing, 5)[0]) == 2
