import pytest

from gristmill.catalog.types.schema_checker import SchemaChecker, compile_schema
from gristmill.catalog.types.schema_cost import find_allowed_depth
from gristmill.catalog.types.schema_problems import SchemaProblem
from gristmill.model import Json, Tool

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "user_id": {"type": "integer", "minimum": 1},
        "state": {"enum": ["open", "closed"]},
        "filter": {"$ref": "#/$defs/filter"},
        "label": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["user_id"],
    "additionalProperties": False,
    "$defs": {"filter": {"type": "object", "properties": {"since": {"type": "string"}}, "required": ["since"]}},
}


def problems(arguments: dict[str, Json], schema: dict[str, Json] = SCHEMA) -> list[SchemaProblem]:
    return list(SchemaChecker().check_arguments(Tool(server="s", name="t", input_schema=schema), arguments))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"user_id": "5"}, 'user_id: got "5" (string), expected integer'),
        ({"user_id": 0}, "user_id: got 0 (integer), expected is less than the minimum of 1"),
        (
            {"user_id": 1, "state": "opn"},
            'state: got "opn" (string), expected one of "open", "closed"; did you mean \'open\'?',
        ),
        ({"user_id": 1, "label": 5}, "label: got 5 (integer), expected string or null"),
        ({"user_id": 1, "tags": ["a", 2]}, "tags[1]: got 2 (integer), expected string"),
        (
            {"user_id": 1, "filter": {"sinc": "x"}},
            "filter.since: got nothing, expected a value, it is required; did you mean 'sinc'?",
        ),
    ],
)
def test_a_problem_names_the_field_what_was_given_and_what_is_expected(arguments: dict[str, Json], expected: str) -> None:
    assert [str(problem) for problem in problems(arguments)] == [expected]


def test_a_misspelt_name_is_answered_with_the_right_one() -> None:
    found = problems({"userId": 5})
    assert {(problem.field, problem.near) for problem in found} == {("userId", "user_id"), ("user_id", "userId")}
    assert problems({"user_id": 1, "STATE": "open"})[0].near == "state"
    assert "known: user_id, state, filter" in found[0].expected + found[1].expected


def test_arguments_that_fit_have_no_problems() -> None:
    assert problems({"user_id": 1, "state": "open", "filter": {"since": "x"}, "label": None, "tags": []}) == []


def test_a_huge_value_is_shown_short() -> None:
    assert len(str(problems({"user_id": "x" * 1_000_000})[0])) < 200
    assert len(str(problems({"user_id": list(range(1_000_000))})[0])) < 200


@pytest.mark.parametrize(
    ("schema", "note"),
    [
        ({"type": "strin"}, "not checked"),
        ({"properties": {"a": {"$ref": "https://example.com/a.json"}}}, "first level only"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "first level only"),
        ({"$ref": "#/nowhere"}, "not checked"),
        ({"$schema": "https://example.com/meta"}, "not checked"),
        ({"pattern": "("}, "not checked"),
        ({"pattern": "(a{300}){300}"}, "not checked"),
        ({"properties": 5}, "not checked"),
    ],
    ids=str,
)
@pytest.mark.requirement("T36")
def test_a_bad_schema_is_reported_and_never_raises(schema: dict[str, Json], note: str) -> None:
    tool = Tool(server="s", name="t", input_schema=schema, output_schema=schema)
    checker = SchemaChecker()
    assert checker.check_arguments(tool, {"a": 1}) == checker.check_result(tool, {"a": 1}) == ()
    assert [note in each for each in checker.notes(tool)] == [True, True]


def test_patterns_the_linear_engine_does_not_know_still_work_on_a_leash() -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": "^(?=x)(x+x+)+y$"}}}
    assert problems({"a": "xxy"}, schema) == []
    assert len(problems({"a": "x" * 5_000}, schema)) == 1


