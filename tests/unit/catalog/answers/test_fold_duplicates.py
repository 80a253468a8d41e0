"""The same tool on several servers takes one place in an answer."""

from msgspec.structs import replace

from gristmill.catalog.answers.fold_duplicates import fold_duplicates
from gristmill.catalog.answers.render_hits import AnswerWriting, render_hits
from gristmill.catalog.search.search_hits import SearchHit
from gristmill.model import Json, Tool

ISSUES = Tool(server="github", name="search_issues", description="Search issues.")


def with_parameters(*names: str) -> dict[str, Json]:
    return {"properties": {name: {"type": "string"} for name in names}}


HITS = [
    SearchHit(tool=tool, score=1.0)
    for tool in (ISSUES, replace(ISSUES, server="work"), replace(ISSUES, name="get_issue"), replace(ISSUES, server="old"))
]


def keys_of(*tools: Tool) -> list[str]:
    return [hit.tool.key for hit in fold_duplicates([SearchHit(tool=tool, score=1.0) for tool in tools], 5).hits]


def test_duplicates_leave_their_places_to_others_and_are_named() -> None:
    folded = fold_duplicates(HITS, 2)

    assert [hit.tool.key for hit in folded.hits] == ["github.search_issues", "github.get_issue"]
    assert folded.also == {"github.search_issues": ("work.search_issues", "old.search_issues")}
    assert not folded.similar
    writing = AnswerWriting(also=folded.also)
    assert "# also on: work.search_issues, old.search_issues" in render_hits(folded.hits, writing=writing)


def test_near_duplicates_take_one_place_and_are_named_as_such() -> None:
    like = replace(
        ISSUES,
        server="work",
        name="Search_Issues",
        description="Search for issues.",
        input_schema=with_parameters("query", "page"),
    )
    one = replace(ISSUES, input_schema=with_parameters("query"))

    folded = fold_duplicates([SearchHit(tool=tool, score=1.0) for tool in (one, like)], 5)

    assert [hit.tool.key for hit in folded.hits] == [one.key]
    assert folded.similar == {one.key: (like.key,)}
    assert "# nearly the same: work.Search_Issues" in render_hits(folded.hits, writing=AnswerWriting(similar=folded.similar))


def test_tools_that_say_nothing_or_differ_are_not_folded() -> None:
    silent = [replace(ISSUES, server=server, description="") for server in ("a", "b")]
    parameters = [replace(ISSUES, server=name, input_schema=with_parameters(name)) for name in ("a", "b")]
    meanings = [ISSUES, replace(ISSUES, server="shop", description="Find articles in the warehouse by their label.")]

    assert len(keys_of(*silent)) == len(keys_of(*parameters)) == len(keys_of(*meanings)) == 2
