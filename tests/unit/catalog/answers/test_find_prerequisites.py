"""A tool that needs an id names the tool that returns it."""

from gristmill.catalog.answers.find_prerequisites import find_prerequisites
from gristmill.model import Json, Tool


def make_tool(name: str, *required: str, server: str = "slack", result: dict[str, Json] | None = None) -> Tool:
    return Tool(
        server=server,
        name=name,
        input_schema={"properties": {each: {"type": "string"} for each in required}, "required": list(required)},
        output_schema=result,
    )


POST, CHANNELS = make_tool("post_message", "channel_id", "text"), make_tool("list_channels")


def test_an_id_comes_from_the_tool_that_lists_things_of_its_noun() -> None:
    others = [make_tool("get_channel_history", "channel_id"), make_tool("delete_channels"), CHANNELS, POST]

    assert find_prerequisites(POST, others) == [("channel_id", CHANNELS)]


def test_a_declared_result_outranks_a_name() -> None:
    declared = make_tool("overview", result={"properties": {"channel_id": {}}})
    reading = Tool(server="slack", name="show_overview", output_schema=declared.output_schema)

    assert find_prerequisites(POST, [CHANNELS, reading]) == [("channel_id", reading)]


def test_coordinates_come_from_a_tool_that_finds_places_on_any_server() -> None:
    weather, geocode = (
        make_tool("get_forecast", "latitude", "longitude", server="weather"),
        make_tool("maps_geocode", server="maps"),
    )

    assert find_prerequisites(weather, [geocode]) == [("latitude", geocode)]


def test_ids_of_another_server_and_hits_that_are_known_are_not_offered() -> None:
    assert find_prerequisites(POST, [make_tool("list_channels", server="discord")]) == []
    assert find_prerequisites(POST, [CHANNELS], [CHANNELS.key]) == []
