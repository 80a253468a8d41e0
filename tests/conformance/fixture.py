"""The upstream that the conformance suite expects behind the gateway: tools, resources and prompts by the names it asks for.

Runs on stdio in both eras. Everything is plain messages, so that what is tested is the gateway in front of it.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    RequestParams,
    TextContent,
    server_request_adapter,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict

Ctx = ServerRequestContext[Any, Any]
Tool = Callable[[Ctx, Mapping[str, Any]], Awaitable[dict[str, Any]]]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
NAME_SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"

SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


class Anything(BaseModel):
    """Whatever a client answers."""

    model_config = ConfigDict(extra="allow")


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def form(message: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": dict(schema)}}


def sample(words: str, tokens: int = 100) -> dict[str, Any]:
    message = {"role": "user", "content": {"type": "text", "text": words}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": tokens}}


def field(name: str, kind: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}


ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}


def needs(asked: Mapping[str, Any], state: str | None = None) -> dict[str, Any]:
    result: dict[str, Any] = {"resultType": "input_required", "inputRequests": dict(asked)}
    return result | ({"requestState": state} if state else {})


def given(ctx: Ctx, *keys: str) -> dict[str, Any] | None:
    """The answers to ``keys``, if the client brought all of them."""
    answers: Mapping[str, Any] = (ctx.params or {}).get("inputResponses") or {}
    return {key: answers[key] for key in keys} if all(key in answers for key in keys) else None


async def ask(ctx: Ctx, request: Mapping[str, Any]) -> dict[str, Any]:
    """Ask an older client in the middle of a request."""
    from mcp.shared.message import ServerMessageMetadata

    typed = server_request_adapter.validate_python(request, by_name=False)
    related = ServerMessageMetadata(related_request_id=ctx.request_id)
    return (await ctx.session.send_request(typed, Anything, metadata=related)).model_dump(mode="json")


def always(result: dict[str, Any]) -> Tool:
    async def tool(_ctx: Ctx, _arguments: Mapping[str, Any]) -> dict[str, Any]:
        return result

    return tool


async def log(ctx: Ctx, words: str) -> None:
    is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    if is_modern and not (ctx.meta or {}).get(LOG_LEVEL):
        return
    note = LoggingMessageNotification(params=LoggingMessageNotificationParams(level="info", data=words))
    await ctx.session.send_notification(note, related_request_id=ctx.request_id)


async def with_logging(ctx: Ctx, _arguments: Mapping[str, Any]) -> dict[str, Any]:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await log(ctx, words)
        await anyio.sleep(0.05)
    return text("logged")


async def with_progress(ctx: Ctx, _arguments: Mapping[str, Any]) -> dict[str, Any]:
    for step in (0, 50, 100):
        await ctx.session.report_progress(step, 100)
        await anyio.sleep(0.05)
    return text("progressed")


async def sampling(ctx: Ctx, arguments: Mapping[str, Any]) -> dict[str, Any]:
    answer = CreateMessageResult.model_validate(await ask(ctx, sample(str(arguments["prompt"]))), by_name=False)
    words = answer.content.text if isinstance(answer.content, TextContent) else ""
    return text(f"LLM response: {words}")


async def elicitation(ctx: Ctx, arguments: Mapping[str, Any]) -> dict[str, Any]:
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    schema = {"type": "object", "properties": properties, "required": ["username", "email"]}
    answer = await ask(ctx, form(str(arguments["message"]), schema))
    return text(f"User response: action={answer['action']}, content={json.dumps(answer.get('content'))}")


def asks_form(properties: dict[str, Any]) -> Tool:
    async def tool(ctx: Ctx, _arguments: Mapping[str, Any]) -> dict[str, Any]:
        answer = await ask(ctx, form("Please fill in", {"type": "object", "properties": properties, "required": []}))
        return text(f"Elicitation completed: action={answer['action']}, content={json.dumps(answer.get('content'))}")

    return tool


DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}


def asks_first(asked: Mapping[str, Any], *, state: str | None = None, done: str = "done") -> Tool:
    """A tool of 2026 that wants ``asked`` before it answers."""

    async def tool(ctx: Ctx, _arguments: Mapping[str, Any]) -> dict[str, Any]:
        answers = given(ctx, *asked)
        if answers is None:
            return needs(asked, state)
        if state and (ctx.params or {}).get("requestState") != state:
            raise MCPError(code=INVALID_PARAMS, message="requestState is not the one that was given")
        return text(f"{done} {json.dumps(answers)}")

    return tool


async def greet(ctx: Ctx, _arguments: Mapping[str, Any]) -> dict[str, Any]:
    answers = given(ctx, "user_name")
    content: Any = answers["user_name"].get("content") if answers else None
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):  # pyright: ignore[reportUnknownMemberType]
        return needs({"user_name": form("What is your name?", NAME_SCHEMA)})
    return text(f"Hello, {content['name']}!")


async def multi_round(ctx: Ctx, _arguments: Mapping[str, Any]) -> dict[str, Any]:
    state = (ctx.params or {}).get("requestState")
    if state == "round-2" and given(ctx, "step2"):
        return text("both rounds done")
    if state == "round-1" and given(ctx, "step1"):
        return needs({"step2": form("Step 2: What is your favorite color?", field("color", "string"))}, "round-2")
    return needs({"step1": form("Step 1: What is your name?", NAME_SCHEMA)}, "round-1")


async def by_capability(ctx: Ctx, _arguments: Mapping[str, Any]) -> dict[str, Any]:
    declared: Mapping[str, Any] = (ctx.meta or {}).get(CAPABILITIES) or {}
    asked = {
        "elicitation": ("user_name", form("What is your name?", NAME_SCHEMA)),
        "sampling": ("greeting", sample("Generate a greeting")),
        "roots": ("client_roots", ROOTS),
    }
    wanted = {key: request for name, (key, request) in asked.items() if name in declared}
    return needs(wanted) if wanted and given(ctx, *wanted) is None else text("done")


async def missing_capability(_ctx: Ctx, _arguments: Mapping[str, Any]) -> dict[str, Any]:
    required: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
    raise MCPError(code=MISSING_REQUIRED_CLIENT_CAPABILITY, message="sampling is needed", data=required)


bus = InMemorySubscriptionBus()


async def change_tools(_ctx: Ctx, _arguments: Mapping[str, Any]) -> dict[str, Any]:
    await bus.publish(ToolsListChanged())
    return text("changed")


async def change_prompts(_ctx: Ctx, _arguments: Mapping[str, Any]) -> dict[str, Any]:
    await bus.publish(PromptsListChanged())
    return text("changed")


def resource(uri: str, words: str, mime: str = "text/plain") -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": words}}


IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
MIXED = resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
EVERYTHING = {
    "user_name": form("What is your name?", NAME_SCHEMA),
    "greeting": sample("Generate a greeting", 50),
    "client_roots": ROOTS,
}
CONFIRM = {"confirm": form("Please confirm", field("ok", "boolean"))}

TOOLS: dict[str, Tool] = {
    "test_simple_text": always(text("This is a simple text response for testing.")),
    "test_image_content": always({"content": [IMAGE]}),
    "test_audio_content": always({"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]}),
    "test_embedded_resource": always(
        {"content": [resource("test://embedded-resource", "This is an embedded resource content.")]}
    ),
    "test_multiple_content_types": always({"content": [{"type": "text", "text": "Multiple content types test:"}, IMAGE, MIXED]}),
    "test_error_handling": always({**text("This tool intentionally returns an error for testing"), "isError": True}),
    "test_tool_with_logging": with_logging,
    "test_logging_tool": with_logging,
    "test_tool_with_progress": with_progress,
    "test_sampling": sampling,
    "test_elicitation": elicitation,
    "test_elicitation_sep1034_defaults": asks_form(DEFAULTS),
    "test_elicitation_sep1330_enums": asks_form(ENUMS),
    "json_schema_2020_12_tool": always(text("ok")),
    "test_headers": always(text("ok")),
    "test_missing_capability": missing_capability,
    "test_trigger_tool_change": change_tools,
    "test_trigger_prompt_change": change_prompts,
    "test_streaming_elicitation": greet,
    "test_input_required_result_elicitation": greet,
    "test_input_required_result_sampling": asks_first({"capital_question": sample("What is the capital of France?")}),
    "test_input_required_result_list_roots": asks_first({"client_roots": ROOTS}),
    "test_input_required_result_request_state": asks_first(CONFIRM, state="state-1", done="state-ok"),
    "test_input_required_result_tampered_state": asks_first(CONFIRM, state="state-2"),
    "test_input_required_result_multiple_inputs": asks_first(EVERYTHING, state="state-3"),
    "test_input_required_result_multi_round": multi_round,
    "test_input_required_result_capabilities": by_capability,
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "json_schema_2020_12_tool": SCHEMA_2020,
    "test_sampling": field("prompt", "string"),
    "test_elicitation": field("message", "string"),
    "test_headers": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
}


async def list_tools(_ctx: Ctx, _params: RequestParams) -> dict[str, Any]:
    plain: dict[str, Any] = {"type": "object", "properties": {}}
    tools = [{"name": name, "description": f"Fixture {name}.", "inputSchema": SCHEMAS.get(name, plain)} for name in TOOLS]
    return {"tools": tools}


async def call_tool(ctx: Ctx, _params: RequestParams) -> dict[str, Any]:
    params = ctx.params or {}
    tool = TOOLS.get(params["name"])
    if tool is None:
        raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {params['name']}")
    return await tool(ctx, params.get("arguments") or {})


def message(content: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": dict(content)}


def words(said: str) -> dict[str, Any]:
    return message({"type": "text", "text": said})


PROMPTS: dict[str, list[dict[str, Any]]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": [{"name": "arg1", "required": True}, {"name": "arg2", "required": True}],
    "test_prompt_with_embedded_resource": [{"name": "resourceUri", "required": True}],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


async def list_prompts(_ctx: Ctx, _params: RequestParams) -> dict[str, Any]:
    return {"prompts": [{"name": name, "description": f"Fixture {name}.", "arguments": args} for name, args in PROMPTS.items()]}


async def get_prompt(ctx: Ctx, _params: RequestParams) -> dict[str, Any]:
    params = ctx.params or {}
    arguments: Mapping[str, Any] = params.get("arguments") or {}
    match params["name"]:
        case "test_simple_prompt":
            return {"messages": [words("This is a simple prompt for testing.")]}
        case "test_prompt_with_arguments":
            said = f"Prompt with arguments: arg1='{arguments.get('arg1')}', arg2='{arguments.get('arg2')}'"
            return {"messages": [words(said)]}
        case "test_prompt_with_embedded_resource":
            embedded = resource(arguments["resourceUri"], "Embedded resource content for testing.")
            return {"messages": [message(embedded), words("Please process the embedded resource above.")]}
        case "test_prompt_with_image":
            return {"messages": [message(IMAGE), words("Please analyze the image above.")]}
        case "test_input_required_result_prompt":
            if given(ctx, "user_context") is None:
                return needs({"user_context": form("What context should the prompt use?", field("context", "string"))})
            return {"messages": [words(f"With {json.dumps(given(ctx, 'user_context'))}")]}
        case other:
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown prompt: {other}")


RESOURCES: dict[str, dict[str, Any]] = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched."},
    "test://example-resource": {"mimeType": "text/plain", "text": "Example."},
}


async def list_resources(_ctx: Ctx, _params: RequestParams) -> dict[str, Any]:
    listed = [
        {"uri": uri, "name": uri.rpartition("/")[2], "description": "Fixture.", "mimeType": content["mimeType"]}
        for uri, content in RESOURCES.items()
    ]
    return {"resources": listed}


async def list_templates(_ctx: Ctx, _params: RequestParams) -> dict[str, Any]:
    template = {"uriTemplate": "test://template/{id}/data", "name": "template", "description": "Fixture."}
    return {"resourceTemplates": [{**template, "mimeType": "application/json"}]}


async def read_resource(ctx: Ctx, _params: RequestParams) -> dict[str, Any]:
    uri = str((ctx.params or {})["uri"])
    if uri in RESOURCES:
        return {"contents": [{"uri": uri, **RESOURCES[uri]}]}
    if uri.startswith("test://template/") and uri.endswith("/data"):
        number = uri.removeprefix("test://template/").removesuffix("/data")
        said = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": said}]}
    raise MCPError(code=INVALID_PARAMS, message="Resource not found", data={"uri": uri})


async def nothing(_ctx: Ctx, _params: RequestParams) -> dict[str, Any]:
    return {}


async def complete(_ctx: Ctx, _params: RequestParams) -> dict[str, Any]:
    return {"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": False}}


HANDLERS: dict[str, Any] = {
    "tools/list": list_tools,
    "tools/call": call_tool,
    "prompts/list": list_prompts,
    "prompts/get": get_prompt,
    "resources/list": list_resources,
    "resources/templates/list": list_templates,
    "resources/read": read_resource,
    "resources/subscribe": nothing,
    "resources/unsubscribe": nothing,
    "completion/complete": complete,
    "logging/setLevel": nothing,
}


def complete_result(handler: Any) -> Any:
    """The newest revision wants every result to say what kind it is."""

    async def handle(ctx: Ctx, params: RequestParams) -> dict[str, Any]:
        result = await handler(ctx, params)
        return {"resultType": "complete", **result} if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else result

    return handle


async def main() -> None:
    hints: Any = {method: CacheHint(ttl_ms=1_000, scope="public") for method in HANDLERS if method in _CACHEABLE}
    server = Server[Any]("conformance fixture", version="1", cache_hints=hints, on_subscriptions_listen=ListenHandler(bus))
    for method, handler in HANDLERS.items():
        server.add_request_handler(method, RequestParams, complete_result(handler))
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


_CACHEABLE = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")

if __name__ == "__main__":
    anyio.run(main)
