"""A line about a parameter says more than its name, or it is not there."""

import pytest

from gristmill.catalog.answers.explain_parameters import explain_parameters
from gristmill.model import Tool


def make_tool(**described: str) -> Tool:
    properties = {name: {"type": "string", "description": text} for name, text in described.items()}
    return Tool(server="files", name="mv", description="Move a file or directory.", input_schema={"properties": properties})


@pytest.mark.parametrize(
    "text",
    [
        "The source.",
        "Source name of the file or directory to move.",
        "The source to move to the destination.",
        "True if the source is specified, false otherwise.",
    ],
)
def test_what_the_answer_says_already_is_not_said_again(text: str) -> None:
    tool = make_tool(source=text, destination="A path.")

    assert explain_parameters(tool, ["source"], said=tool.description) == []
    assert explain_parameters(tool, ["source"], said=None) == [f"source: {text}"]


@pytest.mark.parametrize("text", ["Source in 3 parts.", "The source as a glob.", "The source, not the destination, in UTC."])
def test_one_new_word_or_number_is_worth_a_line(text: str) -> None:
    tool = make_tool(source=text, destination="A path.")

    assert explain_parameters(tool, ["source"], said=tool.description) == [f"source: {text}"]


def test_the_sentence_that_says_more_is_shown() -> None:
    tool = make_tool(source="The source. Must be in the current folder.")

    assert explain_parameters(tool, ["source"], said=tool.description) == ["source: Must be in the current folder."]