def doubling(levels: int, *, inside: bool) -> dict[str, Json]:
    def below(level: int) -> Json:
        reference = {"$ref": f"#/$defs/d{level + 1}"}
        return {"properties": {"a": reference}, "minProperties": 1} if inside else {"allOf": [reference]}

    definitions: dict[str, Json] = {f"d{level}": {"anyOf": [below(level), below(level)]} for level in range(levels)}
    definitions[f"d{levels}"] = {"type": "integer"}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "required": ["b"], "$defs": definitions}


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.timeout(10)
def test_branches_that_multiply_are_checked_at_the_first_level_only(inside: bool) -> None:
    value: Json = "x"
    for _ in range(30):
        value = {"a": value}
    found = problems({"a": value}, doubling(30, inside=inside))
    assert [problem.field for problem in found] == ["b"]


def test_recursion_by_two_ways_multiplies_and_a_tree_does_not() -> None:
    both: dict[str, Json] = {"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}, "minItems": 1}]}
    tree: dict[str, Json] = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}
    hidden: dict[str, Json] = {"$defs": {"x": {"$anchor": "here"}}, "properties": {"a": {"$ref": "#here"}}}
    assert [find_allowed_depth(both), find_allowed_depth(tree), find_allowed_depth(hidden)] == [0, 200, 0]


def test_schemas_out_of_bounds_are_not_compiled() -> None:
    deep: dict[str, Json] = {}
    for _ in range(5_000):
        deep = {"items": deep}
    assert compile_schema(deep).note == "not checked: nested too deeply"


@pytest.mark.parametrize("value", [object(), {1: 2}, b"x"], ids=["object", "key", "bytes"])
def test_what_is_no_json_is_a_problem_and_not_an_exception(value: Json) -> None:
    tool = Tool(server="s", name="t", output_schema={"properties": {"a": {"type": "integer"}}, "type": "object"})
    assert len(SchemaChecker().check_result(tool, {"a": value})) == 1


def test_a_value_nested_without_end_is_a_problem_and_not_a_crash() -> None:
    deep: Json = 1
    for _ in range(100_000):
        deep = [deep]
    tool = Tool(
        server="s",
        name="t",
        output_schema={"$ref": "#/$defs/n", "$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}}},
    )
    assert len(SchemaChecker().check_result(tool, deep)) == 1


@pytest.mark.parametrize("schema", [{"items": {"type": "array"}}, {"uniqueItems": True}, {"enum": [[[1]]]}], ids=str)
def test_a_schema_that_is_not_recursive_is_safe_at_any_depth(schema: dict[str, Json]) -> None:
    deep: Json = 1
    for _ in range(100_000):
        deep = [deep]
    assert len(SchemaChecker().check_result(Tool(server="s", name="t", output_schema=schema), deep)) in (0, 1)


def test_the_depth_allowed_shrinks_with_the_length_of_a_recursion() -> None:
    hops: dict[str, Json] = {f"h{hop}": {"allOf": [{"$ref": f"#/$defs/h{hop + 1}"}]} for hop in range(100)}
    hops["h100"] = {"items": {"$ref": "#/$defs/h0"}}
    assert 0 < find_allowed_depth({"$ref": "#/$defs/h0", "$defs": hops}) < 50


def test_a_result_is_checked_whole_and_the_first_problem_reported() -> None:
    rows = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}
    tool = Tool(server="s", name="t", output_schema=rows)
    good: list[Json] = [{"id": number, "name": "x"} for number in range(10_000)]
    assert SchemaChecker().check_result(tool, good) == ()
    assert [each.field for each in SchemaChecker().check_result(tool, [*good, {"id": "x"}, {"id": "y"}])] == ["[10000].id"]
    assert SchemaChecker().check_result(Tool(server="s", name="t"), "anything") == ()


def test_a_changed_definition_is_compiled_anew() -> None:
    checker = SchemaChecker()
    assert checker.check_arguments(Tool(server="s", name="t", input_schema={"required": ["a"]}), {}) != ()
    assert checker.check_arguments(Tool(server="s", name="t", input_schema={}), {}) == ()
