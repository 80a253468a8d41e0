"""Routes of ``/tools``: search, servers and their tools."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path, Query

from gristmill.events import drop_server_output
from gristmill.model import Tool
from gristmill.runtime.tools.discovery import ServerRow
from gristmill.runtime.tools.search_answers import MOST_HITS
from gristmill.runtime.values.search_values import DetailLevel
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.require_scopes import EXECUTE_OR_READ
from gristmill.serve.http.shapes.api_shapes import FoundToolsView, FoundToolView, HitView, SearchView, ToolView

Question = Annotated[str, Query(max_length=2_000)]
Limit = Annotated[int, Query(ge=1, le=MOST_HITS)]
Server = Annotated[str | None, Query(max_length=200)]
Part = Annotated[str, Path(min_length=1, max_length=200)]


def add_tools(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the routes of servers and tools."""

    @routes.get("/tools/search", tags=["tools"], response_model_exclude_unset=True)
    async def search(
        who: Annotated[Principal, EXECUTE_OR_READ],
        query: Question = "",
        detail_level: DetailLevel = "full",
        limit: Limit = 5,
        server: Server = None,
        conversation: Annotated[str | None, Query(max_length=200)] = None,
        for_person: bool = False,
    ) -> SearchView:
        """Searches the tools and your skills for the best matches of a question; without a question, lists them.

        Each hit has the fields of the level of detail: `name_only` has `name` and `server`, `with_description` also
        `description`, `full` also `input_schema`, `output_schema` and `signature`. With `for_person` the search is no part of the
        token accounts: nobody gave its answer to a model.
        """
        found = await door.runtime.search(
            query, detail_level=detail_level, limit=limit, server=server, identity=who.identity, conversation=conversation,
            for_person=for_person,
        )  # fmt: skip
        hits = [
            HitView(tool=hit.tool.key, score=hit.score, **fields) for hit, fields in zip(found.hits, found.tools, strict=True)
        ]
        return SearchView(query=found.query, hits=hits, text=found.text)

    @routes.get("/api/v1/mcp/tools/search", tags=["tools"], response_model_exclude_unset=True)
    async def search_fields(
        who: Annotated[Principal, EXECUTE_OR_READ],
        query: Question = "",
        detail_level: DetailLevel = "name_only",
        limit: Limit = 100,
        server: Server = None,
    ) -> FoundToolsView:
        """Searches as `GET /tools/search` does, and returns tools with exactly the fields of the level of detail."""
        found = await door.runtime.search(query, detail_level=detail_level, limit=limit, server=server, identity=who.identity)
        tools = [FoundToolView(**fields) for fields in found.tools]
        return FoundToolsView(query=found.query, tools=tools, text=found.text)

    @routes.get("/tools", tags=["tools"])
    async def servers(who: Annotated[Principal, EXECUTE_OR_READ]) -> list[ServerRow]:
        """Lists every server with its state and the tokens that its definitions would take."""
        rows = await door.runtime.servers()
        return [row if who.is_operator else _hide_server_output(row) for row in rows]

    @routes.get("/tools/{server}", tags=["tools"])
    async def tools(server: Part, _who: Annotated[Principal, EXECUTE_OR_READ]) -> list[ToolView]:
        """Lists the tools of one server."""
        found, tokens = await door.runtime.list_tools(server), await door.runtime.definition_tokens()
        return [_build_view(tool, tokens=tokens.get(tool.key)) for tool in found]

    @routes.get("/tools/{server}/{tool:path}", tags=["tools"])
    async def tool(server: Part, tool: Part, who: Annotated[Principal, EXECUTE_OR_READ]) -> ToolView:
        """Returns one tool with its full definition and its typed Python source."""
        found = await door.runtime.describe(f"{server}.{tool}", identity=who.identity)
        return _build_view(found.tools[0], found.text, (await door.runtime.definition_tokens()).get(found.tools[0].key))


def _hide_server_output(row: ServerRow) -> ServerRow:
    """Removes the server's own output from its error: it may contain secrets, so only the operator gets it."""
    return replace(row, error=drop_server_output(row.error)) if row.error else row


def _build_view(tool: Tool, text: str | None = None, tokens: int | None = None) -> ToolView:
    return ToolView(
        key=tool.key, server=tool.server, name=tool.name, description=tool.description, input_schema=dict(tool.input_schema),
        output_schema=dict(tool.output_schema) if tool.output_schema is not None else None, annotations=dict(tool.annotations),
        title=tool.title, tokens=tokens, text=text,
    )  # fmt: skip
