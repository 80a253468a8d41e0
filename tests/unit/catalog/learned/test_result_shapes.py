import json
import string

from hypothesis import given
from hypothesis import strategies as st

from gristmill.catalog.learned.learned_schema import (
    build_learned_schema,
    learned_from_json,
    learned_to_json,
    make_learned_type,
    pack_entries,
    unpack_entries,
)
from gristmill.catalog.learned.result_shapes import (
    LearnedResult,
    decode_json_text,
    looks_like_a_record,
    merge_shapes,
    observe_result,
)
from gristmill.catalog.modules.tool_module import render_module
from gristmill.catalog.types.schema_checker import compile_schema
from gristmill.model import Json, Tool


def learn(*results: Json) -> LearnedResult:
    learned: LearnedResult | None = None
    for result in results:
        learned = observe_result(learned, result)
    assert learned is not None
    return learned


def test_shapes_are_merged_over_calls_and_fields_that_were_missing_are_optional() -> None:
    learned = learn(
        {"items": [{"id": 1, "name": "x"}, {"id": 2, "name": None}], "total": 2},
        {"items": [{"id": 3, "name": "y", "url": "z"}], "total": 2.5},
    )
    item = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": ["string", "null"]}, "url": {"type": "string"}},
        "required": ["id", "name"],
    }
    assert learned.calls == 2
    assert build_learned_schema(learned.shape) == {
        "type": "object",
        "properties": {"items": {"type": "array", "items": item}, "total": {"type": "number"}},
        "required": ["items", "total"],
    }


def test_text_that_holds_json_is_learned_as_data_at_the_top_and_as_text_with_content_inside() -> None:
    assert build_learned_schema(learn('[{"id": 1, "title": "x"}]').shape)["type"] == "array"
    inner = build_learned_schema(learn({"id": 1, "body": '{"id": 5}'}).shape)["properties"]["body"]
    assert (inner["type"], inner["contentSchema"]["properties"]) == ("string", {"id": {"type": "integer"}})
    assert decode_json_text("[not json") == "[not json"
    assert decode_json_text('"plain"') == '"plain"'


def test_the_stub_shows_the_type_and_how_many_calls_it_rests_on() -> None:
    learned = learn(*[{"id": 1, "name": "Ann"}] * 3)
    source = render_module(Tool(server="crm", name="get"), "get", make_learned_type(learned))
    assert "id: int\n    name: str\n" in source
    assert "learned from 3 calls" in source


def test_states_are_listed_once_seen_often_and_only_if_every_word_is_known() -> None:
    states = [{"id": number, "status": ("open", "in_progress")[number % 2], "name": "ann"} for number in range(30)]
    properties = build_learned_schema(learn(states).shape)["items"]["properties"]
    assert properties["status"] == {"type": "string", "enum": ["in_progress", "open"]}
    assert properties["name"] == {"type": "string"}
    few = build_learned_schema(learn(states[:6]).shape)["items"]["properties"]
    assert few["status"] == {"type": "string"}
    spoiled = learn(states, [{"id": 1, "status": "Ann Smith", "name": "x"}], states)
    assert build_learned_schema(spoiled.shape)["items"]["properties"]["status"] == {"type": "string"}


def test_keys_that_are_data_are_not_kept() -> None:
    for people in (
        {"ann@example.com": {"age": 5}},
        {"alice": 3, "bob": 4},
        {"alice": 3, "bob": "none"},
        {"Alice": {"age": 5}, "Bob": {"age": 6}},
        {"alice": {"age": 5}},
        {"Ann Smith": 1, "id": 2},
        {"2024-01-05": 1, "id": 2},
        {"550e8400-e29b-41d4-a716-446655440000": "x"},
        {"deadbeef01": "x", "id": 5},
        {f"name_{letter}": 1 for letter in string.ascii_letters + string.digits + "_" * 10} | {f"id_{i}": 1 for i in range(9)},
    ):
        assert looks_like_a_record(people) is False, people
        kept = json.dumps(learned_to_json(learn({"id": 5, "data": people, "name": "x"})))
        assert not [key for key in people if f'"{key}"' in kept and key != "id"]


def test_records_are_told_from_maps() -> None:
    for record in (
        {},
        {"id": 1, "name": "x"},
        {"first_name": "a", "last_name": "b"},
        {"InstanceId": "x", "State": {"Code": 1}},
    ):
        assert looks_like_a_record(record) is True, record


def test_keys_that_keep_coming_turn_a_record_into_a_map_for_good() -> None:
    letters = string.ascii_lowercase
    results = [{f"{letters[index]}_count": 1, f"{letters[index]}_total": 2} for index in range(12)]
    learned = learn(*results)
    assert (learned.shape.fields, learned.shape.values is None) == ({}, False)
    assert merge_shapes(learned.shape, learn({"id": 1, "name": "x"}).shape).fields == {}


def test_a_huge_or_deep_result_costs_a_bounded_amount() -> None:
    deep: Json = {"id": 1}
    for _ in range(200):
        deep = {"item": deep, "id": 1}
    learned = learn([{"id": number} for number in range(200_000)], deep)
    assert len(json.dumps(learned_to_json(learned))) < 2_000


def test_a_long_list_is_sampled_from_its_start_to_its_end() -> None:
    rows = [{"id": number} for number in range(9_000)] + [{"id": 1, "name": "x"}] * 1_000
    assert build_learned_schema(learn(rows).shape)["items"]["required"] == ["id"]
    assert list(learn(rows).shape.items.fields) == ["id", "name"]  # pyright: ignore[reportOptionalMemberAccess]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["id", "name", "x", "a b", "status"]), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(st.lists(json_values, min_size=1, max_size=5))
def test_every_result_satisfies_what_was_learned_and_it_survives_json(results: list[Json]) -> None:
    learned = learn(*results)
    assert learned_from_json(json.loads(json.dumps(learned_to_json(learned)))) == learned
    compiled = compile_schema(build_learned_schema(learned.shape))
    assert compiled.validator is not None
    assert all(compiled.validator.is_valid(decode_json_text(result) if isinstance(result, str) else result) for result in results)


@given(json_values)
def test_any_json_can_be_read_as_learned_without_error(value: Json) -> None:
    learned_from_json({"calls": value, "shape": value})


SECRET = "Anna-Maria 4111 1111"


@given(
    st.recursive(
        st.just(SECRET),
        lambda inner: st.lists(inner) | st.dictionaries(st.just(SECRET) | st.just("id"), inner),
        max_leaves=6,
    )
)
def test_no_string_from_a_result_is_kept(result: Json) -> None:
    assert "Anna" not in json.dumps(learned_to_json(learn(result, result)))


def test_saved_shapes_of_the_first_release_are_read_and_those_of_a_later_format_are_not() -> None:
    entries = {"crm.find": {"definition": "d", **learned_to_json(learn({"id": 1}))}}
    saved = json.loads(json.dumps(pack_entries(entries)))
    assert unpack_entries(saved) == unpack_entries(entries) == entries
    assert unpack_entries({**saved, "format": saved["format"] + 1}) == {}
    assert unpack_entries(None) == {}
